"""The prior of a model of effects: neighbours of an ordered attribute are alike, and pairs shrink to main effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.parameters.conditional.priors import FIXED, FREE, Prior
from tanager.parameters.effects.layout import (
    DenseBases,
    EffectLayout,
    dense_bases,
    effect_bases,
    shares_of,
    step_variance,
    tables_by_pair,
)
from tanager.parameters.frequency import DEFAULT_ALPHA
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Found = tuple[EffectLayout, Array]
"""The layout of a fold and its tables beta."""

MAIN, PAIR = 0, 1
# Of naive Bayes, where effects shrink to it: with 1 in its place rare states say too much, with 10 the gain is smaller.
PSEUDO_ROWS = DEFAULT_ALPHA["friedman"]


def effect_prior(layout: EffectLayout, rows: Array) -> Prior:
    """L2 towards zero on main effects (level 0) and on pair effects (level 1); the class's intercept is free.

    An ordered attribute's main effect is a random walk along its states (`walk_effects`): the penalty is on the steps
    u (METHODS 9), so that many fine bins share strength. Its gap state, and the states of an unordered
    attribute, have effects of their own. A pair's effects are the products of its attributes': a sheet of two walks
    for two ordered ones, a walk for each category of an unordered one, an effect for each cell of two unordered ones.

    A missing cell's entry is what is expected of the cell: the mean over the states by how often they occur, in a pair
    beside the state of the partner. So it is a linear function of the same effects, in training and prediction.

    rows  (n_cells, n_classes) training rows in each cell of the layout
    """
    mains, pairs, classes = layout.split(rows)
    bases = effect_bases(layout, rows)
    outer, inner = BlockDiagonal(), BlockDiagonal()
    sizes = []
    for basis, own in zip(bases.fine, mains, strict=True):
        _add_main(outer, _Entries.of(basis), shares_of(own[:-1].sum(axis=1)))
        inner.add_identity(basis.shape[1])
        sizes.append(basis.shape[1])
    coarse = [_Entries.of(basis) for basis in bases.coarse]
    for (parent, child), own in zip(layout.pairs, pairs, strict=True):
        # kron(A, B) = kron(A, 1) kron(1, B), and the two have far fewer entries than their product.
        _add_pair(outer, coarse[parent], own[:-1, :-1].sum(axis=2))
        _add_repeated(inner, coarse[child], coarse[parent].shape[1])
        sizes.append(coarse[parent].shape[1] * coarse[child].shape[1])
    outer.add_identity(1)
    inner.add_identity(1)
    kinds = [MAIN] * len(mains) + [PAIR] * len(pairs) + [FREE]
    levels = np.repeat(kinds, [*sizes, 1])
    by_class = np.repeat(levels[:, np.newaxis], layout.n_classes, axis=1)
    # A class without rows has no finite intercept: it stays at half a row.
    by_class[-1, classes == 0] = FIXED
    start = np.zeros(rows.shape)
    start[-1] = np.log(np.maximum(classes, 0.5) / classes.sum())
    sheets = any(layout.columns[child].has_order for _, child in layout.pairs)  # else the inner factor is the identity
    return Prior(start, (outer.matrix(), inner.matrix()) if sheets else (outer.matrix(),), by_class)


def prior_mean(kind: str, layout: EffectLayout, rows: Array) -> Array | float:
    """Where the effects of a model of this kind (`problems.Kind`) shrink to."""
    return naive_bayes_odds(layout, rows) if kind == "naive Bayes" else 0.0


def naive_bayes_odds(layout: EffectLayout, rows: Array) -> Array:
    """(n_cells, n_classes) log P(state | class) / P(state) in the main effects of unordered attributes, else zero.

    P(state | class) is that of `Frequency("friedman")`. A state without rows says nothing, and a missing
    cell what is expected of it, as `effect_prior` has it. Ordered attributes are left at zero: they say the same thing
    several times over far more often, and their cuts have seen the rows held out.

    rows  (n_cells, n_classes) training rows in each cell of the layout
    """
    offsets, n_mains = layout.cells.offsets, len(layout.columns)
    starts, lengths = offsets[:n_mains], np.diff(offsets[: n_mains + 1])
    # All attributes at once: counts of those without a say, and of gaps, are left out.
    told = np.repeat([not column.has_order for column in layout.columns], lengths)
    told[starts + lengths - 1] = False
    counted = np.where(told[:, np.newaxis], rows[: offsets[n_mains]], 0.0)

    def by_attribute(values: Array) -> Array:
        return np.repeat(np.add.reduceat(values, starts, axis=0), lengths, axis=0)

    seen = counted.any(axis=1, keepdims=True)
    own = counted.sum(axis=1, keepdims=True)
    shares = own / np.maximum(by_attribute(own), np.finfo(np.float64).tiny)
    smoothed = (counted + PSEUDO_ROWS * shares) / (by_attribute(counted) + PSEUDO_ROWS)
    odds = np.zeros(rows.shape)
    odds[: len(told)] = np.log(np.divide(smoothed, shares, out=np.ones_like(smoothed), where=seen))
    odds[starts + lengths - 1] = np.add.reduceat(shares * odds[: len(told)], starts, axis=0)
    return odds


@dataclass(frozen=True)
class _Entries:
    """Those of a sparse basis."""

    basis: sparse.csr_array
    states: Index
    effects: Index
    values: Array

    @classmethod
    def of(cls, basis: sparse.csr_array) -> _Entries:
        entries = basis.tocoo()
        states, effects = (each.astype(np.intp) for each in entries.coords)
        return cls(basis, states, effects, entries.data)

    @property
    def shape(self) -> tuple[int, int]:
        return self.basis.shape


def _add_main(outer: BlockDiagonal, own: _Entries, shares: Array) -> None:
    """The states by the effects, and one more entry, the mean of the others by their shares."""
    n_states, n_effects = own.shape
    outer.begin(n_states + 1, n_effects)
    outer.add(own.states, own.effects, own.values)
    outer.add(np.array(n_states), np.arange(n_effects), shares @ own.basis)


def _add_pair(outer: BlockDiagonal, parent: _Entries, rows: Array) -> None:
    """kron(parent, 1) for the cells of a pair; and the entries of missing ones, a partner that is present being given.

    rows  (parent's states, child's states)
    """
    n_parent, n_child = rows.shape
    by_child, by_parent, both = gap_shares(rows)
    entry = np.arange((n_parent + 1) * (n_child + 1)).reshape(n_parent + 1, n_child + 1)
    effect = np.arange(parent.shape[1] * n_child).reshape(-1, n_child)
    values = parent.values[:, np.newaxis]
    means = np.concatenate([by_child.T, both.T]) @ parent.basis
    outer.begin(entry.size, effect.size)
    outer.add(entry[parent.states, :-1], effect[parent.effects], values)
    outer.add(entry[parent.states, -1:], effect[parent.effects], values * by_parent[parent.states])
    outer.add(entry[-1, :-1], effect, means[:n_child].T)
    outer.add(entry[-1, -1], effect, means[n_child:].T)


def _add_repeated(inner: BlockDiagonal, own: _Entries, times: int) -> None:
    """kron(1, own): a block that is itself diagonal."""
    n_states, n_effects = own.shape
    each = np.arange(times)[:, np.newaxis]
    inner.begin(times * n_states, times * n_effects)
    inner.add(each * n_states + own.states, each * n_effects + own.effects, own.values)


def gap_shares(rows: Array) -> tuple[Array, Array, Array]:
    """Shares (parent's states, child's states) of the cells that a gap stands for: one of the parent beside each state
    of the child, one of the child beside each state of the parent, and both."""
    by_child = shares_of(rows.T, shares_of(rows.sum(axis=1))).T
    by_parent = shares_of(rows, shares_of(rows.sum(axis=0)))
    return by_child, by_parent, shares_of(rows.reshape(-1)).reshape(rows.shape)


def start_from_folds(
    layout: EffectLayout, zero: Array, rows: Array, found: Sequence[Found], bases: DenseBases | None = None
) -> Array:
    """u (n_effects, n_classes) of the layout and its `effect_prior`: the mean over the folds.

    Effects of a walk are turned differently in each fold (`walk_effects`), so they are found again from the mean of
    the tables. A pair that a fold has not is zero there.

    zero   (n_cells, n_classes) the tables at u = 0
    rows   (n_cells, n_classes) training rows in each cell of the layout
    bases  theirs, where they are known
    """
    if bases is None:
        bases = dense_bases(layout, rows)
    own = [fold.split(beta) for fold, beta in found]
    by_pair = [tables_by_pair(fold.pairs, tables) for (fold, _), (_, tables, _) in zip(found, own, strict=True)]
    centres, _, centre = layout.split(zero)
    coarse = [column.coarse for column in layout.columns]
    turns = [_turn(*each) for each in zip(coarse, bases.coarse, strict=True)] if layout.pairs else []
    parts = []
    for k, (column, basis) in enumerate(zip(layout.columns, bases.fine, strict=True)):
        main = np.mean([mains[k] for mains, _, _ in own], axis=0)
        parts.append(_effects(_turn(column, basis), main[:-1] - centres[k][:-1]))
    for parent, child in layout.pairs:
        tables = [pairs[parent, child] for pairs in by_pair if (parent, child) in pairs]
        if not tables:
            sizes = [_n_effects(coarse[node], bases.coarse[node]) for node in (parent, child)]
            parts.append(np.zeros((sizes[0] * sizes[1], layout.n_classes)))
            continue
        table = np.sum(tables, axis=0) / len(found)
        by_parent = _effects(turns[parent], table[:-1, :-1])
        by_child = _effects(turns[child], by_parent.swapaxes(0, 1))
        parts.append(by_child.swapaxes(0, 1).reshape(-1, layout.n_classes))
    intercept = np.mean([each for _, _, each in own], axis=0)
    return np.concatenate([*parts, [intercept - centre]])


def _n_effects(column: ColumnSchema, basis: Array | None) -> int:
    return column.n_states if basis is None else basis.shape[1]


def _turn(column: ColumnSchema, basis: Array | None) -> Array | None:
    """(effects, steps) of a walk: its effects from the differences of neighbouring states; None where there is none."""
    if basis is None:
        return None
    n_ordered, n_walk = column.n_states - column.gap_state, basis.shape[1] - column.gap_state
    # Differences of neighbouring rows of a walk are orthogonal columns of one length: the transpose is the inverse.
    turn: Array = (basis[1:n_ordered, :n_walk] - basis[: n_ordered - 1, :n_walk]).T / step_variance(n_ordered)
    return turn


def _effects(turn: Array | None, values: Array) -> Array:
    """The effects whose sums are `values` (states, ...) but for a constant; `turn` is that of a walk."""
    if turn is None:
        return values
    n_ordered = turn.shape[1] + 1
    steps = np.tensordot(turn, values[1:n_ordered] - values[: n_ordered - 1], axes=1)
    return np.concatenate([steps, values[n_ordered:]])


class BlockDiagonal:
    """A sparse matrix of blocks along its diagonal, added one after another: scipy's takes far longer for many."""

    def __init__(self) -> None:
        self._rows: list[Index] = []
        self._columns: list[Index] = []
        self._values: list[Array] = []
        self._corner = self._shape = (0, 0)

    def begin(self, n_rows: int, n_columns: int) -> None:
        """The entries that are added next are of one more block."""
        self._corner = self._shape
        self._shape = (self._shape[0] + n_rows, self._shape[1] + n_columns)

    def add(self, rows: Index, columns: Index, values: Array) -> None:
        """Entries of the block: arrays that are broadcast against each other."""
        rows, columns, values = np.broadcast_arrays(rows + self._corner[0], columns + self._corner[1], values)
        self._rows.append(rows.reshape(-1))
        self._columns.append(columns.reshape(-1))
        self._values.append(values.reshape(-1))

    def add_identity(self, size: int) -> None:
        """A whole block."""
        self.begin(size, size)
        each = np.arange(size)
        self.add(each, each, np.ones(size))

    def matrix(self) -> sparse.csr_array:
        at = (np.concatenate(self._rows), np.concatenate(self._columns))
        return sparse.csr_array((np.concatenate(self._values), at), shape=self._shape)
