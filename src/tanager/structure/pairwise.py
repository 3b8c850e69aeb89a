"""Pairwise: the pairs of attributes that say more about the class together than apart; no limit on parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.counts.count_store import CountStore
from tanager.errors import OptionError
from tanager.registry import unknown_option
from tanager.scores.fcll import FCLL
from tanager.scores.information import class_information, pair_information
from tanager.structure.constraints import Edges, IndexEdges, Node, listed, node_index, refuse_class_edges
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms
from tanager.structure.protocol import (
    LearntStructure,
    Pairs,
    RankedPairs,
    Step,
    StructureLearner,
    StructureTask,
)
from tanager.structure.ties import SMALLEST_INFORMATION, level
from tanager.table.granularity import MAX_PAIRED

RANKINGS = ("information", "interaction", "fcll")
AUTO_MULTIPLES = (3, 6)
ORDERS = (1, 2, 3, None)
# A pair with more cells than rows has a column that nearly names rows. By chance its information is the highest of all,
# and its table the largest. So many cells are always allowed.
FEW_CELLS = 1_024

Mask = NDArray[np.bool_]
MonotonicConstraints = Mapping[Any, int] | ArrayLike
"""The option `monotonic_cst`, with the names and meaning it has in scikit-learn's HistGradientBoostingClassifier."""
DIRECTIONS = (-1, 0, 1)


