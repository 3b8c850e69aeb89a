"""Boosting against the second-order formula, and the forest built of it against its scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from tanager.additive.folds import Folds, Sample
from tanager.additive.objective import row_losses
from tanager.additive.trees import (
    LARGEST_VALUE,
    PATIENCE,
    PENALTY,
    RATE,
    Boosting,
    TreeChoice,
    TreeKind,
    choose_trees,
    codebook,
    ends,
    grow_forest,
)
from tanager.table.schema import ColumnSchema

COLUMNS = (
    ColumnSchema("x", "numeric", cuts=tuple(range(7))),
    ColumnSchema("kind", "categorical", ("a", "b", "c", "d")),
    ColumnSchema("holes", "numeric", cuts=tuple(range(4)), missing_state=True),
    ColumnSchema("more", "numeric", cuts=tuple(range(7))),
)
N_CODES = np.array([column.n_states + 1 for column in COLUMNS])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def rows(seed, n_rows, n_classes):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in N_CODES]).astype(np.uint8)
    classes = (codes[:, 0] // 4 + codes[:, 1] % 2 + (rng.random(n_rows) < 0.3)) % n_classes
    return codes, classes.astype(np.intp), rng.uniform(0.5, 2.0, n_rows)


def losses_of(boosting):
    """(n_rows, n_runs) of the scores so far."""
    return np.stack([row_losses(run.T, boosting.classes) for run in boosting.scores], axis=1)


def sample_of(codes, classes, weights=None):
    counts = np.ones(len(classes), dtype=np.int64)
    return Sample(codes, classes, counts, np.ones(len(classes)) if weights is None else weights)


def leaf(grown, tree, codes):
    """The node that a row ends in, by walking."""
    node, attributes = 0, grown.attributes[tree]
    while node < len(attributes) and attributes[node] >= 0:
        node = 2 * node + 2 - grown.left[tree, node, codes[attributes[node]]]
    return node


@CLASSES
def test_a_round_adds_the_second_order_steps_of_its_leaves(n_classes):
    """Validation rows are led to leaves and have no influence on them; the second round takes a larger step."""
    codes, classes, weights = rows(1, 150, n_classes)
    weights = np.stack([weights, weights * (np.arange(150) % 3 > 0)], axis=1)
    boosting = Boosting(TreeKind(3, 1.0), codes, classes, weights, n_classes, codebook(COLUMNS))
    boosting.grow(keep=True)
    before = boosting.scores.copy()
    boosting.grow(keep=True)
    grown, n_columns = boosting.rounds[-1], boosting.n_columns
    for run in range(2):
        logs = before[run] - np.logaddexp(0, before[run]) if n_classes == 2 else log_softmax(before[run], axis=0)
        for column in range(n_columns):
            p, own = np.exp(logs[column]), classes == (1 if n_classes == 2 else column)
            tree = run * n_columns + column
            ends_in = np.array([leaf(grown, tree, each) for each in codes])
            assert len(np.unique(ends_in)) > 2
            for node in np.unique(ends_in):
                here = ends_in == node
                w = weights[here, run]
                g, h = (w * (p - own)[here]).sum(), (w * (p * (1 - p))[here]).sum()
                step = np.clip(-RATE * (1 + RATE**2) * g / (h + PENALTY), -LARGEST_VALUE, LARGEST_VALUE)
                np.testing.assert_allclose(boosting.scores[run, column, here] - before[run, column, here], step)
                assert boosting.leaf_weights[-1][tree, node] == pytest.approx(w.sum())


@CLASSES
def test_boosting_starts_at_the_class_frequencies(n_classes):
    codes, classes, weights = rows(2, 100, n_classes)
    boosting = Boosting(TreeKind(2, 1.0), codes, classes, weights[:, np.newaxis], n_classes, codebook(COLUMNS))
    frequencies = np.bincount(classes, weights) / weights.sum()
    expected = -(weights * np.log(frequencies[classes])).sum()
    assert (weights * losses_of(boosting)[:, 0]).sum() == pytest.approx(expected)


def test_a_fraction_of_the_attributes_is_asked_for_and_differs_by_seed_and_run():
    codes, classes, _ = rows(5, 60, 2)
    kind = TreeKind(2, 0.5)
    drawn = {}
    for seed in range(3):
        boosting = Boosting(kind, codes, classes, np.ones((60, 2)), 2, codebook(COLUMNS), seed)
        drawn[seed] = np.stack([boosting._draw() for _ in range(30)])
        assert drawn[seed].shape == (30, 2, 2)
        np.testing.assert_array_equal(np.unique(drawn[seed]), np.arange(4))
        assert (drawn[seed][:, 0] != drawn[seed][:, 1]).any()
    assert (drawn[0] != drawn[1]).any()


@CLASSES
@pytest.mark.parametrize(
    ("kind", "bare"), [(TreeKind(4, 0.5), False), (TreeKind(2, 1.0), False), (TreeKind(3, 0.5), True)]
)
def test_the_forest_adds_what_boosting_adds_on_its_rows_and_on_others(n_classes, kind, bare):
    """A tree without a split, as where it may split on columns without information alone, adds to the intercept."""
    codes, classes, weights = rows(7, 200, n_classes)
    if bare:
        codes[:, 1:] = 0
    choice = TreeChoice(kind, rounds=6, weight=0.7)
    forest, intercept, averaged = grow_forest(choice, sample_of(codes, classes, weights), COLUMNS, n_classes, seed=3)
    many = np.repeat(weights[:, np.newaxis], averaged, axis=1)
    boosting = Boosting(kind, codes, classes, many, n_classes, codebook(COLUMNS), 3)
    for _ in range(6):
        boosting.grow(keep=True)
    n_columns = boosting.n_columns
    assert (np.stack([grown.attributes[:, 0] for grown in boosting.rounds]) < 0).any() == bare
    found = forest.scores(codes) + intercept
    expected = 0.7 * boosting.scores.mean(axis=0).T
    np.testing.assert_allclose(found[:, -n_columns:], expected, atol=1e-10)
    others, _, _ = rows(8, 60, n_classes)
    expected = np.zeros((60, n_columns)) + boosting.start.mean(axis=0)
    for grown, values in zip(boosting.rounds, boosting.values, strict=True):
        for tree in range(len(values)):
            for row, each in enumerate(others):
                expected[row, tree % n_columns] += values[tree, leaf(grown, tree, each)] / averaged
    np.testing.assert_allclose((forest.scores(others) + intercept)[:, -n_columns:], 0.7 * expected, atol=1e-10)
    forest.check(N_CODES.tolist(), n_classes)


def test_a_forest_adds_nothing_on_average_over_its_rows():
    codes, classes, weights = rows(9, 150, 3)
    forest, _, _ = grow_forest(TreeChoice(TreeKind(3, 1.0), 4, 1.0), sample_of(codes, classes, weights), COLUMNS, 3, 0)
    np.testing.assert_allclose(np.average(forest.scores(codes), axis=0, weights=weights), 0.0, atol=1e-12)


def binned(X, n_bins=8):
    """Codes of equally frequent bins, and their columns."""
    cuts = [np.quantile(x, np.arange(1, n_bins) / n_bins) for x in X.T]
    columns = tuple(ColumnSchema(f"x{k}", "numeric", cuts=tuple(own)) for k, own in enumerate(cuts))
    return np.column_stack([np.searchsorted(own, x) for own, x in zip(cuts, X.T, strict=True)]), columns


def folds_of(seed, n_rows, noise):
    """The class is the sign of a product of three columns, or nothing at all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    classes = rng.integers(0, 2, n_rows) if noise else (X[:, :3].prod(axis=1) > 0).astype(np.intp)
    codes, columns = binned(X)
    return Folds.of(sample_of(codes.astype(np.uint8), classes), 2), columns


