"""Blocks: the effects of a model as the compiled descent sees them, and the rows as cells of the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.prior import DenseBases, gap_shares
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
    shares   of the cells that a missing one stands for: beside each right state, each left one, and neither
    weights  (n_blocks,) the root of an effect's mean square over the rows, summed over the block: what its slope is
             likely to be by chance, in units of the rows' root
    """

    shapes: NDArray[np.int64]
    bases: Array
    shares: Array
    weights: Array

    @property
    def n_blocks(self) -> int:
        return len(self.shapes) - 1

    @property
    def n_effects(self) -> int:
        return int(self.shapes[-1, 7])

    @property
    def n_cells(self) -> int:
        return int(self.shapes[-1, 8])


def make_blocks(layout: EffectLayout, bases: DenseBases, counted: Array, gaps: NDArray[np.bool_]) -> Blocks:
    """`counted` (n_cells, n_classes) are the training rows in each cell; `gaps` says which attributes lack cells."""
    mains, pairs, _ = layout.split(counted)
    stored, shares = _Flat(), _Flat()
    lines, weights = [], []
    effects = cells = 0

    def add(left: int, right: int, k_left: int, k_right: int, is_pair: bool, at: Sequence[int], has_gaps: bool) -> None:
        nonlocal effects, cells
        lines.append([left, right, k_left, k_right, int(is_pair), *at[:2], effects, cells, at[2], int(has_gaps), int(is_pair or at[0] == IDENTITY)])
        effects += k_left * k_right
        cells += (left + 1) * (right + 1) if is_pair else left + 1

    fine = [stored.add_basis(basis) for basis in bases.fine]
    coarse = [stored.add_basis(basis) for basis in bases.coarse]
    for attribute, (basis, rows) in enumerate(zip(bases.fine, mains, strict=True)):
        own = gap_shares(rows.sum(axis=1)[:-1, np.newaxis])[0]
        n_states = len(rows) - 1
        n_effects = n_states if basis is None else basis.shape[1]
        at = (fine[attribute], IDENTITY, shares.add(own))
        add(n_states, 1, n_effects, 1, False, at, bool(gaps[attribute]))
        weights.append(np.sqrt(own[:, 0] @ _squares(basis, n_states)))
    for (parent, child), rows in zip(layout.pairs, pairs, strict=True):
        own_shares = gap_shares(rows[:-1, :-1].sum(axis=2))
        left, right = bases.coarse[parent], bases.coarse[child]
        n_left, n_right = own_shares[2].shape
        k_left, k_right = (n if basis is None else basis.shape[1] for n, basis in ((n_left, left), (n_right, right)))
        at = (coarse[parent], coarse[child], shares.add(np.stack(own_shares)))
        add(n_left, n_right, k_left, k_right, True, at, bool(gaps[parent] or gaps[child]))
        weights.append(np.sqrt(_squares(left, n_left) @ own_shares[2] @ _squares(right, n_right)))
    lines.append([1, 1, 1, 1, 0, IDENTITY, IDENTITY, effects, cells, 0, 0, 0])
    lines.append([0, 0, 0, 0, 0, 0, 0, effects + 1, cells + 1, 0, 0, 0])
    return Blocks(np.array(lines), stored.values(), shares.values(), np.array([*weights, 1.0]))


def block_cells(layout: EffectLayout, batch: EncodedBatch) -> Cells:
    """(n_blocks, n_rows) the cell of each row in each block; the batch has gaps as states."""
    cells = layout.cells
    found = np.zeros((len(cells.families), batch.n_rows), dtype=np.uint32)
    columns = np.ascontiguousarray(batch.codes.T)
    for own, nodes, strides in zip(found, cells.attributes, cells.strides, strict=True):
        for node, stride in zip(nodes, strides, strict=True):
            own += columns[node].astype(np.uint32) * np.uint32(stride)
    return found


class _Flat:
    """Arrays one after another."""

    def __init__(self) -> None:
        self._parts = [np.zeros(1)]
        self._size = 1

    def add(self, values: Array) -> int:
        at = self._size
        self._parts.append(values.reshape(-1))
        self._size += values.size
        return at

    def add_basis(self, basis: Array | None) -> int:
        if basis is None:
            return IDENTITY
        at = self.add(basis)
        self.add(basis.T)
        return at

    def values(self) -> Array:
        return np.concatenate(self._parts)


def _squares(basis: Array | None, n_states: int) -> Array:
    """(states,) the sum of the squares of the effects' values in each state."""
    return np.ones(n_states) if basis is None else (basis**2).sum(axis=1)
