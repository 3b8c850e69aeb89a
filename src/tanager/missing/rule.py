"""MissingRule: the rule of a classifier for unknown cells, and the rules by which a term counts with its mean.

A *missing* cell of a column that has missing cells in training is a state of its own, which the model has learnt. Every
other cell without a state is *unknown*: missing in a column that was complete in training, of a category never seen, or
left open by a query. Its code is the number of states, and the rule defines P(class | known cells).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array, ClassCodes, Codes, Flags
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.runtime import PicklesFields

SMALLEST = 1e-300  # what an average of logarithms takes a probability of zero for


@dataclass(frozen=True)
class Contributions:
    """What adds up to the log odds of each row, in nats.

    prior      (n_rows,) of the class itself
    terms      (n_rows, n_terms) of each of the network's `terms`
    remainder  (n_rows,) what the rule adds to rows with unknown cells beyond the terms
    """

    prior: Array
    terms: Array
    remainder: Array

    @classmethod
    def of(cls, odds: Array) -> Self:
        """From (n_rows, n_terms + 1) log odds, those of the class itself last."""
        return cls(odds[:, -1], odds[:, :-1], np.zeros(len(odds)))

    @classmethod
    def between(cls, addends: Iterable[Array], favoured: ClassCodes, against: ClassCodes) -> Self:
        """From what each term adds to the log joint, (n_rows, n_classes) each; the class itself comes last."""
        return cls.of(np.column_stack([between(addend, favoured, against) for addend in addends]))


@dataclass(frozen=True)
class MissingRule(PicklesFields, ABC):
    """P(class | known cells) of a model, for any unknown cells; for a complete row it is the model's own P.

    name        how an unknown cell is treated, in the words of an explanation
    sentence    the same for the page
    rest        the name of `Contributions.remainder`; None for a rule without one
    """

    name: ClassVar[str]
    sentence: ClassVar[str]
    rest: ClassVar[str | None] = None

    network: AnyModel

    @abstractmethod
    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """log P(class | known cells), (n_rows, n_classes); not `normalized`, but for a number of the row."""

    def contributions(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, log_odds: Array) -> Contributions:
        """What adds up to the log odds of one class against another, which are those of `log_posterior`."""
        raise OptionError(
            "the classifier is a mean of networks, whose log odds are no sum of parts.",
            hint="explain(clf) gives the strength of each attribute; structure='tan' learns one network.",
        )

    def completed(self, codes: Codes) -> Codes | None:
        """(n_rows * draws, n_attributes) coarse codes: each row with imputed values in its unknown cells.

        None for a rule without imputation.
        """
        return None

    def constants(self) -> dict[str, Any]:
        """The lists and arrays that another program needs, besides the model, to apply the rule."""
        return {}

    def has_unknown(self, codes: Codes) -> Flags:
        """(n_rows,) whether a cell is unknown."""
        unknown: Flags = (codes == np.array(self.network.n_states[:-1])).any(axis=1)
        return unknown


def between(logs: Array, favoured: ClassCodes, against: ClassCodes) -> Array:
    """(n_rows,) log odds of one class against another, from (n_rows, n_classes)."""
    rows = np.arange(len(logs))
    odds: Array = logs[rows, favoured] - logs[rows, against]
    return odds


def answer_apart(
    codes: Codes, hard: Flags, easily: Callable[[Codes], Array], otherwise: Callable[[Codes], Array]
) -> Array:
    """(n_rows, n_classes) log posteriors of all rows; another function computes the rows marked as `hard`."""
    if not hard.any():
        return easily(codes)
    if hard.all():
        return otherwise(codes)
    easy_answers = easily(codes[~hard])
    result = np.empty((len(codes), easy_answers.shape[1]))
    result[~hard], result[hard] = easy_answers, otherwise(codes[hard])
    return result


@dataclass(frozen=True)
class Skipped(MissingRule):
    """The log joint without the terms of families that have an unknown cell (Roos et al. 2005, section 5.4).

    The terms are centred first, so that for each class their mean over the cells x of the family is zero (eq. 22):
    sum_x P(x) (log P(child | parents, c) - m_c) = 0. The sum of all m_c goes to the class, so a complete row keeps its
    log joint, and leaving out a centred term means putting m_c in its place. P(x) is the network's own, `exact` or,
    where that would take much memory, estimated.
    """

    name: ClassVar[str] = "left out"
    sentence: ClassVar[str] = "A part with an attribute that is not given counts with its mean."

    network: Network
    exact: bool = True

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """Not `normalized`: the sum of the terms."""

        def add_terms(rows: Codes) -> Array:
            summed = np.zeros((len(rows), self.network.n_states[-1]))
            for addend in self._addends(rows):
                summed += addend
            return normalize_log(summed) if normalized else summed

        return answer_apart(
            codes, self.has_unknown(codes), lambda rows: self.network.log_joint(rows, normalized), add_terms
        )

    def contributions(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, log_odds: Array) -> Contributions:
        return Contributions.between(self._addends(codes), favoured, against)

    def constants(self) -> dict[str, Any]:
        return {"means": self.means}

    @cached_property
    def means(self) -> Array:
        """(n_nodes, n_classes) what a family with an unknown cell adds instead: m_c."""
        network, target = self.network, len(self.network.nodes) - 1
        joints = network.family_joints(self.exact)
        means = np.empty((len(network.nodes), network.n_states[-1]))
        for family, table, joint in zip(network.dag.families, network.tables, joints, strict=True):
            probability, weight = (_by_class(values, family, network.n_states) for values in (table, joint))
            if target in family.nodes:
                weight = weight.sum(axis=1, keepdims=True)
            means[family.child] = (weight * np.log(np.maximum(probability, SMALLEST))).sum(axis=0)
        return means

    def _addends(self, codes: Codes) -> Iterator[Array]:
        """(n_rows, n_classes) what each family adds to the log joint of each class: its cell's term, or the mean."""
        present = codes < np.array(self.network.n_states[:-1])
        for family in self.network.dag.families:
            whole = present[:, [node for node in family.nodes if node < codes.shape[1]]].all(axis=1)
            addend = np.empty((len(codes), self.network.n_states[-1]))
            addend[whole] = self.network.log_joint.family(family.child, codes[whole])
            if not whole.all():
                addend[~whole] = self.means[family.child]
            yield addend


@dataclass(frozen=True)
class Expected(MissingRule):
    """The sum of effects, where an unknown cell has an entry in each: its mean, in a pair given the partner.

    The terms are the effects, and the prior is the intercept.
    """

    name: ClassVar[str] = "expected effect"
    sentence: ClassVar[str] = "An attribute that is not given counts with its expected effect."

    network: AdditiveModel

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        return self.network.log_joint(codes, normalized)

    def contributions(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, log_odds: Array) -> Contributions:
        intercept = np.broadcast_to(self.network.intercept, (len(codes), len(self.network.intercept)))
        return Contributions.between([*self.network.effects(codes), intercept], favoured, against)


def _by_class(values: Array, family: Family, n_states: tuple[int, ...]) -> Array:
    """(cells of the family's attributes, classes, or 1 for a family without the class)."""
    if family.child == len(n_states) - 1:
        return values
    by_class = values.reshape(family.class_shape(n_states)).swapaxes(1, 2)
    return by_class.reshape(-1, by_class.shape[2])