class Pairwise(StructureLearner):
    """The best pairs of attributes, each an edge from the attribute that says more about the class to the other.

    A node may have many parents, so its family is not a table over all of them but a sum of effects: its own, and one
    with each parent. Only the parameter learner `Conditional` fits such sums.

    Trees would join any attributes: where `pairs`, `forbidden_pairs`, `interactions` or `monotonic_cst` is given there
    are none, as with order=2.

    Parameters
    ----------
    pairs_per_attribute : "auto" or float
        How many pairs, as a multiple of the number of attributes; "auto" chooses it on held-out folds.
    rank_by : "information", "interaction" or "fcll"
        What makes a pair good: the interaction information I(C; X; Y), or what the edge adds to the fCLL score.
        "information" takes in turn the best by I(C; X; Y) and the best by I(X; Y | C), which finds neighbours in a
        sequence too: lower log-loss than either alone over 20 benchmark sets.
    order : 1, 2, 3 or None
        How many attributes may act together: 1 leaves pairs out, 2 has pairs, 3 also effects of three attributes and
        trees whose leaves depend on at most three each, None on any number. Held-out folds choose how much of it is
        taken in.
    pairs : list of pairs of attributes, by name or number, or None
        The pairs to take, and no others. Held-out folds choose how strong they are, which may be not at all.
    forbidden_pairs : list of pairs of attributes
        Never taken.
    interactions : list of attributes or None
        Those that may be in a pair; the others act alone.
    monotonic_cst : mapping from attributes to 1, -1 or 0, list with a number for each attribute, or None
        Along an attribute of 1 the log odds of the second class never fall, along one of -1 they never rise, whatever
        the other attributes hold: its effect and its pairs together. For two classes and ordered attributes, as in
        scikit-learn's HistGradientBoostingClassifier.
    """

    needs = "pairs"
    learns = "effects"
    granularities = 2
    asks_criterion = False

    def __init__(
        self,
        pairs_per_attribute: str | float = "auto",
        rank_by: str = "information",
        order: int | None = None,
        pairs: Edges | None = None,
        forbidden_pairs: Edges = (),
        interactions: Iterable[Node] | None = None,
        monotonic_cst: MonotonicConstraints | None = None,
    ) -> None:
        self.pairs_per_attribute = pairs_per_attribute
        self.rank_by = rank_by
        self.order = order
        self.pairs = pairs
        self.forbidden_pairs = forbidden_pairs
        self.interactions = interactions
        self.monotonic_cst = monotonic_cst

    def learn(self, task: StructureTask) -> LearntStructure:
        n_attributes, rank = task.counts.n_attributes, self.rank
        order, allowed, monotone = self.order, self._allowed(task), _read_directions(self.monotonic_cst, task)
        if monotone and order == 3:
            raise OptionError("order=3 does not go with monotonic_cst: trees may turn back.", hint="leave order out.")
        if order is None and (monotone or allowed is not None):
            order = 2
        if allowed is not None:
            rank = partial(self.rank, allowed=allowed)
        pairs = rank(task.counts)
        steps = tuple([Step(f"add {task.names[parent]} -> {task.names[child]}") for parent, child in pairs])
        ranked = RankedPairs(pairs, self.numbers(n_attributes), rank, order, monotone)
        return LearntStructure(Dag.of_pairs(n_attributes, pairs), steps=steps, pairs=ranked)

    def _allowed(self, task: StructureTask) -> Mask | None:
        """(n, n) whether two attributes may be a pair; None where any two may."""
        if self.pairs is None and self.interactions is None and not list(self.forbidden_pairs):
            return None
        if self.order == 3 or (self.order == 1 and self.pairs is not None):
            raise OptionError(f"order={self.order} does not go with a choice of pairs.", hint="leave order out.")
        n_attributes = task.counts.n_attributes
        allowed = ~np.eye(n_attributes, dtype=bool)
        if self.interactions is not None:
            given = listed("interactions", self.interactions, "the columns that may be in a pair")
            alone = np.ones(n_attributes + 1, dtype=bool)
            alone[[node_index("interactions", node, task.names, task.columns) for node in given]] = False
            if not alone[-1]:
                raise OptionError("interactions names the class, which is in no pair.", hint="leave the class out.")
            allowed[alone[:-1]] = allowed[:, alone[:-1]] = False
        for i, j in self._pairs("forbidden_pairs", self.forbidden_pairs, task):
            allowed[i, j] = allowed[j, i] = False
        if self.pairs is None:
            return allowed
        taken = np.zeros_like(allowed)
        for i, j in self._pairs("pairs", self.pairs, task):
            if not allowed[i, j]:
                names = f"{task.names[i]!r}, {task.names[j]!r}"
                raise OptionError(f"the pair {names} is to be taken, and forbidden_pairs or interactions exclude it.")
            taken[i, j] = taken[j, i] = True
        return taken

    def _pairs(self, option: str, pairs: Edges, task: StructureTask) -> IndexEdges:
        found = task.edges(option, pairs)
        refuse_class_edges(option, found, task.names, "leave the class out.")
        return found

    def rank(self, counts: CountStore, allowed: Mask | None = None) -> Pairs:
        """The best pairs by these counts, at most as many as any choice of `pairs_per_attribute` may take.

        `allowed` (n, n) says which may be taken, any if None. Of very many attributes only the MAX_PAIRED that tell
        most about the class are paired.
        """
        n_attributes = counts.n_attributes
        if str(self.rank_by) not in RANKINGS:
            raise unknown_option("rank_by", self.rank_by, RANKINGS)
        most = max(self.numbers(n_attributes))
        if n_attributes < 2:
            return ()
        alone = level(class_information(counts), SMALLEST_INFORMATION)
        if n_attributes > MAX_PAIRED:
            paired = np.arange(n_attributes) if allowed is None else np.flatnonzero(allowed.any(axis=0))
            strongest = np.sort(paired[np.argsort(-alone[paired], kind="stable")[:MAX_PAIRED]]).tolist()
            among = None if allowed is None else allowed[np.ix_(strongest, strongest)]
            found = self._rank(counts.of_attributes(strongest), alone[strongest], most, among)
            return tuple((strongest[parent], strongest[child]) for parent, child in found)
        return self._rank(counts, alone, most, allowed)

    def _rank(self, counts: CountStore, alone: NDArray[np.float64], most: int, allowed: Mask | None) -> Pairs:
        """The best pairs of these attributes; `alone` is what each tells about the class."""
        first, second = np.triu_indices(counts.n_attributes, k=1)
        states = np.array(counts.n_states[:-1])
        several = (states[first] > 1) & (states[second] > 1)
        if self.pairs is None:
            rows = float(counts.flat((counts.n_attributes,)).sum())
            several &= states[first] * states[second] <= max(FEW_CELLS, rows)
        if allowed is not None:
            several &= allowed[first, second]
        orders = [_best_first(values[first, second], several) for values in self._values(counts)]
        best = np.array(
            list(islice(dict.fromkeys(chain.from_iterable(zip(*orders, strict=True))), most)), dtype=np.intp
        )
        return tuple(
            (i, j) if alone[i] >= alone[j] else (j, i)
            for i, j in zip(first[best].tolist(), second[best].tolist(), strict=True)
        )

    def _values(self, counts: CountStore) -> list[NDArray[np.float64]]:
        """(n, n) what makes a pair good, by one measure or several."""
        if self.rank_by == "fcll":
            rows = float(counts.flat((counts.n_attributes,)).sum())
            return [FamilyTerms(counts, FCLL()).edge_gains() / rows]  # the same for both directions
        found = pair_information(counts.pairs())
        return [found.interaction] if self.rank_by == "interaction" else [found.interaction, found.conditional]

    def numbers(self, n_attributes: int) -> tuple[int, ...]:
        """The numbers of pairs to choose from, ascending."""
        given, n_attributes = self.pairs_per_attribute, min(n_attributes, MAX_PAIRED)
        if self.order not in ORDERS:
            raise OptionError(f"order={self.order!r} must be 1, 2, 3 or None.")
        if self.order == 1:
            return (0,)
        if self.pairs is not None:
            return (len(list(self.pairs)),)
        if given == "auto":
            all_pairs = n_attributes * (n_attributes - 1) // 2
            return tuple(min(multiple * n_attributes, all_pairs) for multiple in AUTO_MULTIPLES)
        if isinstance(given, str) or not 0 <= given < np.inf:
            raise OptionError(f"pairs_per_attribute={given!r} must be 'auto' or a number from 0.")
        return (round(given * n_attributes),)


