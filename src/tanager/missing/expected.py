"""Expected: a missing cell counts with its expected effect, an entry that an additive model has learnt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tanager.additive.model import AdditiveModel
from tanager.arrays import Array, Codes
from tanager.missing.rule import Classes, Contributions, GapRule
from tanager.network.log_joint import normalize_log


@dataclass(frozen=True)
class Expected(GapRule):
    """The sum of effects, where a missing cell has an entry in each: its mean, in a pair given the partner.

    The terms are the effects, and the prior is the intercept.
    """

    name: ClassVar[str] = "expected effect"
    sentence: ClassVar[str] = "An unknown attribute counts with its expected effect."

    network: AdditiveModel

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        return self.network.log_joint(codes, normalized)

    def contributions(self, codes: Codes, favoured: Classes, against: Classes, log_odds: Array) -> Contributions:
        intercept = np.broadcast_to(self.network.intercept, (len(codes), len(self.network.intercept)))
        return Contributions.between([*self.network.effects(codes), intercept], favoured, against)

    def without_each(self, codes: Codes) -> Iterator[Array]:
        """Without a term means that its effect is zero."""
        sums = self.network.log_joint(codes)
        for effect in self.network.effects(codes):
            yield normalize_log(sums - effect)
