"""Closed-form intervals of networks of frequencies, against draws made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from posterior.tables_of_rows import categories
from tanager import NaiveBayesClassifier, TANClassifier


def drawn_posteriors(network, rows, codes, n_draws, rng):
    """(n_draws, n_rows, n_classes) P(class | row) by tables drawn line by line, and products of their entries."""
    target, n_classes = len(rows) - 1, rows[-1].shape[1]
    found = np.empty((n_draws, len(codes), n_classes))
    for draw in range(n_draws):
        tables = [np.array([rng.dirichlet(line) for line in own]) for own in rows]
        for c in range(n_classes):
            p = np.full(len(codes), tables[target][0, c])
            for node in range(target):
                parents = network.dag.parents[node]
                place = np.zeros(len(codes), dtype=int)
                for parent in parents:
                    place = place * network.n_states[parent] + (c if parent == target else codes[:, parent])
                p = p * tables[node][place, codes[:, node]]
            found[draw, :, c] = p
    return found / found.sum(axis=2, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [NaiveBayesClassifier, lambda: TANClassifier(parameters="frequency")])
def test_closed_intervals_agree_with_draws_from_the_posterior(make, n_classes):
    rng = np.random.default_rng(n_classes)
    X = categories(rng, 60, 3, 3)
    y = rng.integers(n_classes, size=60)
    clf = make().fit(X, y).prepare_intervals(X, y)
    _, codes = clf.encode(X[:8])
    drawn = drawn_posteriors(clf.network_, clf.posterior_.rows, codes, 3_000, rng)
    wanted = np.quantile(drawn, [0.05, 0.5, 0.95], axis=0)
    np.testing.assert_allclose(clf.predict_interval(X[:8]), wanted, atol=0.02 if n_classes == 2 else 0.04)


def test_without_attributes_that_say_anything_the_interval_is_that_of_a_beta():
    X = [["same"]] * 30
    y = [0] * 10 + [1] * 20
    clf = NaiveBayesClassifier().fit(X, y)
    found = clf.prepare_intervals(X, y).predict_interval([[None]])
    np.testing.assert_allclose(found.lower[0, 1], beta(20, 10).ppf(0.05), atol=1e-3)
    np.testing.assert_allclose(found.upper[0, 1], beta(20, 10).ppf(0.95), atol=1e-3)


def test_gaps_of_a_tree_are_summed_out_of_every_draw():
    rng = np.random.default_rng(5)
    X = categories(rng, 50, 2, 3)
    y = (rng.random(50) < np.where(X["x0"] == "s0", 0.8, 0.3)).astype(int)
    clf = TANClassifier(parameters="frequency").fit(X, y).prepare_intervals(X, y)
    row = X[:1].copy()
    row.loc[0, "x1"] = None
    _, codes = clf.encode(row)
    rows, sums = clf.posterior_.rows, np.zeros((3_000, 2))
    whole = np.repeat(codes, 2, axis=0)
    whole[:, 1] = [0, 1]
    # P(class, row) of both completions, not normalised row by row.
    for draw in range(len(sums)):
        tables = [np.array([rng.dirichlet(line) for line in own]) for own in rows]
        for c in range(2):
            for each in whole:
                p = tables[-1][0, c]
                for node in range(3):
                    place = 0
                    for parent in clf.network_.dag.parents[node]:
                        place = place * 2 + (c if parent == 3 else each[parent])
                    p *= tables[node][place, each[node]]
                sums[draw, c] += p
    wanted = np.quantile(sums[:, 1] / sums.sum(axis=1), [0.05, 0.5, 0.95])
    found = clf.predict_interval(row)
    np.testing.assert_allclose([part[0, 1] for part in found], wanted, atol=0.04)


def test_ninety_percent_of_truths_drawn_from_the_prior_are_within():
    rng, hits = np.random.default_rng(0), []
    X = categories(rng, 60, 3, 3)
    _, codes = NaiveBayesClassifier().fit(X, rng.integers(2, size=60)).encode(X)
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
