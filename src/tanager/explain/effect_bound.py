"""A bound on the worst completion of a partly fixed row in an additive model; exact without pairs and trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.additive.model import AdditiveModel
from tanager.arrays import Array
from tanager.explain.worst_case import Sets


@dataclass(frozen=True)
class EffectBound:
    """As `Forest`, of main and pair effects in place of tables."""

    network: AdditiveModel

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(range(len(self.network.mains)))

    @property
    def linked(self) -> bool:
        """Whether there are pairs or trees."""
        return bool(self.network.pairs) or self.network.forest is not None

    @property
    def exact(self) -> bool:
        """Whether `worst` is the least sum itself."""
        return not self.linked

    @property
    def log_prior(self) -> Array:
        return self.network.intercept

    def weights(self, favoured: int, against: int) -> dict[int, Array]:
        """Effect on the favoured class less that on the other.

        By attribute (1, states) of the main effects; by n_attributes + k (coarse states, coarse states) of pair k; last
        (leaves,) of the forest.
        """
        effects = [main[np.newaxis, :-1] for main in self.network.mains]
        effects += [table[:-1, :-1] for table in self.network.tables]
        weights = {key: effect[..., favoured] - effect[..., against] for key, effect in enumerate(effects)}
        if self.network.forest is not None:
            weights[len(weights)] = self.network.forest.odds(favoured, against)
        return weights

    def worst(self, weights: dict[int, Array], codes: Sequence[int], fixed: Sets) -> Array:
        """(n_sets,) no more than the least sum of weights over all completions, with each set fixed at `codes`.

        A free attribute takes the state that is worst for its main effect and its pairs with fixed attributes
        together. A pair of two free attributes takes its own worst cell, and a tree the worst leaf that the fixed ones
        leave open, whatever those states are: so it is a bound.
        """
        columns, n_attributes = self.network.columns, len(self.network.mains)
        coarse = [int(column.coarse_codes[code]) for column, code in zip(columns[:-1], codes, strict=True)]
        effects = [np.repeat(weights[attribute], len(fixed), axis=0) for attribute in range(n_attributes)]
        total = np.zeros(len(fixed))
        for key, (parent, child) in enumerate(self.network.pairs, n_attributes):
            pair, first, second = weights[key], fixed[:, parent], fixed[:, child]
            total += np.where(first & second, pair[coarse[parent], coarse[child]], 0.0)
            total += np.where(first | second, 0.0, pair.min())
            effects[child] += np.outer(first & ~second, pair[coarse[parent]][columns[child].coarse_codes[:-1]])
            effects[parent] += np.outer(second & ~first, pair[:, coarse[child]][columns[parent].coarse_codes[:-1]])
        for attribute, sums in enumerate(effects):
            total += np.where(fixed[:, attribute], sums[:, codes[attribute]], sums.min(axis=1))
        if self.network.forest is not None:
            total += self.network.forest.least(weights[n_attributes + len(self.network.pairs)], codes, fixed)
        return total
