"""What stays over fits to rows of random weights."""

from __future__ import annotations

import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from tanager import AdditiveClassifier, BayesianNetworkClassifier, OptionError, TANClassifier, stability
from tanager.classifiers.coded_table import code_table
from tanager.classifiers.intervals import read_training_rows
from tanager.evaluate.stability import _draw_weights

mpl.use("Agg")


def chained(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """b copies a nine times in ten; d is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    a = np.where(rng.random(n_rows) < 0.7, y, 1 - y)
    b = np.where(rng.random(n_rows) < 0.9, a, 1 - a)
    return pd.DataFrame({"a": a, "b": b, "d": rng.integers(2, size=n_rows)}).astype(str), y


def test_an_edge_that_the_rows_leave_no_doubt_about_is_in_every_fit():
    X, y = chained(300)
    found = stability(TANClassifier(criterion="ll", parameters="frequency"), X, y, n_draws=20)
    shares = dict(zip(found.links, found.frequency, strict=True))
    linked = {frozenset(link): 0.0 for link in shares}
    for link, share in shares.items():
        linked[frozenset(link)] += share
    assert linked[frozenset("ab")] == pytest.approx(1.0)
    # A tree of three attributes has two edges in every fit.
    assert sum(linked.values()) == pytest.approx(2.0)
    assert found.ranks.sum(axis=1) == pytest.approx(np.full(20, 6.0))
    assert found.attributes[found.order[0]] == "a"


def test_fits_are_those_of_the_classifier_to_the_weights_drawn():
    X, y = chained(80)
    clf = BayesianNetworkClassifier("hill-climb", "bic", "frequency").fit(X, y)
    found = stability(clf, X, y, n_draws=3, random_state=5)
    rng = np.random.default_rng(5)
    schema = clf.encoder_.schema
    rows = code_table(read_training_rows(clf, X, y, None), schema, schema.learning_order).rows
    for draw in range(3):
        weights = _draw_weights(rows, rng).weights
        assert weights.sum() == pytest.approx(80.0)
        again = BayesianNetworkClassifier("hill-climb", "bic", "frequency").fit(X, y, weights)
        np.testing.assert_allclose(found.importance[draw], again.feature_importances_, atol=1e-12)


def test_directions_ranks_and_pairs_of_effects():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(250, 3)), columns=["up", "down", "none"])
    y = (rng.random(250) < expit(2 * X["up"] - 1 * X["down"] + 3 * X["up"] * X["down"])).astype(int)
    clf = AdditiveClassifier(pairs=[("up", "down")]).fit(X, y)
    before = clf.model_
    found = stability(clf, X, y, n_draws=8)
    assert clf.model_ is before
    assert found.rising[:2].tolist() == [1.0, 0.0]
    assert found.attributes[found.order[0]] == "up"
    assert found.links == (("down", "up"),)
    assert found.frequency.tolist() == [1.0]
    frame = found.to_frame()
    assert frame["attribute"].tolist()[0] == "up"
    assert (frame["lower"] <= frame["importance"]).all()
    assert (frame["importance"] <= frame["upper"]).all()
    assert (frame["rank_lower"] <= frame["rank_upper"]).all()
    assert json.loads(json.dumps(found.to_dict()))["fits"] == 8


def test_fewer_than_two_fits_are_refused():
    X, y = chained(50)
    with pytest.raises(OptionError, match="n_draws=1"):
        stability(TANClassifier(), X, y, n_draws=1)
