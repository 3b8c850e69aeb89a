"""Sufficient reasons: few attributes that fix the class, whatever the others are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.errors import OptionError
from tanager.explain.cells import ExplainedRows, Model, in_state
from tanager.explain.effect_bound import EffectBound
from tanager.explain.worst_case import Forest, Sets

# Sets of attributes looked at for one row before a smallest one is given up for one that cannot be reduced.
SETS_SEARCHED = 1 << 17
SETS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class SufficientReason:
    """Attributes of a row that fix its class: whatever states all the others take, the class stays the predicted one.

    row           its number in the table
    target        the name of the class column
    predicted     the class
    attributes    the reason: each attribute with its state, the one that matters most first
    n_attributes  of the network
    smallest      no set of fewer attributes does; otherwise it is only known that none of these can be left out,
                  and with effects of pairs not even that
    """

    row: int
    target: str
    predicted: str
    attributes: tuple[tuple[str, str], ...]
    n_attributes: int
    smallest: bool

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "row": self.row,
            "target": self.target,
            "predicted": self.predicted,
            "smallest": self.smallest,
            "attributes": dict(self.attributes),
        }

    def __str__(self) -> str:
        others = self.n_attributes - len(self.attributes)
        whatever = f"whatever the {'' if others == self.n_attributes else 'other '}{others} attributes are"
        reason = " and ".join(in_state(*each) for each in self.attributes)
        return f"row {self.row}: {self.target} is {self.predicted}{f' because {reason},' if reason else ','} {whatever}"


def sufficient_reason(model: Model, X: object) -> tuple[SufficientReason, ...]:
    """For every row a smallest set of attributes that already fixes the predicted class.

    A set is sufficient when the predicted class beats each other class in the completion of the row that is worst for
    it. In a naive Bayes model of two classes the set is exact: take the attributes by how much they save over their
    worst state, the largest first, until the worst completion still favours the class (Marques-Silva et al. 2020). For
    more classes and for trees (one attribute parent each) a set is built greedily and reduced until nothing can be
    left out; then all smaller sets are searched, as long as they are not too many, and `smallest` says whether one may
    have been missed. The worst completion itself is exact in all these cases. Other structures of tables are refused.

    An additive model without pairs is like naive Bayes. With pairs the worst completion is bounded from below: the
    set found does fix the class, but a smaller one may too.

    A missing or unseen cell takes no part: it stays summed out. In a tree this is exact only for an attribute on
    which nothing present depends, and refused otherwise, as is any gap of a model that does not sum it out.

    >>> from tanager import NaiveBayesClassifier
    >>> X = [["sunny", "hot"], ["rainy", "mild"], ["sunny", "mild"], ["rainy", "hot"]]
    >>> clf = NaiveBayesClassifier().fit(X, ["out", "in", "out", "in"])
    >>> print(sufficient_reason(clf, [["sunny", "hot"]])[0])
    row 0: class is out because x0 = sunny, whatever the other 1 attributes are
    """
    cells = ExplainedRows.read(model, X)
    return tuple(_reason(cells, row) for row in range(len(cells.codes)))


def _reason(cells: ExplainedRows, row: int) -> SufficientReason:
    network = cells.network
    missing = np.flatnonzero(~cells.present[row])
    if len(missing) and not cells.rule.drops_gaps:
        raise OptionError(
            f"row {row} has a missing cell, {network.nodes[missing[0]]!r} ({cells.rule.name}); what then is enough to "
            "decide is not known.",
            hint="fill the cell, or fit tables with missing='marginalize'.",
        )
    if network.kind == "mixtures" or network.kind == "trees":
        raise OptionError(
            "a reason that is enough is found for one network; this classifier is a mean of several.",
            hint="explain(clf, X) says what each attribute adds; structure='tan' learns one network.",
        )
    predicted = int(cells.log_posterior[row].argmax())
    completions = EffectBound(network) if network.kind == "effects" else Forest.of(network, missing.tolist())
    chosen, smallest = _Search(completions, cells.codes[row].tolist(), predicted).find()
    return SufficientReason(
        row,
        network.nodes[-1],
        str(network.columns[-1].states[predicted]),
        tuple((network.nodes[node], str(network.columns[node].states[cells.codes[row, node]])) for node in chosen),
        len(network.nodes) - 1,
        smallest,
    )


@dataclass(frozen=True)
class _Search:
    """The sets of attributes of one row that fix its class."""

    completions: Forest | EffectBound
    codes: Sequence[int]
    predicted: int

    @cached_property
    def _rivals(self) -> list[int]:
        n_classes = self.completions.network.n_states[-1]
        return [rival for rival in range(n_classes) if rival != self.predicted]

    @cached_property
    def _priors(self) -> list[float]:
        logs = self.completions.log_prior
        return [float(logs[self.predicted] - logs[rival]) for rival in self._rivals]

    @cached_property
    def _weights(self) -> list[dict[int, Array]]:
        return [self.completions.weights(self.predicted, rival) for rival in self._rivals]

    def margins(self, fixed: Sets) -> Array:
        """(n_rivals, n_sets) log odds against each rival in the worst completion."""
        worst = [self.completions.worst(weights, self.codes, fixed) for weights in self._weights]
        return np.array(self._priors)[:, np.newaxis] + np.array(worst)

    def sufficient(self, fixed: Sets) -> NDArray[np.bool_]:
        """(n_sets,) whether the class stays; of equally probable classes the first is predicted."""
        margins = self.margins(fixed)
        wins = [
            margin >= 0 if self.predicted < rival else margin > 0
            for rival, margin in zip(self._rivals, margins, strict=True)
        ]
        # All attributes fixed is the row itself, whose class is known: not to be undone by rounding.
        full = fixed[:, self.completions.order].all(axis=1)
        stays: NDArray[np.bool_] = np.all(wins, axis=0) | full
        return stays

    def find(self) -> tuple[list[int], bool]:
        """A sufficient set, the most useful attribute first, and whether it is known to be a smallest one."""
        if not self.completions.linked and len(self._rivals) == 1:
            return self._largest_savings(0), True
        chosen = self._reduce(self._greedy())
        if not self.completions.exact:  # a set that the bound turns down may be sufficient
            return chosen, not chosen
        needed = self._needed()
        at_least = len(needed)
        if not self.completions.linked:  # each rival alone asks for as many as its largest savings
            at_least = max(at_least, *(len(self._largest_savings(rival)) for rival in range(len(self._rivals))))
        others = [node for node in self.completions.order if node not in needed]
        looked_at = 0
        for size in range(at_least, len(chosen)):
            n_more = size - len(needed)
            looked_at += comb(len(others), n_more)
            if looked_at > SETS_SEARCHED:
                return chosen, False
            for block in self._blocks(needed, others, n_more):
                found = self.sufficient(block)
                if found.any():
                    fixed = set(np.flatnonzero(block[int(found.argmax())]).tolist())
                    return self._ordered(fixed), True
        return chosen, True

    def _largest_savings(self, rival: int) -> list[int]:
        """A smallest set against one rival, when attributes are independent given the class."""
        weights = self._weights[rival]
        saved = {node: weights[node][0, self.codes[node]] - weights[node][0].min() for node in self.completions.order}
        order = sorted(self.completions.order, key=lambda node: -saved[node])
        nested = np.array([self._set(order[:size]) for size in range(len(order) + 1)])
        margin = self._priors[rival] + self.completions.worst(weights, self.codes, nested)
        enough = margin >= 0 if self.predicted < self._rivals[rival] else margin > 0
        enough[-1] = True
        return order[: int(enough.argmax())]

    def _greedy(self) -> list[int]:
        """Fix the attribute that leaves the least shortage, summed over the rivals, until the class stays."""
        chosen: list[int] = []
        left = list(self.completions.order)
        while not self.sufficient(self._set(chosen)[np.newaxis])[0]:
            candidates = np.array([self._set([*chosen, node]) for node in left])
            shortage = np.maximum(0.0, -self.margins(candidates)).sum(axis=0)
            chosen.append(left.pop(int(shortage.argmin())))
        return chosen

    def _reduce(self, chosen: list[int]) -> list[int]:
        """Leave out what is not needed, the last chosen first."""
        kept = list(chosen)
        for node in reversed(chosen):
            fewer = [other for other in kept if other != node]
            if self.sufficient(self._set(fewer)[np.newaxis])[0]:
                kept = fewer
        return kept

    def _needed(self) -> set[int]:
        """The attributes of every sufficient set: without one of these, all the others do not suffice."""
        order = self.completions.order
        if not order:
            return set()
        without = np.array([self._set([other for other in order if other != node]) for node in order])
        return {node for node, enough in zip(order, self.sufficient(without), strict=True) if not enough}

    def _ordered(self, fixed: set[int]) -> list[int]:
        """The attributes of a set, the one that hurts most when left out first."""
        nodes = sorted(fixed)
        without = np.array([self._set([other for other in nodes if other != node]) for node in nodes])
        return [nodes[k] for k in np.argsort(self.margins(without).min(axis=0), kind="stable")]

    def _blocks(self, needed: set[int], others: Sequence[int], n_more: int) -> Iterator[Sets]:
        sets = combinations(others, n_more)
        while block := list(islice(sets, SETS_AT_ONCE)):
            fixed = np.zeros((len(block), len(self.codes)), dtype=bool)
            fixed[:, list(needed)] = True
            fixed[np.arange(len(block))[:, np.newaxis], np.array(block, dtype=int).reshape(len(block), n_more)] = True
            yield fixed

    def _set(self, nodes: Sequence[int]) -> Sets:
        fixed = np.zeros(len(self.codes), dtype=bool)
        fixed[list(nodes)] = True
        return fixed