def _best_first(values: NDArray[np.float64], several: NDArray[np.bool_]) -> list[int]:
    """Positions of the pairs whose attributes have several states, the largest value first; of equal ones the first.

    Taking off the mean by chance, (r - 1)(q - 1)(s - 1) / 2N of the interaction, was no better on 42 benchmark sets.
    """
    order = np.argsort(-level(values, SMALLEST_INFORMATION), kind="stable")
    return order[several[order]].tolist()


def _read_directions(constraints: MonotonicConstraints | None, task: StructureTask) -> tuple[int, ...]:
    """Of each attribute 1, -1 or 0 for the log odds of the second class; none where nothing is constrained."""
    if constraints is None:
        return ()
    directions = [0] * task.counts.n_attributes
    for node, value in _items(constraints, len(directions)):
        index = node_index("monotonic_cst", node, task.names, task.columns)
        name = task.names[index]
        if index == len(directions):
            raise OptionError(f"monotonic_cst names {name!r}, which is the class.", hint="name attributes.")
        if isinstance(value, bool | np.bool_) or value not in DIRECTIONS:
            raise OptionError(
                f"monotonic_cst of {name!r} is {value!r}; expected 1 (rising), -1 (falling) or 0 (either)."
            )
        directions[index] = int(value)
        if directions[index] and not task.schema[index].has_order:
            raise OptionError(
                f"monotonic_cst constrains {name!r}, whose categories have no order.",
                hint="give it numbers, or categories with an order: pandas.Categorical(..., ordered=True).",
            )
    if not any(directions):
        return ()
    n_classes = task.counts.n_states[-1]
    if n_classes != 2:
        raise OptionError(
            f"monotonic_cst is about the log odds of two classes, and {task.names[-1]!r} has {n_classes}.",
            hint="leave it out, or learn a model of one class against the others.",
        )
    return tuple(directions)


def _items(constraints: MonotonicConstraints, n_attributes: int) -> Sequence[tuple[Node, Any]]:
    """The constraint of each column that is named; an array has one for each, in the order of the table."""
    if isinstance(constraints, Mapping):
        return list(constraints.items())
    values = np.asarray(constraints)
    if isinstance(constraints, str) or values.shape != (n_attributes,):
        given = repr(constraints) if values.ndim != 1 else f"{len(values)} numbers"
        raise OptionError(
            f"monotonic_cst is {given}; expected a dict of names, or a number for each of {n_attributes} attributes."
        )
    return list(enumerate(values.tolist()))
