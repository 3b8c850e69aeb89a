"""Base rate and baseline: the log odds that a model begins with, before it looks at a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AnyModel
from tanager.classifiers.base import TableClassifier
from tanager.explain.cells import Model, network_of


def log_base_rates(model: Model) -> NDArray[np.float64]:
    """(n_classes,) log of the share of each class among the training rows; of a network alone, of its own P(class).

    A class without rows counts as half a row, so that log odds are finite.
    """
    if isinstance(model, TableClassifier):
        shares = np.where(model.class_count_ > 0, model.class_count_, 0.5)
    else:
        network = network_of(model)
        shares = np.array(list(network.query(network.nodes[-1]).values()))
        shares = np.maximum(shares, np.finfo(float).tiny)
    return np.log(shares / shares.sum())


def baseline_words(network: AnyModel) -> str:
    """What a model adds to the base rate before it looks at the attributes below the class."""
    if network.kind == "effects":
        return "an average row"
    return f"{'ancestors' if network.dag.parents[-1] else 'table'} of {network.nodes[-1]}"
