"""Sums: look-ups that add up to log P(class, attributes), for every completion of a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Ints
from tanager.network.log_joint import LogJoint


class Sums(NamedTuple):
    """A `LogJoint`, and which of its columns a missing attribute changes.

    nodes, strides, offsets, tables  those of the `LogJoint`
    n_states    (attributes,) that a missing one goes through
    attributes  (columns,) the attribute that each column of codes belongs to
    values      (states, columns) the code of a column for each state of its attribute
    """

    nodes: Ints
    strides: Ints
    offsets: Ints
    tables: Array
    n_states: Ints
    attributes: Ints
    values: Ints

    @classmethod
    def of(cls, look_up: LogJoint, n_states: Ints, attributes: Ints, values: Ints) -> Sums:
        return cls(look_up.nodes, look_up.strides, look_up.offsets, look_up.tables, n_states, attributes, values)


def sum_completions(sums: Sums, cells: Codes, missing: NDArray[np.bool_]) -> Array:
    """(completions, classes) of one row, the state of its last missing attribute changing fastest.

    cells    (columns,) codes of the row
    missing  (attributes,) whether the attribute is
    """
    several = np.flatnonzero(missing & (sums.n_states > 1))
    axes = np.full(len(sums.n_states), -1)
    axes[several] = np.arange(len(several))
    column_axes = axes[sums.attributes]
    # An attribute of one state is in it, and what stands in the columns of the others is not looked at.
    cells = np.where(missing[sums.attributes], sums.values[0], cells)
    is_open = (sums.strides > 0) & (column_axes[sums.nodes] >= 0)
    first = sums.offsets + np.where(is_open, 0, sums.strides * cells[sums.nodes]).sum(axis=1)
    changes = is_open.any(axis=1)
    shape = sums.n_states[several].tolist()
    total = np.empty((*shape, sums.tables.shape[1]))
    total[...] = sums.tables[first[~changes]].sum(axis=0)
    for term in np.flatnonzero(changes):
        positions = np.full([1] * len(shape), first[term])
        for member in np.flatnonzero(is_open[term]):
            column = sums.nodes[term, member]
            along = np.ones(len(shape), dtype=np.int64)
            along[column_axes[column]] = -1
            steps = sums.strides[term, member] * sums.values[: shape[column_axes[column]], column]
            positions = positions + steps.reshape(along)
        total += sums.tables[positions]
    return total.reshape(-1, total.shape[-1])


def sum_draws(sums: Sums, cells: Codes, missing: NDArray[np.bool_], filled: Codes) -> Array:
    """(draws, classes) of one row, for draws of its missing attributes: (attributes, draws) states.

    Look-ups of cells present alone are added up once for all draws.
    """
    is_open = (sums.strides > 0) & missing[sums.attributes[sums.nodes]]
    first = sums.offsets + np.where(is_open, 0, sums.strides * cells[sums.nodes]).sum(axis=1)
    changes = is_open.any(axis=1)
    columns, steps = sums.nodes[changes], np.where(is_open, sums.strides, 0)[changes]
    positions = np.tile(first[changes, np.newaxis], filled.shape[1])
    for column, step in zip(columns.T, steps.T, strict=True):
        drawn = filled[sums.attributes[column]]
        positions += step[:, np.newaxis] * sums.values[drawn, column[:, np.newaxis]]
    total: Array = sums.tables[first[~changes]].sum(axis=0) + sums.tables[positions].sum(axis=0)
    return total
