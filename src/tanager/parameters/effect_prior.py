"""The prior of a model of effects: neighbours of an ordered attribute are alike, and pairs shrink to main effects."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.parameters.effect_layout import EffectLayout
from tanager.parameters.priors import FIXED, FREE, Prior
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]

MAIN, PAIR = 0, 1


def effect_prior(layout: EffectLayout, rows: Array) -> Prior:
    """L2 towards zero on main effects (level 0) and on pair effects (level 1); the class's intercept is free.

    An ordered attribute's main effect is a random walk along its states, beta_b = sum_{t <= b} u_t: the penalty is on
    the steps u (METHODS 9), so that many fine bins share strength. Its gap state, and the states of an unordered
    attribute, have effects of their own.

    A missing cell's entry is what is expected of the cell: the mean over the states by how often they occur, in a pair
    beside the state of the partner. So it is a linear function of the same effects, in training and prediction.

    rows  (n_cells, n_classes) training rows in each cell of the layout
    """
    n_columns = len(layout.columns)
    mains, pairs, classes = layout.split(rows)
    blocks: list[sparse.csr_array] = []
    for column, own in zip(layout.columns, mains, strict=True):
        states = own[:-1].sum(axis=1)
        blocks.append(_with_gap(main_effects(column, states), states))
    blocks += [_pair_effects(own[:-1, :-1].sum(axis=2)) for own in pairs]
    blocks.append(sparse.eye_array(1, format="csr"))
    kinds = [MAIN] * n_columns + [PAIR] * len(pairs) + [FREE]
    levels = np.repeat(kinds, [block.shape[1] for block in blocks])
    by_class = np.repeat(levels[:, np.newaxis], layout.n_classes, axis=1)
    # A class without rows has no finite intercept: it stays at half a row.
    by_class[-1, classes == 0] = FIXED
    start = np.zeros(rows.shape)
    start[-1] = np.log(np.maximum(classes, 0.5) / classes.sum())
    return Prior(start, sparse.block_diag(blocks, format="csr"), by_class)


def main_effects(column: ColumnSchema, rows: Array) -> sparse.csr_array:
    """(n_states, n_effects): the main effect of each state as a sum of effects; `rows` (n_states,) are in each."""
    if not column.has_order:
        return sparse.eye_array(column.n_states, format="csr")
    n_ordered = column.n_states - column.gap_state
    steps = sparse.csr_array(walk_effects(rows[:n_ordered]))
    return sparse.block_diag([steps, sparse.eye_array(1)], format="csr") if column.gap_state else steps


def walk_effects(rows: Array) -> Array:
    """(n, n - 1): a random walk along n states, in variables that the rows hardly tie together.

    The walk is beta = T u, T the states by the steps up to them, with a penalty on u^2. A constant added to a column of
    T is taken back by the free intercept, and turning u by an orthogonal matrix leaves the penalty as it is. So with
    the columns centred by the rows and turned to the eigenvectors of T^T diag(rows) T it is the same model under the
    same prior, but in the Hessian the effects are apart from each other and from the intercept: L-BFGS takes a third
    of the passes.
    """
    steps = np.tri(len(rows))[:, 1:]  # the first state is the reference
    steps -= _shares(rows) @ steps
    _, turn = np.linalg.eigh((steps.T * rows) @ steps)
    return steps @ turn


def _with_gap(effects: sparse.csr_array, rows: Array) -> sparse.csr_array:
    """One more entry, the mean of the others by their rows."""
    return sparse.vstack([effects, sparse.csr_array(_shares(rows)[np.newaxis]) @ effects], format="csr")


def _pair_effects(rows: Array) -> sparse.csr_array:
    """An effect for each cell of a pair, and the entries of missing cells, a partner that is present being given."""
    n_parent, n_child = rows.shape
    cell = np.arange(rows.size).reshape(rows.shape)  # of the effects
    entry = np.arange((n_parent + 1) * (n_child + 1)).reshape(n_parent + 1, n_child + 1)
    by_parent = _shares(rows, _shares(rows.sum(axis=0)))
    by_child = _shares(rows.T, _shares(rows.sum(axis=1))).T
    both = _shares(rows.reshape(-1)).reshape(rows.shape)
    entries = (entry[:-1, :-1], entry[:-1, -1:], entry[-1:, :-1], entry[-1:, -1:])
    at = np.concatenate([np.broadcast_to(each, rows.shape).reshape(-1) for each in entries])
    shares = np.concatenate([np.ones(rows.size), by_parent.reshape(-1), by_child.reshape(-1), both.reshape(-1)])
    return sparse.csr_array((shares, (at, np.tile(cell.reshape(-1), 4))), shape=(entry.size, rows.size))


def _shares(rows: Array, otherwise: Array | None = None) -> Array:
    """Rows as shares of their sum along the last axis; where there is none, `otherwise`, equal shares by default."""
    total = rows.sum(axis=-1, keepdims=True)
    if otherwise is None:
        otherwise = np.full(rows.shape[-1], 1.0 / rows.shape[-1])
    return np.where(total > 0, rows / np.maximum(total, np.finfo(np.float64).tiny), otherwise)
