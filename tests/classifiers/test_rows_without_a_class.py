"""Rows whose class is missing, through the classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tanager import BayesianNetworkClassifier
from tanager.parameters import EM


def em_of_naive_bayes(codes: np.ndarray, y: np.ndarray, n_steps: int) -> list[np.ndarray]:
    """Tables (classes, 2 states) of each attribute, then the class's, a row at a time; -1 is missing."""
    labelled = y >= 0
    tables = [
        np.array([[np.sum(labelled & (y == c) & (x == k)) + 1.0 for k in (0, 1)] for c in (0, 1)]) for x in codes.T
    ]
    prior = np.bincount(y[labelled]) / labelled.sum()
    for _ in range(n_steps):
        tables = [table / table.sum(axis=1, keepdims=True) for table in tables]
        expected, of_class = [np.ones((2, 2)) for _ in tables], np.zeros(2)
        for row, c in zip(codes, y, strict=True):
            joint = prior.copy() if c < 0 else np.eye(2)[c]
            for table, x in zip(tables, row, strict=True):
                joint = joint * (table[:, x] if x >= 0 else 1.0)
            share = joint / joint.sum()
            of_class += share
            for cells, table, x in zip(expected, tables, row, strict=True):
                cells += share[:, np.newaxis] * (np.eye(2)[x] if x >= 0 else table)
        tables, prior = expected, of_class / of_class.sum()
    return [*(table / table.sum(axis=1, keepdims=True) for table in tables), prior[np.newaxis]]


def test_a_column_may_have_gaps_in_rows_without_a_class_alone():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 120)
    codes = np.column_stack([np.where(rng.random(120) < p, truth, 1 - truth) for p in (0.9, 0.8, 0.7)])
    y = np.where(np.arange(120) < 60, truth, -1)
    codes[60:, 1] = np.where(rng.random(60) < 0.5, -1, codes[60:, 1])
    X = pd.DataFrame(codes, columns=list("abc")).astype("Int64").mask(codes < 0).astype(object).astype("string")
    labels = pd.Series(y).astype("Int64").mask(y < 0)
    clf = BayesianNetworkClassifier("naive-bayes", parameters=EM(tol=1e-13, max_iter=5_000)).fit(X, labels)
    expected = em_of_naive_bayes(codes, y, 2_000)
    for found, table in zip(clf.network_.tables, expected, strict=True):
        np.testing.assert_allclose(found, table, atol=1e-6)
    assert np.abs(em_of_naive_bayes(codes[:60], y[:60], 1)[1] - expected[1]).max() > 1e-2
