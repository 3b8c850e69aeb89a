"""Blocks: the effects of a model as the compiled descent sees them, and the rows as cells of the blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.effects.layout import DenseBases, EffectLayout
from tanager.table.batch import EncodedBatch

Array = NDArray[np.float64]
Cells = NDArray[np.uint32]

IDENTITY = -1


@dataclass(frozen=True)
class Blocks:
    """Main effects, pairs and the intercept, in the order of the layout's families, as flat arrays.

    shapes   (n_blocks + 1, 12): states and effects of the left and the right attribute, whether there is a right one,
             where the two bases begin, the effects, the cells and the shares, whether a row lacks a cell, whether it is
             centred (a walk is already); the last line is the end of effects and cells
    bases    every basis (states, effects), then its transpose; an identity is not stored
    shares   of the cells that a missing one stands for: beside each right state, each left one, and neither; of a main
             effect there is one kind
    weights  (n_blocks,) the root of an effect's mean square over the rows, summed over the block: what its slope is
             likely to be by chance, in units of the rows' root
    squared_means  (n_effects,) of what centring takes from every row for an effect of one; zero in a walk
    """

    shapes: NDArray[np.int64]
    bases: Array
    shares: Array
    weights: Array
    squared_means: Array

    @cached_property
    def squares(self) -> Array:
        """Of the bases."""
        return self.bases**2

    @property
    def n_blocks(self) -> int:
        return len(self.shapes) - 1

    @property
    def n_effects(self) -> int:
        return int(self.shapes[-1, 7])

    @property
    def n_cells(self) -> int:
        return int(self.shapes[-1, 8])


def make_blocks(layout: EffectLayout, bases: DenseBases, rows: Array, gaps: NDArray[np.bool_]) -> Blocks:
    """`rows` (n_cells,) are the training rows in each cell; `gaps` says which attributes lack cells in some row."""
    from tanager.parameters.effects.block_kernels import fill_shares, fill_squared_means

    stored = _FlatBases()
    fine = [stored.add(basis, column.n_states) for basis, column in zip(bases.fine, layout.columns, strict=True)]
    paired = sorted({attribute for pair in layout.pairs for attribute in pair})
    coarse = {k: stored.add(bases.coarse[k], layout.columns[k].coarse.n_states) for k in paired}
    lines = []
    effects = cells = shares = 0
    for attribute, left in enumerate(fine):
        centred = left.at == IDENTITY  # a walk is already
        sizes = [left.n_states, 1, left.n_effects, 1, 0, left.at, IDENTITY]
        lines.append([*sizes, effects, cells, shares, gaps[attribute], centred])
        effects, cells, shares = effects + left.n_effects, cells + left.n_states + 1, shares + left.n_states
    for parent, child in layout.pairs:
        left, right = coarse[parent], coarse[child]
        sizes = [left.n_states, right.n_states, left.n_effects, right.n_effects, 1, left.at, right.at]
        lines.append([*sizes, effects, cells, shares, gaps[parent] or gaps[child], True])
        effects += left.n_effects * right.n_effects
        cells += (left.n_states + 1) * (right.n_states + 1)
        shares += 3 * left.n_states * right.n_states
    lines.append([1, 1, 1, 1, 0, IDENTITY, IDENTITY, effects, cells, shares, 0, 0])
    lines.append([0, 0, 0, 0, 0, 0, 0, effects + 1, cells + 1, shares + 1, 0, 0])
    shapes, all_shares = np.array(lines, dtype=np.int64), np.zeros(shares + 1)
    fill_shares(shapes, rows, all_shares)
    weights = [
        np.sqrt(all_shares[line[9] : line[9] + line[0]] @ left.squares) for line, left in zip(lines, fine, strict=False)
    ]
    for line, (parent, child) in zip(lines[len(fine) :], layout.pairs, strict=False):
        size = line[0] * line[1]
        both = all_shares[line[9] + 2 * size : line[9] + 3 * size].reshape(line[0], line[1])
        weights.append(np.sqrt(coarse[parent].squares @ both @ coarse[child].squares))
    all_bases, squared_means = stored.values(), np.zeros(effects + 1)
    fill_squared_means(shapes, all_bases, all_shares, squared_means)
    return Blocks(shapes, all_bases, all_shares, np.array([*weights, 1.0]), squared_means)


def block_cells(layout: EffectLayout, batch: EncodedBatch) -> Cells:
    """(n_blocks, n_rows) the cell of each row in each block; the batch has gaps as states."""
    cells = layout.cells
    found = np.zeros((len(cells.families), batch.n_rows), dtype=np.uint32)
    columns = np.ascontiguousarray(batch.codes.T, dtype=np.uint32)
    for own, nodes, strides in zip(found, cells.attributes, cells.strides, strict=True):
        for node, stride in zip(nodes, strides, strict=True):
            own += columns[node] if stride == 1 else columns[node] * np.uint32(stride)
    return found


def pad(values: Array) -> Array:
    """(n, width) from (n, n_odds), in one order of memory: the compiler would begin anew for another."""
    from tanager.parameters.effects.block_kernels import padded

    width = padded(values.shape[1])
    if width == values.shape[1]:
        return np.array(values, order="C")
    result = np.zeros((len(values), width))
    result[:, : values.shape[1]] = values
    return result


@dataclass(frozen=True)
class _Basis:
    """Where a basis is stored, its shape, and (states,) the sum of the squares of its effects in each state."""

    at: int
    n_states: int
    n_effects: int
    squares: Array


class _FlatBases:
    """Bases one after another, each with its transpose."""

    def __init__(self) -> None:
        self._parts = [np.zeros(1)]
        self._size = 1

    def add(self, basis: Array | None, n_states: int) -> _Basis:
        if basis is None:
            return _Basis(IDENTITY, n_states, n_states, np.ones(n_states))
        at = self._size
        self._parts += [basis.reshape(-1), basis.T.reshape(-1)]
        self._size += 2 * basis.size
        return _Basis(at, n_states, basis.shape[1], (basis**2).sum(axis=1))

    def values(self) -> Array:
        return np.concatenate(self._parts)
