"""What a classifier loses on rows given when a term is taken from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.classifiers.hidden import add_hidden_codes
from tanager.errors import DataError, OptionError
from tanager.explain.cells import Model, network_of

Floats = NDArray[np.float64]

BLOCK_ROWS = 4_096  # a rule may complete each of them many times


def removal(model: Model, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> Floats:
    """(n_terms,) mean of log P(class | row) less the same without a term, for every term.

    Without an attribute means that it is missing in all rows; without an effect, that it is zero.
    """
    if not isinstance(model, BayesianNetworkClassifier):
        raise OptionError(
            "removal of attributes is measured for classifiers; got a network alone.",
            hint="leave X and y out.",
        )
    if X is None:
        raise DataError("explain was given y without X.", hint="explain(model, X, y).")
    network = network_of(model)
    labelled = model.read_labelled(X, y, sample_weight)
    codes = add_hidden_codes(model.encoder_.encode(labelled.table), network.n_states)
    weights = np.ones(len(codes)) if labelled.weights is None else labelled.weights
    lost = np.zeros(len(network.terms))
    for first in range(0, len(codes), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        true_class = np.arange(len(codes[rows])), labelled.class_codes[rows]
        whole = model.gaps_.log_posterior(codes[rows])[true_class]
        for term, logs in enumerate(model.gaps_.without_each(codes[rows])):
            lost[term] += weights[rows] @ (whole - logs[true_class])
    return lost / weights.sum()
