"""Models of effects on all rows and on folds of them, and their means by the models' shares."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.descent import Descent
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.centered import Centered, Effects, center_fit, mean_effects
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.models import LEAST_SHARE, Choice
from tanager.parameters.effects.prior import Found

Array = NDArray[np.float64]


class Model:
    """A choice on all rows: the fits on the folds; once it is fitted, its problem there, the descent and the effects.

    densities  of each attribute (states,) their shares of all rows
    """

    problem: Penalized | BlockProblem
    descent: Descent
    whole: Centered

    def __init__(self, choice: Choice, layout: EffectLayout, densities: tuple[Array, ...]) -> None:
        self.choice, self.layout, self._densities = choice, layout, densities
        self.folds = tuple(self.center(found) for found in choice.found)

    def center(self, found: Found) -> Centered:
        """A fit of this model on some rows."""
        return center_fit(*found, self._densities)

    def with_share(self, share: float) -> Model:
        model = copy(self)
        model.choice = replace(self.choice, share=share)
        return model


def with_say(models: Sequence[Model], share: float) -> list[Model]:
    """The leader, and those that have LEAST_SHARE of the whole if the effects have `share` of it, trees the rest."""
    largest = max(model.choice.share for model in models)
    kept = [model for model in models if model.choice.share == largest or share * model.choice.share >= LEAST_SHARE]
    total = sum(model.choice.share for model in kept)
    return [model.with_share(model.choice.share / total) for model in kept] if len(kept) < len(models) else [*models]


def mean_of_models(models: Sequence[Model], folded: float) -> Effects:
    """Of the models by their shares; `folded` is the share of their folds."""
    fits, shares = [], []
    for model in models:
        fits.append(model.whole)
        shares.append((1.0 - folded) * model.choice.share)
    for model in models if folded > 0.0 else ():
        fits += model.folds
        shares += [folded * model.choice.share / len(model.folds)] * len(model.folds)
    return mean_effects(fits, shares) if len(fits) > 1 else fits[0][0]


def means_of_folds(models: Sequence[Model]) -> list[Centered]:
    """Of the models on each fold."""
    return [mean_of(fits, models) for fits in zip(*(model.folds for model in models), strict=True)]


def mean_of(fits: Sequence[Centered], models: Sequence[Model]) -> Centered:
    """Of the models' fits on one fold; the first has all pairs."""
    return mean_effects(fits, [model.choice.share for model in models]), fits[0][1]


def spreads(folds: Sequence[Centered]) -> tuple[Array, ...]:
    """The standard deviation between folds of each main effect, (states, classes); none for a single fold."""
    if len(folds) < 2:
        return ()
    by_attribute = zip(*(effects.mains for effects, _ in folds), strict=True)
    return tuple(np.std([main[:-1] for main in mains], axis=0, ddof=1) for mains in by_attribute)
