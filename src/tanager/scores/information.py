"""How much attributes tell about the class, and pairs of them about each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family, PairTables
from tanager.scores.margins import Term, same_for_all, sum_pair_terms, xlogx

# N I(X;Y|C) and N I(X;Y) of the empirical distribution
CONDITIONAL = (Term(1, "jck", xlogx), Term(-1, "jc", xlogx), Term(-1, "ck", xlogx), Term(1, "c", xlogx))
MARGINAL = (Term(1, "jk", xlogx), Term(-1, "j", xlogx), Term(-1, "k", xlogx), Term(1, "", xlogx))
ROWS = (Term(1, "", np.positive),)


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
    formulas = (CONDITIONAL, MARGINAL, ROWS)
    conditional, marginal, rows = (sum_pair_terms(same_for_all(formula), pairs) for formula in formulas)
    rows = np.maximum(rows, np.finfo(float).tiny)
    # Rounding may leave an independent pair just below zero.
    return PairInformation(np.maximum(conditional, 0) / rows, np.maximum(marginal, 0) / rows)


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
