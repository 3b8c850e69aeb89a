"""Terms of families that can be compared with each other, and the score of a whole structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from tanager.arrays import Array, Flags, Ints
from tanager.counts.count_store import CountStore
from tanager.counts.family import CountTable, Family, PairTables
from tanager.errors import OptionError
from tanager.scores.likelihood import CLL
from tanager.scores.margins import pair_totals
from tanager.scores.protocol import FamilyScore
from tanager.structure.dag import Dag
from tanager.structure.protocol import StructureTask

SMALLEST_INFORMATION = 1e-12  # in nats per row


class FamilyTerms:
    """The terms of a score, each family scored once.

    A row with a missing value in a family does not count for it, so terms of two families may come from different rows
    and a parent that is mostly missing would seem to explain a lot. The gain of attribute parents is therefore measured
    on the rows that have them all: phi(child; parents) - phi(child; no attribute parents).
    """

    def __init__(self, counts: CountStore, score: FamilyScore) -> None:
        self._counts = counts
        self._score = score
        self._n_rows = counts.table(Family(counts.n_attributes, ())).sum()
        self._known: dict[Family, float] = {}

    def terms(self, families: Iterable[Family]) -> Array:
        """phi(child; no attribute parents) plus the gain of the attribute parents, for each family."""
        wanted = list(families)
        new = [family for family in dict.fromkeys(wanted) if family not in self._known]
        self._score_alone(self.without_attributes(family) for family in new)
        new = [family for family in new if family not in self._known]
        if new:
            for family, gain in zip(new, self.gains(new, self._counts.tables(new)).tolist(), strict=True):
                self._known[family] = self._known[self.without_attributes(family)] + gain
        return np.array([self._known[family] for family in wanted])

    def gains(self, families: Sequence[Family], tables: Sequence[CountTable]) -> Array:
        """What the attribute parents of each family gain, on the rows that have them all."""
        n_states = self._counts.n_states
        alone = [self.without_attributes(family) for family in families]
        self._score_alone(alone)
        less = np.array([self._known[family] for family in alone])
        partial = [position for position, table in enumerate(tables) if table.sum() != self._n_rows]
        if partial:
            margins = [tables[position].sum(axis=0, keepdims=True) for position in partial]
            less[partial] = self._score.terms(margins, [alone[position] for position in partial], n_states)
        return self._score.terms(tables, families, n_states) - less

    def _score_alone(self, families: Iterable[Family]) -> None:
        new = [family for family in dict.fromkeys(families) if family not in self._known]
        if new:
            terms = self._score.terms(self._counts.tables(new), new, self._counts.n_states)
            self._known.update(zip(new, terms.tolist(), strict=True))

    def total(self, dag: Dag) -> float:
        """The score of a whole structure, the class node's term included."""
        return float(self.terms(dag.families).sum())

    def with_values(self) -> Ints:
        """The attributes that have a value in some row."""
        counts, target = self._counts, self._counts.n_attributes
        incomplete = np.flatnonzero(counts.rows.incomplete[:target]).tolist()
        tables = counts.tables([Family(attribute, (target,)) for attribute in incomplete])
        return np.setdiff1d(
            np.arange(target), [a for a, table in zip(incomplete, tables, strict=True) if not table.any()]
        )

    def edge_gains(self) -> Array:
        """(n, n) gains of one attribute parent beside the class, at [parent, child]; zero on the diagonal."""
        counts, target = self._counts, self._counts.n_attributes
        if target == 1:
            return np.zeros((1, 1))
        pairs = counts.pairs()
        alone = [Family(child, (target,)) for child in range(target)]
        terms = self._score.pair_scores(pairs)
        result = terms - self.terms(alone)
        np.fill_diagonal(result, 0.0)
        partial = self._partial_pairs(pairs)
        for child in np.flatnonzero(partial.any(axis=0)).tolist():
            parents = np.flatnonzero(partial[:, child])
            margins = [pairs.table(parent, child).sum(axis=0, keepdims=True) for parent in parents.tolist()]
            less = self._score.terms(margins, [alone[child]] * len(parents), counts.n_states)
            result[parents, child] = terms[parents, child] - less
        return result

    def _partial_pairs(self, pairs: PairTables) -> Flags:
        """(n, n) booleans, symmetric: the pairs of which some row has a missing value."""
        rows = pair_totals(pairs)
        result = np.zeros((self._counts.n_attributes, self._counts.n_attributes), dtype=bool)
        result[np.triu_indices(len(result), k=1)] = ~np.isclose(rows, self._n_rows, rtol=1e-12, atol=0.0)
        return result | result.T

    def without_attributes(self, family: Family) -> Family:
        target = self._counts.n_attributes
        return Family(family.child, (target,) if target in family.parents else ())


def total_score(task: StructureTask, dag: Dag) -> float:
    """The score of a whole structure, the class node's term included."""
    if isinstance(task.criterion, FamilyScore):
        return FamilyTerms(task.counts, task.criterion).total(dag)
    return evaluate(task, dag)


def evaluate(task: StructureTask, dag: Dag) -> float:
    """`task.evaluate` less what the criterion takes for parameters, where the caller has provided it."""
    if task.evaluate is None or not isinstance(task.criterion, CLL):
        raise OptionError(f"criterion={task.criterion!r} is measured on rows; use it through a classifier.")
    return task.evaluate(dag) - task.criterion.cost(dag.families, task.counts)


def evaluate_each(task: StructureTask, dags: Sequence[Dag]) -> Sequence[float]:
    """`task.evaluate` of each structure; in one pass over the rows where possible."""
    if task.evaluate_each is not None:
        return task.evaluate_each(dags)
    if task.evaluate is None:
        raise OptionError("the structure is chosen by measuring classifiers on rows; use it through a classifier.")
    return [task.evaluate(dag) for dag in dags]


def decomposable_score(task: StructureTask, structure: str) -> FamilyScore:
    """The task's criterion, if it is a sum over families; otherwise an error names the structure that can use it."""
    if isinstance(task.criterion, FamilyScore):
        return task.criterion
    raise OptionError(
        f"structure {structure!r} needs a criterion that is a sum over families; {task.criterion!r} is not one.",
        hint="with that criterion use structure='hill-climb'.",
    )


def smallest_gain(score: float) -> float:
    """A change of a score that gains less is rounding, and could turn an edge round for ever."""
    return 1e-10 * max(1.0, abs(score) if isfinite(score) else 1.0)


def level(values: ArrayLike, smallest: float) -> Array:
    """The values in units of the smallest difference that counts, rounded to whole ones."""
    return np.round(np.asarray(values) / smallest)
