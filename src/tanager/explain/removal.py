"""What a classifier loses on rows given when a term is taken from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.classifiers.hidden import add_hidden_codes
from tanager.errors import DataError, OptionError
from tanager.explain.cells import AnyNetwork, Model, gap_of, network_of
from tanager.explain.effect_terms import effects_of_rows
from tanager.gaps.average import log_posterior_averaging
from tanager.gaps.skip import log_joint_skipping
from tanager.gaps.sum_out import log_joint_with_gaps
from tanager.network.additive import AdditiveNetwork
from tanager.network.log_joint import normalize_log
from tanager.table.batch import Codes
from tanager.table.training_table import read_rows

Floats = NDArray[np.float64]


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
    batch = model.count(X, y, sample_weight).rows  # which checks the columns, but has bins at their coarse granularity
    labelled = read_rows(X, y, sample_weight, model.classes_, unlabelled=True)
    encoded = model.encoder_.encode(labelled.table)

    def mean_log(logs: Floats) -> float:
        return float(np.average(logs[np.arange(len(logs)), batch.class_codes], weights=batch.weights))

    if isinstance(network, AdditiveNetwork):
        whole = mean_log(_log_posterior(model, network, encoded))
        return np.array([whole - mean_log(logs) for logs in _without_each_effect(model, network, encoded)])
    codes = add_hidden_codes(encoded, network.n_states).copy(order="F")
    whole = mean_log(_log_posterior(model, network, codes))
    lost = np.zeros(codes.shape[1])  # without a hidden node nothing is lost: no row has it
    for node in range(batch.n_attributes):
        column = codes[:, node].copy()
        codes[:, node] = network.n_states[node]
        lost[node] = whole - mean_log(_log_posterior(model, network, codes))
        codes[:, node] = column
    return lost


def _without_each_effect(model: BayesianNetworkClassifier, network: AdditiveNetwork, codes: Codes) -> Iterator[Floats]:
    """log P(class | row) without each main effect, then without each pair effect.

    Where a row has one sum, the effect is taken off it; only rows averaged over draws need another network.
    """
    averaged = np.zeros(len(codes), dtype=bool)
    if gap_of(model) == "averaged over":
        averaged = (codes == np.array(network.n_states[:-1])).any(axis=1)
    logs = np.empty((len(codes), network.n_states[-1]))
    sums = network.log_joint(codes[~averaged])
    for term, effect in enumerate(effects_of_rows(network, codes[~averaged])):
        logs[~averaged] = normalize_log(sums - effect)
        logs[averaged] = _log_posterior(model, _without_effect(network, term), codes[averaged])
        yield logs


def _without_effect(network: AdditiveNetwork, term: int) -> AdditiveNetwork:
    effects = [*network.mains, *network.tables]
    effects[term] = np.zeros_like(effects[term])
    n_mains = len(network.mains)
    return replace(network, mains=tuple(effects[:n_mains]), tables=tuple(effects[n_mains:]))


def _log_posterior(model: BayesianNetworkClassifier, network: AnyNetwork, codes: Codes) -> Floats:
    """log P(class | row) of codes of the network's attributes, with gaps as the model has them."""
    if gap_of(model) == "averaged over":
        return log_posterior_averaging(network, model.filler_, codes)
    if isinstance(network, AdditiveNetwork):
        return network.log_joint(codes, normalized=True)
    log_joint = log_joint_skipping if gap_of(model) == "left out" else log_joint_with_gaps
    return log_joint(network, codes, normalized=True)