def frequencies(folds):
    """(n_validated, 1) log odds of the class frequencies in each fold's training rows."""
    by_class = np.stack([np.bincount(folds.sample.classes, w) for w in folds.training.T], axis=1)
    return folds.validated(np.tile(np.log(by_class[1] / by_class[0]), (len(folds.sample), 1, 1)))


def test_trees_are_refused_on_noise():
    """In 19 of 20 tables: three or more of 20 have a chance of 8 %."""
    taken = []
    for seed in range(20):
        folds, columns = folds_of(seed, 400, noise=True)
        taken.append(choose_trees(folds, columns, 2, frequencies(folds), 400, seed) is not None)
    assert sum(taken) <= 2


def test_trees_are_taken_where_three_columns_decide_together():
    folds, columns = folds_of(5, 1_000, noise=False)
    choice = choose_trees(folds, columns, 2, frequencies(folds), 1_000, 0)
    assert choice is not None
    assert choice.weight > 0.5
    assert choice.rounds > 10
    assert "trees" in choice.describe()


def test_trees_are_refused_beside_terms_that_know_the_truth():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(600, 3))
    odds = 1.5 * X[:, 0] - X[:, 1]
    classes = (odds + rng.logistic(size=600) > 0).astype(np.intp)
    codes, columns = binned(X)
    sample = sample_of(codes.astype(np.uint8), classes)
    folds = Folds.of(sample, 2)
    terms = np.repeat(odds[:, np.newaxis, np.newaxis], 3, axis=2)
    assert len(folds.sample) == 600
    assert choose_trees(folds, columns, 2, folds.validated(terms), 600, 0) is None


def test_rounds_end_when_the_last_looks_brought_less_than_a_part():
    falling = np.linspace(1.0, 0.5, 20 * PATIENCE).tolist()
    assert not ends(falling, 0.003)
    assert not ends([0.5] * PATIENCE, 0.003)
    assert ends([0.5] * (PATIENCE + 1), 0.003)
    assert ends(falling + [0.5] * PATIENCE, 0.003)
    assert not ends([*falling, *[0.5] * (PATIENCE - 2), 0.4], 0.003)
    assert ends([*falling, *[0.5] * (PATIENCE - 2), 0.4], 0.4)
    assert ends(falling + np.linspace(0.5, 0.7, PATIENCE + 1).tolist(), 0.003)
