"""Explanations follow what the model does about missing cells."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from random_networks import joint
from tanager import BayesianNetworkClassifier, Network, TANClassifier, explain

IRIS = load_iris(as_frame=True)


def with_gaps(share: float = 0.3) -> pd.DataFrame:
    return IRIS.data.mask(np.random.default_rng(0).random(IRIS.data.shape) < share)


def means_by_hand(network: Network, child: int) -> dict[int, float]:
    """For each class the mean of log P(child | parents, c) over the joint distribution of the family's attributes."""
    target, cells = len(network.nodes) - 1, joint(network)
    means = {}
    for c in range(network.n_states[target]):
        means[c] = 0.0
        for state, p in cells.items():
            configuration = 0
            for parent in network.dag.parents[child]:
                code = c if parent == target else state[parent]
                configuration = configuration * network.n_states[parent] + code
            means[c] += p * math.log(network.tables[child][configuration, c if child == target else state[child]])
    return means


@pytest.mark.parametrize(
    ("parameters", "missing", "words"), [("frequency", "skip", "left out"), ("conditional", "average", "averaged over")]
)
@pytest.mark.parametrize("structure", ["naive-bayes", "tan", "kdb"])
def test_a_family_with_a_gap_adds_its_mean_and_averaging_a_remainder(structure, parameters, missing, words):
    X = with_gaps()
    clf = BayesianNetworkClassifier(structure, parameters=parameters, missing=missing).fit(IRIS.data, IRIS.target)
    found, gappy = explain(clf, X), X.isna().any(axis=1).to_numpy()
    for node, family in enumerate(clf.network_.dag.families[:-1]):
        means = means_by_hand(clf.network_, node)
        attributes = [parent for parent in family.nodes if parent != 4]
        for row in np.flatnonzero(X.iloc[:, attributes].isna().any(axis=1))[:20]:
            expected = means[found.favoured[row]] - means[found.against[row]]
            assert found.contributions[row, node] == pytest.approx(expected, abs=1e-10)
    assert (np.abs(found.remainder[gappy]) > 1e-6).any() == (missing == "average")
    text = str(found[int(gappy.argmax())])
    assert f"unknown, {words}" in text
    assert ("unknown cells: averaged over" in text) == (missing == "average")


def test_an_impossible_cell_leaves_no_remainder():
    """A cell present that a class cannot have makes the odds infinite in every draw, so nothing is left to say."""
    X = pd.DataFrame({"a": ["u", "v"] * 20, "b": ["s", "t", "t", "s"] * 10})
    clf = BayesianNetworkClassifier("naive-bayes", missing="average").fit(X, X["a"])
    table = np.array([[1.0, 0.0], [0.0, 1.0]])
    network = replace(clf.network_, tables=(table, *clf.network_.tables[1:]))
    clf.missing_rule_ = replace(clf.missing_rule_, network=network)
    found = explain(clf, pd.DataFrame({"a": ["u"], "b": [None]}))
    assert found.log_odds[0] == found.contributions[0, 0] == math.inf
    assert found.remainder[0] == 0


def test_a_complete_row_is_explained_by_its_tables_whatever_is_done_about_missing_values():
    one, *others = (
        explain(TANClassifier(parameters="frequency", missing=missing).fit(IRIS.data, IRIS.target), IRIS.data)
        for missing in ("marginalize", "average", "skip")
    )
    for other in others:
        np.testing.assert_allclose(one.contributions, other.contributions, atol=1e-12)
