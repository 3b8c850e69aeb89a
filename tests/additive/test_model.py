"""AdditiveModel: what it answers, what it refuses, and that its parts fit together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier
from tanager.additive.model import AdditiveModel
from tanager.errors import DataError, OptionError


@pytest.fixture(scope="module")
def fitted() -> tuple[AdditiveClassifier, pd.DataFrame]:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"x": rng.normal(size=300), "sort": rng.choice(["a", "b"], 300), "size": rng.integers(0, 9, 300)})
    y = pd.Series(np.where((X["x"] > 0) ^ (X["sort"] == "a") ^ (rng.random(300) < 0.1), "yes", "no"), name="answer")
    return AdditiveClassifier(pairs=[(0, 1), (0, 2), (1, 2)]).fit(X, y), X


def test_a_pair_may_be_asked_for_either_way_round(fitted):
    network = fitted[0].model_
    parent, child = (network.nodes[node] for node in network.pairs[0])
    np.testing.assert_array_equal(network.pair(parent, child), network.pair(child, parent).swapaxes(0, 1))


def test_a_coarse_state_is_refined_to_a_fine_state_inside_of_it(fitted):
    network = fitted[0].model_
    coarse = np.array([[0, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(network.coarsen(network.refine(coarse)), coarse)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda network: network.query("x"), "the class 'answer' only"),
        (lambda network: network.query("answer", {"colour": 1}), "no node 'colour'"),
        (lambda network: network.query("answer", {"answer": "yes"}), "is the class"),
        (lambda network: network.pair("x", "x"), "no effect of the pair"),
    ],
)
def test_what_it_does_not_know_is_refused_by_name(fitted, ask, message):
    with pytest.raises(OptionError, match=message):
        ask(fitted[0].model_)


def test_effects_that_do_not_fit_the_states_are_refused_by_name(fitted):
    network: AdditiveModel = fitted[0].model_
    with pytest.raises(DataError, match="main effect of 'x' has shape"):
        replace(network, mains=(network.mains[0][:-1], *network.mains[1:]))
    with pytest.raises(DataError, match="intercept holds a value that is not a finite number"):
        replace(network, intercept=np.array([0.0, np.nan]))
