"""MarginSums: scores that are sums, over the cells of a count table and of its margins, of a function of the count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tanager.arrays import Array, Ints
from tanager.counts.family import CountTable, Family, PairTables
from tanager.scores.by_shape import ByShape, PairGroup, pair_groups, pair_totals, score_group, worth_compiling

AXES = {"j": -3, "c": -2, "k": -1}
# The margins of the stored table (class, i, j) of a pair, in the order in which the kernel takes their functions.
STORED_MARGINS = ("cij", "ci", "cj", "ij", "i", "j", "c", "")

Function = Callable[[Array], Array]
FormulaOf = Callable[[Family, Sequence[int]], "Sequence[Term]"]


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

    def pair_scores(self, pairs: PairTables) -> Array:
        self.check_options()
        return sum_pair_terms(self.formula, pairs)


def sum_terms(formula: Sequence[Term], tables: CountTable) -> Array:
    """The formula's value for each of the tables (..., q, s, r)."""
    result = np.zeros(tables.shape[:-3])
    for coefficient, margin, function in formula:
        summed = tuple(axis for name, axis in AXES.items() if name not in margin)
        cells = tables.sum(axis=summed, keepdims=True) if summed else tables
        result += coefficient * _evaluate(function, cells).sum(axis=(-3, -2, -1))
    return result


def sum_pair_terms(formula_of: FormulaOf, pairs: PairTables) -> Array:
    """(n, n) values of the formula for child given parent and class, at [parent, child]; zero on the diagonal."""
    n_attributes = len(pairs.n_states) - 1
    result = np.zeros((n_attributes, n_attributes))
    may_look_up = worth_compiling(pairs) and pairs.counts.dtype.kind == "i"
    largest = int(pair_totals(pairs).max()) if may_look_up else 0

    def stack_terms(tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        return sum_terms(formula_of(family, n_states), tables)

    for group in pair_groups(pairs):
        # Look-up tables pay where they are much shorter than the cells they serve.
        if may_look_up and group.fits_kernels and 8 * largest < group.n_pairs * prod(group.shape):
            _look_up_group(formula_of, group, pairs, largest, result)
        else:
            score_group(stack_terms, group, pairs, result)
    return result


def same_for_all(formula: Sequence[Term]) -> FormulaOf:
    """A formula that does not depend on the family's shape."""
    return lambda family, n_states: formula


def xlogx(counts: Array) -> Array:
    """N log N, zero at zero."""
    return counts * np.log(np.maximum(counts, np.finfo(float).tiny))


def _evaluate(function: Function, counts: CountTable) -> Array:
    """function(counts), by look-up where many small integers would repeat the work."""
    if counts.dtype.kind == "i" and counts.size > 1024:
        largest = int(counts.max())
        if largest < counts.size // 2:
            return function(np.arange(largest + 1, dtype=float))[counts]
    return function(counts.astype(float, copy=False))


def _look_up_group(formula_of: FormulaOf, group: PairGroup, pairs: PairTables, largest: int, result: Array) -> None:
    """`score_group` by a kernel that looks every function up in a table over 0 .. largest."""
    from tanager.scores.pair_kernels import look_up_pairs

    i, j, target = int(group.rows[0]), int(group.columns[0]), len(pairs.n_states) - 1
    counts = np.arange(largest + 1, dtype=float)
    functions: dict[str, Array] = {}
    forward, backward = {"j": "i", "c": "c", "k": "j"}, {"j": "j", "c": "c", "k": "i"}
    for direction, child, parent, stored_as in ((0, j, i, forward), (1, i, j, backward)):
        for coefficient, margin, function in formula_of(Family(child, (parent, target)), pairs.n_states):
            stored = "".join(sorted(stored_as[axis] for axis in margin))
            table = functions.setdefault(stored, np.zeros((largest + 1, 2)))
            table[:, direction] += coefficient * function(counts)
    places = {name: place for place, name in enumerate(functions)}
    used = np.array([places.get(name, -1) for name in STORED_MARGINS])
    tables = np.stack(list(functions.values()))

    def score_rows(rows: Ints) -> None:
        look_up_pairs(pairs.counts, pairs.offsets, rows, group.columns, group.shape, tables, used, result)

    group.on_threads(score_rows)
