"""How much attributes tell about the class, and pairs of them about each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Ints
from tanager.counts.count_store import CountStore
from tanager.counts.family import CountTable, Family, PairTables
from tanager.scores.margins import evaluate, map_pairs, xlogx


@dataclass(frozen=True)
class PairInformation:
    """In nats, each (n, n), symmetric, zero on the diagonal.

    conditional  I(X_i;X_j|C), never negative
    marginal     I(X_i;X_j), never negative
    interaction  I(C;X_i;X_j) = conditional - marginal: positive where the pair says more about the class than its parts
    """

    conditional: Array
    marginal: Array

    @property
    def interaction(self) -> Array:
        return self.conditional - self.marginal


def pair_information(pairs: PairTables) -> PairInformation:
    """The information of every pair of attributes, over the rows in which both are present."""
    n_attributes = len(pairs.n_states) - 1
    conditional, marginal = (np.zeros((n_attributes, n_attributes)) for _ in range(2))

    def fill(i: Ints, j: Ints, tables: CountTable) -> None:
        by_i, by_j = tables.sum(axis=3), tables.sum(axis=2)
        by_class, both = by_i.sum(axis=2), tables.sum(axis=1)
        rows = by_class.sum(axis=1)
        given_class = _sum_cells(tables) - _sum_cells(by_i) - _sum_cells(by_j) + _sum_cells(by_class)
        alone = _sum_cells(both) - _sum_cells(by_i.sum(axis=1)) - _sum_cells(by_j.sum(axis=1)) + xlogx(rows)
        rows = np.maximum(rows, np.finfo(float).tiny)
        # Rounding may leave an independent pair just below zero.
        conditional[i, j] = conditional[j, i] = np.maximum(given_class, 0) / rows
        marginal[i, j] = marginal[j, i] = np.maximum(alone, 0) / rows

    map_pairs(fill, pairs)
    return PairInformation(conditional, marginal)


def _sum_cells(counts: CountTable) -> Array:
    """(n_pairs,) the sum of N log N over the cells of each pair's table."""
    return evaluate(xlogx, counts).sum(axis=tuple(range(1, counts.ndim)))


def class_information(counts: CountStore) -> Array:
    """(n,) I(X_i; C) in nats, over the rows in which X_i is present."""
    families = [Family(child, (counts.n_attributes,)) for child in range(counts.n_attributes)]
    if not families:
        return np.zeros(0)
    tables = [table[0] for table in counts.tables(families)]
    # All attributes at once, since a fit of few rows waits for calls of NumPy.
    sums = [[table.reshape(-1) for table in tables], [t.sum(axis=0) for t in tables], [t.sum(axis=1) for t in tables]]
    cells, by_state, by_class = (_sum_parts(parts) for parts in sums)
    rows = np.array([table.sum() for table in tables], dtype=float)
    return (cells - by_state - by_class + xlogx(rows)) / np.maximum(rows, np.finfo(float).tiny)


def _sum_parts(parts: Sequence[NDArray[np.number]]) -> Array:
    """The sum of N log N of each part."""
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return np.add.reduceat(xlogx(np.concatenate(parts).astype(float)), starts)
