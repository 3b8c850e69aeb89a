"""AODE and A2DE against their formula, row by row."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import prod

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from oracle import log_joints_without
from tanager import (
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    read_network,
    report,
    save_model,
)
from tanager.errors import FileError, OptionError
from tanager.parameters import Frequency
from tanager.structure import AnDE, Fixed, TreeAverage
from tanager.structure.averaged import superparent_dag

N_STATES = (3, 2, 4, 3)


def make_table(seed=0, n_rows=120):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, n_rows)
    copied = generator.random((n_rows, len(N_STATES))) < 0.4
    X = np.where(copied, y[:, np.newaxis], generator.integers(0, 4, (n_rows, len(N_STATES)))) % N_STATES
    return X, y


def fitted(X, y, **options):
    return BayesianNetworkClassifier(AnDE(**options), None, "frequency", categorical_features="all").fit(X, y)


def by_hand(X, y, row, n, weight_of=lambda superparents: 1.0, normalized=True):
    """The formula of the page of the method, with one pseudo-row per cell; P(class | row)."""
    joint = np.zeros(3)
    for superparents in combinations(range(len(N_STATES)), n):
        for c in range(3):
            rows = y == c
            p = np.mean(rows)
            for parent in superparents:
                p *= (np.sum(X[rows, parent] == row[parent]) + 1) / (rows.sum() + N_STATES[parent])
                rows = rows & (X[:, parent] == row[parent])
            others = set(range(len(N_STATES))).difference(superparents)
            p *= prod((np.sum(X[rows, i] == row[i]) + 1) / (rows.sum() + N_STATES[i]) for i in others)
            joint[c] += weight_of(superparents) * p
    return joint / joint.sum() if normalized else joint


@pytest.mark.parametrize("n", [0, 1, 2])
def test_it_is_the_mean_of_all_networks_of_n_superparents(n):
    X, y = make_table()
    clf = fitted(X, y, n=n)
    np.testing.assert_allclose(clf.predict_proba(X[:25]), [by_hand(X, y, row, n) for row in X[:25]], rtol=1e-10)


@pytest.mark.parametrize("n", [1, 2])
def test_missing_cells_are_summed_out_of_every_network(n):
    """Against the sum over what each gap may hold, in training rows without gaps; a row of weight 2 counts twice."""
    X, y = make_table(12)
    gaps = np.where(np.random.default_rng(1).random((12, 4)) < 0.4, np.nan, X[:12])
    twice = np.arange(len(y)) % 3 == 0
    clf = BayesianNetworkClassifier(AnDE(n=n), None, "frequency", categorical_features="all", missing="marginalize")
    found = clf.fit(X, y, sample_weight=1 + twice).predict_proba(gaps)
    repeated, classes = np.vstack([X, X[twice]]), np.append(y, y[twice])
    for row, p in zip(gaps, found, strict=True):
        held = [[int(cell)] if cell == cell else range(r) for cell, r in zip(row, N_STATES, strict=True)]
        joint = sum(by_hand(repeated, classes, whole, n, normalized=False) for whole in product(*held))
        np.testing.assert_allclose(p, joint / joint.sum(), rtol=1e-10)


@pytest.mark.parametrize("smoothing", ["laplace", "friedman"])
def test_gaps_in_training_leave_a_row_out_of_the_families_that_have_one(smoothing):
    """Tables of A2DE against those of each network learnt alone."""
    X, y = make_table(13)
    table = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    options = {"categorical_features": "all", "missing": "marginalize", "parameters": Frequency(smoothing)}
    network = BayesianNetworkClassifier(AnDE(n=2), **options).fit(table, y).network_
    for member in network.members:
        alone = BayesianNetworkClassifier(Fixed(member.edges), **options).fit(table, y).network_
        assert alone.dag == member.dag
        for own, other in zip(member.tables, alone.tables, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_weights_by_information_are_what_superparents_together_tell_of_the_class(n):
    X, y = make_table(1, 400)
    tells = {}
    for superparents in combinations(range(len(N_STATES)), n):
        cells = [(c, *states) for c, states in zip(y.tolist(), X[:, superparents].tolist(), strict=True)]
        joint, alone, classes = Counter(cells), Counter(cell[1:] for cell in cells), Counter(y.tolist())
        terms = (k * np.log(len(y) * k / (classes[cell[0]] * alone[cell[1:]])) for cell, k in joint.items())
        tells[superparents] = sum(terms) / len(y)
    clf = fitted(X, y, n=n, weights="information")
    raised = {key: value + 1e-3 * np.mean([*tells.values()]) for key, value in tells.items()}
    np.testing.assert_allclose(clf.network_.weights, np.array([*raised.values()]) / sum(raised.values()), rtol=1e-9)
    expected = [by_hand(X, y, row, n, raised.__getitem__) for row in X[:10]]
    np.testing.assert_allclose(clf.predict_proba(X[:10]), expected, rtol=1e-9)


def test_conditional_weights_are_where_rows_left_out_are_predicted_best():
    """Against a search by another method, on probabilities counted by hand; a repeated column is worth less."""
    X, y = make_table(8, 90)
    X[:, 3] = X[:, 0]
    rows = np.column_stack([X, y])
    dags = [superparent_dag(4, (parent,)) for parent in range(4)]
    joints = np.exp([log_joints_without(rows, dag.parents, (*N_STATES[:3], 3, 3)) for dag in dags])

    def loss(scores):
        weights = np.exp(np.append(scores, 0.0)) / np.exp(np.append(scores, 0.0)).sum()
        mixed = np.tensordot(weights, joints, 1)
        return -np.log(mixed[np.arange(len(y)), y] / mixed.sum(axis=1)).sum() - np.log(weights).sum()

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4_000, "maxfev": 4_000}
    found = minimize(loss, np.zeros(3), method="Nelder-Mead", options=options).x
    expected = np.exp(np.append(found, 0.0)) / np.exp(np.append(found, 0.0)).sum()
    weights = fitted(X, y, weights="conditional").network_.weights
    np.testing.assert_allclose(weights, expected, rtol=1e-4)
    assert max(weights) > 1.5 * min(weights)


def test_conditional_weights_do_not_change_with_the_order_of_columns_or_rows_or_with_whole_row_weights():
    X, y = make_table(9, 150)
    table = pd.DataFrame(X, columns=["d", "b", "a", "c"])
    p = fitted(table, y, weights="conditional").predict_proba(table)
    backwards = fitted(table.iloc[::-1, ::-1], y[::-1], weights="conditional")
    np.testing.assert_allclose(backwards.predict_proba(table.iloc[:, ::-1]), p, rtol=1e-6)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    learner = BayesianNetworkClassifier(AnDE(weights="conditional"), None, "frequency", categorical_features="all").fit(
        X, y, sample_weight=weights
    )
    repeated = fitted(np.repeat(X, weights, axis=0), np.repeat(y, weights), weights="conditional")
    np.testing.assert_allclose(repeated.predict_proba(X), learner.predict_proba(X), rtol=1e-6)


def test_one_attribute_is_its_own_superparent():
    X, y = make_table(3)
    naive = NaiveBayesClassifier(parameters="frequency", categorical_features="all").fit(X[:, :1], y)
    for n in (1, 2):
        np.testing.assert_allclose(fitted(X[:, :1], y, n=n).predict_proba(X[:, :1]), naive.predict_proba(X[:, :1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": AnDE(n=3), "parameters": "frequency"}, "n=3 of AnDE cannot be used; expected 0, 1 or 2"),
        ({"structure": AnDE(weights="even"), "parameters": "frequency"}, "weights='even' is not known"),
        ({"structure": "aode"}, r"cannot fit the mixtures of structure=AnDE\(\)(.|\n)*parameters='frequency'"),
        (
            {"structure": "tree-average", "parameters": "frequency", "criterion": "cll"},
            "needs a criterion that is a sum",
        ),
        (
            {"structure": "aode", "parameters": "frequency", "missing": "average"},
            "missing='average' is defined for one",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    X, y = make_table()
    with pytest.raises(OptionError, match=message):
        BayesianNetworkClassifier(**options).fit(X, y)


@pytest.mark.parametrize("structure", [AnDE(), TreeAverage()], ids=repr)
def test_what_is_made_for_one_network_says_so(structure, tmp_path):
    X, y = make_table()
    clf = BayesianNetworkClassifier(structure, parameters="frequency", categorical_features="all").fit(X, y)
    with pytest.raises(OptionError, match="one network; this classifier is a mean of several"):
        report(clf)
    save_model(clf, tmp_path / "model.json")
    with pytest.raises(FileError, match="a mean of networks"):
        read_network(tmp_path / "model.json")
