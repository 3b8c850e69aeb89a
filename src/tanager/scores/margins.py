"""MarginSums: scores that are sums, over the cells of a count table and of its margins, of a function of the count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import CountTable, Family
from tanager.scores.by_shape import ByShape

AXES = {"j": -3, "c": -2, "k": -1}

Function = Callable[[Array], Array]


class Term(NamedTuple):
    """coefficient * sum of function(N) over the cells of one margin of N_jck.

    `margin` names the axes kept: j attribute-parent configuration, c class, k state of the child; "" is the total.
    """

    coefficient: float
    margin: str
    function: Function


class MarginSums(ByShape):
    """Mixin before `FamilyScore`: a subclass writes its formula as a list of `Term`s."""

    @abstractmethod
    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        """What to add up for a family of this shape."""

    def stack_terms(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        return sum_terms(self.formula(family, n_states), tables)


def sum_terms(formula: Sequence[Term], tables: CountTable) -> Array:
    """The formula's value for each of the tables (..., q, s, r)."""
    result = np.zeros(tables.shape[:-3])
    for coefficient, margin, function in formula:
        summed = tuple(axis for name, axis in AXES.items() if name not in margin)
        cells = tables.sum(axis=summed, keepdims=True) if summed else tables
        result += coefficient * evaluate(function, cells).sum(axis=(-3, -2, -1))
    return result


def xlogx(counts: Array) -> Array:
    """N log N, zero at zero."""
    return counts * np.log(np.maximum(counts, np.finfo(float).tiny))


def evaluate(function: Function, counts: CountTable) -> Array:
    """function(counts), by look-up where many small integers would repeat the work."""
    if counts.dtype.kind == "i" and counts.size > 1024:
        largest = int(counts.max())
        if largest < counts.size // 2:
            return function(np.arange(largest + 1, dtype=float))[counts]
    return function(counts.astype(float, copy=False))
