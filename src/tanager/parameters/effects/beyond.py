"""What three attributes and more say together: chosen on folds before the last fit, and added to it afterwards.

The fit of all rows has no say in the choice, so the trees of all rows can grow beside it; and effects that are a small
part of the model need not be fitted as closely as if they were the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tanager.additive.model import AdditiveModel
from tanager.parameters.effects.models import LEAST_SHARE
from tanager.parameters.effects.trees import ChosenTrees, choose_trees
from tanager.parameters.effects.triples import (
    JudgedFold,
    TripleChoice,
    add_triples,
    choose_triples,
    fold_with_triples,
)
from tanager.table.rows import Rows


@dataclass(frozen=True)
class Beyond:
    """Effects of three attributes and trees; where none of them gained, a network stays as it is."""

    triples: TripleChoice
    trees: ChosenTrees

    @property
    def share_of_effects(self) -> float:
        """What an error of the effects' log odds counts in the model."""
        return max(1.0 - self.trees.choice.share, LEAST_SHARE)

    def added_to(self, network: AdditiveModel, rows: Rows) -> AdditiveModel:
        """A network of all rows with them; the trees must have grown."""
        return self.trees.added_to(add_triples(network, self.triples, rows))


def choose_beyond(
    folds: Sequence[JudgedFold], more_folds: Callable[[float], Sequence[JudgedFold]], rows: Rows, order: int | None
) -> Beyond:
    """By what they gain on the rows held out.

    more_folds  makes further folds, given what share of the model the effects have beside trees on the first
    order       how many attributes an effect may have; None for any number
    """
    folds, triples = choose_triples(folds, rows)

    def more_with_triples(share: float) -> list[JudgedFold]:
        return [fold_with_triples(fold, triples) for fold in more_folds(share)]

    return Beyond(triples, choose_trees(folds, more_with_triples, rows, order))
