"""`feature_importances_`: by hand, never negative, zero without effect, the same for any order of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel

from tanager import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier, load_model, save_model
from tanager.classifiers import HillClimbClassifier, information
from tanager.parameters import Frequency

MODELS = {
    "naive-bayes": NaiveBayesClassifier(),
    "tan": BayesianNetworkClassifier("tan", parameters="frequency"),
    "pairwise": AdditiveClassifier(trees=False),
    "trees": AdditiveClassifier(),
}


def table(seed=0, n_rows=600):
    """Two attributes that tell the class, a pair that tells it together, one that says nothing, one constant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4))
    odds = 2 * x[:, 0] + (x[:, 1] > 0) + 1.5 * np.sign(x[:, 2] * x[:, 3])
    y = (odds + rng.logistic(size=n_rows) > 0.5).astype(int)
    X = pd.DataFrame(x, columns=["d", "b", "e", "a"]).assign(noise=rng.choice(["x", "y"], n_rows), same="z")
    return X, pd.Series(y, name="outcome")


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = table()
    return MODELS[request.param].fit(X, y), X, y


def test_importances_are_not_negative_and_a_constant_has_none(fitted, tmp_path):
    clf, X, _ = fitted
    found = dict(zip(X.columns, clf.feature_importances_, strict=True))
    assert len(found) == clf.n_features_in_
    assert min(found.values()) >= 0.0
    assert found["same"] == 0.0
    assert found["d"] == max(found[name] for name in ("d", "b", "noise", "same"))
    save_model(clf, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").feature_importances_, clf.feature_importances_)


def test_importances_are_the_same_for_any_order_of_columns(fitted):
    clf, X, y = fitted
    order = [3, 0, 5, 2, 1, 4]
    other = clone(clf).fit(X.iloc[:, order], y)
    np.testing.assert_allclose(other.feature_importances_, clf.feature_importances_[order], rtol=1e-6, atol=1e-9)


def test_those_of_naive_bayes_are_what_attribute_and_class_tell_of_each_other():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 4))
    y = (X[:, 0] + rng.integers(0, 2, 200) > 1).astype(int)
    clf = NaiveBayesClassifier(parameters=Frequency(alpha=1e-9), categorical_features="all").fit(X, y)
    np.testing.assert_allclose(clf.feature_importances_, information(clf, X, y).target, atol=1e-9)


def test_those_of_effects_are_root_mean_squares_with_pairs_shared():
    X, y = table()
    network = (clf := AdditiveClassifier(trees=False).fit(X.drop(columns="same"), y)).model_
    expected = np.zeros(5)
    for attribute, main in enumerate(network.mains):
        odds = main[:-1, 1] - main[:-1, 0]
        expected[attribute] += np.sqrt(network.densities[attribute] @ odds**2)
    for (i, j), cells in zip(network.pairs, network.tables, strict=True):
        shares = [
            np.bincount(network.columns[k].coarse_codes[:-1], network.densities[k], minlength=cells.shape[axis] - 1)
            for axis, k in enumerate((i, j))
        ]
        odds = cells[:-1, :-1, 1] - cells[:-1, :-1, 0]
        expected[[i, j]] += np.sqrt(shares[0] @ odds**2 @ shares[1]) / 2
    assert network.pairs
    np.testing.assert_allclose(clf.feature_importances_, expected, rtol=1e-9)


def test_attributes_can_be_selected_by_importance():
    X, y = table()
    kept = SelectFromModel(NaiveBayesClassifier(), max_features=1, threshold=-np.inf).fit(X.drop(columns="same"), y)
    assert kept.get_feature_names_out().tolist() == ["d"]


def test_an_attribute_beside_the_network_has_no_importance():
    X, y = table()
    clf = HillClimbClassifier(criterion="bic", class_edges="free", parameters="frequency").fit(
        X.drop(columns="same"), y
    )
    beside = [name for name in clf.model_.nodes[:-1] if ("outcome", name) not in clf.model_.edges]
    beside = [name for name in beside if (name, "outcome") not in clf.model_.edges]
    found = dict(zip(clf.feature_names_in_, clf.feature_importances_, strict=True))
    assert "noise" in beside
    assert all(found[name] == 0.0 for name in beside)
