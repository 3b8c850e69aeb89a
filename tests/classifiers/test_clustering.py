"""NaiveBayesClusterer against enumeration, against planted clusters, and against the EM of networks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from tanager.classifiers import NaiveBayesClusterer
from tanager.errors import OptionError


def planted(seed=0, n_rows=400):
    """Two groups, two thirds and a third, that differ in five of six columns."""
    random = np.random.default_rng(seed)
    group = (random.random(n_rows) < 1 / 3).astype(int)
    copied = random.random((n_rows, 5)) < 0.85
    X = np.where(copied, group[:, np.newaxis], random.integers(0, 2, (n_rows, 5)))
    table = pd.DataFrame(X, columns=list("edcba")).astype(str)
    table["noise"] = random.choice(["u", "v", "w"], n_rows)
    return table, group


def joint_by_hand(network, row):
    p = np.array(network.tables[-1][0])
    for number, name in enumerate(network.nodes[:-1]):
        if not pd.isna(row[name]):
            p = p * network.tables[number][:, network.states[name].index(row[name])]
    return p


def test_planted_groups_are_found_and_the_larger_comes_first():
    X, group = planted()
    clusterer = NaiveBayesClusterer(2, random_state=0).fit(X)
    assert adjusted_rand_score(group, clusterer.labels_) > 0.8
    assert np.bincount(clusterer.labels_).argmax() == 0
    assert clusterer.network_.table("cluster") is not None


def test_the_right_number_of_clusters_has_the_lowest_bic():
    X, _ = planted()
    bic = {n: NaiveBayesClusterer(n, random_state=0, n_init=5).fit(X).bic(X) for n in (1, 2, 3)}
    assert min(bic, key=bic.__getitem__) == 2


def test_probabilities_and_scores_are_those_of_the_joint_with_and_without_gaps():
    X, _ = planted(1, 80)
    clusterer = NaiveBayesClusterer(3, random_state=0, n_init=2).fit(X)
    gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    joints = np.array([joint_by_hand(clusterer.network_, row) for _, row in gaps.iterrows()])
    np.testing.assert_allclose(clusterer.predict_proba(gaps), joints / joints.sum(axis=1, keepdims=True), rtol=1e-9)
    assert clusterer.score(gaps) == pytest.approx(np.log(joints.sum(axis=1)).mean(), rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_end_is_a_fixed_point_of_em_row_by_row(share):
    X, _ = planted(2, 120)
    X = X.mask(np.random.default_rng(1).random(X.shape) < share)
    clusterer = NaiveBayesClusterer(2, random_state=0, tol=1e-13, max_iter=5_000).fit(X)
    network = clusterer.network_
    joints = np.array([joint_by_hand(network, row) for _, row in X.iterrows()])
    shares = joints / joints.sum(axis=1, keepdims=True)
    for number, name in enumerate(network.nodes[:-1]):
        for state, label in enumerate(network.states[name]):
            hits, rows = shares[X[name] == label].sum(axis=0), shares[X[name].notna()].sum(axis=0)
            expected = (hits + 1) / (rows + len(network.states[name]))
            np.testing.assert_allclose(network.tables[number][:, state], expected, atol=1e-5)


def test_columns_rows_and_weights_are_no_part_of_the_answer():
    X, _ = planted(3, 150)
    expected = NaiveBayesClusterer(2, random_state=4).fit(X).predict_proba(X)
    for other in (X[X.columns[::-1]], X.sample(frac=1, random_state=0)):
        found = NaiveBayesClusterer(2, random_state=4).fit(other)
        np.testing.assert_allclose(found.predict_proba(X[other.columns]), expected, atol=1e-6)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = NaiveBayesClusterer(2, random_state=4).fit(X, sample_weight=weights)
    repeated = NaiveBayesClusterer(2, random_state=4).fit(X.loc[X.index.repeat(weights)])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("options", [{"n_clusters": 0}, {"n_clusters": 2.5}, {"n_init": 0}, {"alpha": 0}, {"tol": -1}])
def test_an_option_that_cannot_be_used_is_named(options):
    (name,) = options
    with pytest.raises(OptionError, match=f"{name}="):
        NaiveBayesClusterer(**options).fit(planted(0, 20)[0])
