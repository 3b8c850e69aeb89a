"""Revision: edits that were applied to a model, and what it was before them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from tanager.additive.model import AdditiveModel
from tanager.edits.edit import Edits
from tanager.metrics import Quality
from tanager.missing.rule import GapRule
from tanager.uncertainty.any_posterior import AnyPosterior


@dataclass(frozen=True)
class Revision:
    """Edits, and what the model was before them: network, rule about gaps, quality, posterior.

    `refitted` says that the intercept was fitted again too.
    """

    edits: Edits
    network: AdditiveModel
    gaps: GapRule
    quality: Quality | None
    posterior: AnyPosterior | None = None
    refitted: bool = False

    def __str__(self) -> str:
        return f"{self.edits}\nThe intercept was fitted again." if self.refitted else str(self.edits)


def model_digest(network: AdditiveModel) -> str:
    """SHA-256 of the columns and effects of a network: by it edits know their model."""
    digest = hashlib.sha256(repr([(column.name, column.states) for column in network.columns]).encode())
    digest.update(repr(network.pairs).encode())
    for array in (network.intercept, *network.mains, *network.tables):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    if (forest := network.forest) is not None:
        for tree_array in (forest.roots, forest.of_class, forest.attributes, forest.ends, forest.left, forest.values):
            digest.update(np.ascontiguousarray(tree_array, dtype="<f8").tobytes())
    return digest.hexdigest()
