"""MissingRule: the rule of a classifier for unknown cells; predictions and explanations use it.

A *missing* cell of a column that has missing cells in training is a state of its own, which the model has learnt. Every
other cell without a state is *unknown*: missing in a column that was complete in training, of a category never seen, or
left open by a query. Its code is the number of states, and the rule defines P(class | known cells).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tanager.additive.model import AnyModel
from tanager.arrays import Array, ClassCodes, Codes, Flags
from tanager.runtime import PicklesFields


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

    @abstractmethod
    def contributions(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, log_odds: Array) -> Contributions:
        """What adds up to the log odds of one class against another, which are those of `log_posterior`."""

    def without_each(self, codes: Codes) -> Iterator[Array]:
        """log P(class | row) without each of the network's `terms`: here without an attribute, unknown in all rows."""
        left = codes.copy(order="F")
        for attribute, n_states in enumerate(self.network.n_states[:-1]):
            left[:, attribute] = n_states
            yield self.log_posterior(left)
            left[:, attribute] = codes[:, attribute]

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
