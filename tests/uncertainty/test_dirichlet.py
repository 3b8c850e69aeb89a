"""Intervals of networks of frequencies in closed form, against tables drawn from their posterior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from tanager import BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
from tanager.classifiers.base import encode_table
from tanager.missing.marginalize import SummedOut
from tanager.structure import Fixed


def categories(rng: np.random.Generator, n_rows: int, n_states: int, n_attributes: int) -> pd.DataFrame:
    codes = rng.integers(n_states, size=(n_rows, n_attributes))
    return pd.DataFrame({f"x{k}": [f"s{code}" for code in column] for k, column in enumerate(codes.T)})


def drawn_posteriors(clf, codes, n_draws, rng):
    """(n_draws, n_rows, n_classes) P(class | row) by tables whose lines are drawn from their posterior."""
    found = []
    for _ in range(n_draws):
        tables = tuple(np.array([rng.dirichlet(line) for line in own]) for own in clf.posterior_.rows)
        found.append(np.exp(SummedOut(replace(clf.network_, tables=tables)).log_posterior(codes)))
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [NaiveBayesClassifier, lambda: TANClassifier(parameters="frequency")])
def test_closed_intervals_agree_with_draws_from_the_posterior(make, n_classes):
    rng = np.random.default_rng(n_classes)
    X = categories(rng, 60, 3, 3)
    y = rng.integers(n_classes, size=60)
    clf = make().fit(X, y).prepare_intervals(X, y)
    _, codes = encode_table(clf, X[:8])
    drawn = drawn_posteriors(clf, codes, 3_000, rng)
    wanted = np.quantile(drawn, [0.05, 0.5, 0.95], axis=0)
    np.testing.assert_allclose(clf.predict_interval(X[:8]), wanted, atol=0.02 if n_classes == 2 else 0.04)


def test_without_attributes_that_say_anything_the_interval_is_that_of_a_beta():
    X = [["same"]] * 30
    y = [0] * 10 + [1] * 20
    clf = NaiveBayesClassifier().fit(X, y)
    found = clf.prepare_intervals(X, y).predict_interval([[None]])
    np.testing.assert_allclose(found.lower[0, 1], beta(20, 10).ppf(0.05), atol=1e-3)
    np.testing.assert_allclose(found.upper[0, 1], beta(20, 10).ppf(0.95), atol=1e-3)


def parents_of_the_class(n_classes):
    """a and b are parents of the class, and c is not its child: lines that all classes share."""
    return BayesianNetworkClassifier(
        Fixed([("x0", "y"), ("x1", "y"), ("x1", "x2"), ("y", "x3"), ("x2", "x3")]), parameters="frequency"
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("make", [lambda _: TANClassifier(parameters="frequency"), parents_of_the_class])
def test_intervals_of_rows_with_gaps_agree_with_sums_over_every_table_drawn(make, n_classes):
    rng = np.random.default_rng(5)
    X = categories(rng, 150, 3, 4)
    y = np.where(rng.random(150) < 0.6, (X["x0"].str[1].astype(int) + (X["x1"] == "s0")) % n_classes, 0)
    y[:n_classes] = range(n_classes)
    clf = make(n_classes).fit(X, pd.Series(y, name="y")).prepare_intervals(X, y)
    rows = X[:8].mask(rng.random((8, 4)) < 0.5)
    rows.loc[0] = None
    _, codes = encode_table(clf, rows)
    wanted = np.quantile(drawn_posteriors(clf, codes, 600, rng), [0.05, 0.5, 0.95], axis=0)
    np.testing.assert_allclose(clf.predict_interval(rows), wanted, atol=0.04)


def test_ninety_percent_of_truths_drawn_from_the_prior_are_within():
    rng, hits = np.random.default_rng(0), []
    X = categories(rng, 60, 3, 3)
    _, codes = encode_table(NaiveBayesClassifier().fit(X, rng.integers(2, size=60)), X)
    cells = np.unique(codes, axis=0)
    for _ in range(60):
        share = rng.beta(20, 20)  # the class has no prior: its share is that of many rows
        tables = rng.dirichlet(np.ones(3), size=(3, 2))
        y = (rng.random(60) < share).astype(int)
        drawn = np.array([[rng.choice(3, p=tables[a, c]) for a in range(3)] for c in y])
        rows = [[f"s{code}" for code in line] for line in drawn]
        rows += [["s0"] * 3, ["s1"] * 3, ["s2"] * 3]  # every state is known
        clf = NaiveBayesClassifier().fit(rows, [*y, 0, 1, 0], sample_weight=[1.0] * 60 + [1e-9] * 3)
        clf.prepare_intervals(rows, [*y, 0, 1, 0], [1.0] * 60 + [1e-9] * 3)
        joint = [np.array([1 - share, share])[c] * np.prod(tables[np.arange(3), c, cells], axis=1) for c in (0, 1)]
        truth = joint[1] / (joint[0] + joint[1])
        found = clf.predict_interval([[f"s{code}" for code in line] for line in cells])
        hits.append(np.mean((found.lower[:, 1] <= truth) & (truth <= found.upper[:, 1])))
    assert 0.86 <= np.mean(hits) <= 0.94
