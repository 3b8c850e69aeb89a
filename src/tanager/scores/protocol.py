"""FamilyScore: what a decomposable score is, and what comes for free once `local` is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from math import inf
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import CountTable, Family, PairTables
from tanager.errors import OptionError
from tanager.table.rows import Needs


class FamilyScore(BaseEstimator, ABC):
    """A score that is a sum of one term per family; larger is better; natural logarithms.

    A subclass is a scikit-learn parameter object: its options are the arguments of `__init__`. It holds no data.
    """

    needs: ClassVar[Needs] = "families"
    """Of the rows: the counts of the families it is asked for."""
    decomposable: ClassVar[bool] = True
    score_equivalent: ClassVar[bool]
    """True when both directions of an edge score the same, so that a spanning tree finds the best tree."""

    @abstractmethod
    def local(self, table: CountTable, family: Family, n_states: Sequence[int]) -> float:
        """The term of one family.

        `table` has shape (attribute-parent configurations, classes, states), with a single class where the class is
        not a parent: `Family.class_shape`. The class node's own term has shape (1, 1, classes). `n_states` are the
        states of all nodes, the class last.
        """

    def check_options(self) -> None:
        """Raise `OptionError` for an option that cannot be used."""

    def for_nodes(self, names: Sequence[str]) -> FamilyScore:
        """The score for nodes of these names, the class last: itself, where it knows of no node."""
        return self

    def terms(self, tables: Sequence[CountTable], families: Sequence[Family], n_states: Sequence[int]) -> Array:
        """The terms of many families, (n_families,)."""
        return np.array([self.local(table, family, n_states) for table, family in zip(tables, families, strict=True)])

    def total(self, families: Iterable[Family], counts: CountStore) -> float:
        """The score of a whole structure: the sum of its families' terms, the class node's included."""
        wanted = list(families)
        return float(self.terms(counts.tables(wanted), wanted, counts.n_states).sum())

    def pair_scores(self, pairs: PairTables) -> Array:
        """(n, n) terms of child given parent and class, at [parent, child]; zero on the diagonal."""
        n_attributes = len(pairs.n_states) - 1
        result = np.zeros((n_attributes, n_attributes))
        for parent in range(n_attributes):
            for child in range(n_attributes):
                if parent != child:
                    family = Family(child, (parent, n_attributes))
                    result[parent, child] = self.local(pairs.table(parent, child), family, pairs.n_states)
        return result


def check_between(score: str, option: str, value: object, low: float, high: float = inf) -> None:
    """Refuse anything but a number in the open interval (low, high)."""
    if not isinstance(value, bool) and isinstance(value, Real) and low < float(value) < high:
        return
    expected = f"a number above {low:g}" if high == inf else f"a number between {low:g} and {high:g}, both excluded"
    raise OptionError(f"{score}: {option}={value!r} cannot be used; expected {expected}.")
