"""Laws of the choice among models of effects: where main effects shrink to, and the mean of two models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import BayesianNetworkClassifier
from tanager.parameters import Conditional, Frequency
from tanager.parameters.effects import models as choice
from tanager.parameters.effects import problems
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.models import shares_by_loss
from tanager.parameters.effects.prior import naive_bayes_odds
from tanager.structure import Pairwise
from tanager.table.schema import ColumnSchema

COLUMNS = (
    ColumnSchema("first", "categorical", categories=("a", "b", "c")),
    ColumnSchema("numeric", "numeric", cuts=(0.0, 1.0)),
    ColumnSchema("second", "categorical", categories=("d", "e")),
)
LAYOUT = EffectLayout(COLUMNS, 3, ((0, 2),))
SEEDS = st.integers(0, 2**32 - 1)


def sites(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes, and eight letters that say something of the class each on its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    shares = rng.dirichlet(np.ones(4), size=(8, 2))
    letters = [[rng.choice(list("ACGT"), p=shares[place, c]) for c in y] for place in range(8)]
    return pd.DataFrame(dict(zip("abcdefgh", letters, strict=True))), y


def log_odds(clf: BayesianNetworkClassifier, X: pd.DataFrame) -> np.ndarray:
    return np.diff(clf.predict_log_proba(X), axis=1)


def test_the_centre_is_what_naive_bayes_says():
    """The oracle: naive Bayes with Friedman's frequencies, but for the class frequencies."""
    X, y = sites(60)
    clf = BayesianNetworkClassifier("naive-bayes", parameters=Frequency("friedman")).fit(X, y)
    columns = tuple(ColumnSchema(name, "categorical", categories=tuple("ACGT")) for name in X)
    layout = EffectLayout(columns, 2, ())
    codes = np.stack([X[name].map("ACGT".index) for name in X], axis=1)
    rows = np.zeros((layout.cells.n_cells, 2))
    for attribute in range(8):
        np.add.at(rows, (layout.cells.offsets[attribute] + codes[:, attribute], y), 1.0)
    mains, _, _ = layout.split(naive_bayes_odds(layout, rows))
    said = sum(main[codes[:, attribute]] for attribute, main in enumerate(mains))
    prior = np.log(np.mean(y == 1) / np.mean(y == 0))
    np.testing.assert_allclose(np.diff(said, axis=1) + prior, log_odds(clf, X), atol=1e-9)


def test_only_main_effects_of_unordered_attributes_have_a_centre():
    rows = np.random.default_rng(0).integers(1, 9, (LAYOUT.cells.n_cells, 3)).astype(float)
    mains, pairs, intercept = LAYOUT.split(naive_bayes_odds(LAYOUT, rows))
    assert [bool(main.any()) for main in (*mains, *pairs, intercept)] == [True, False, True, False, False]


def test_a_state_without_rows_says_nothing_and_a_missing_cell_what_is_expected():
    rows = np.random.default_rng(0).integers(1, 9, (LAYOUT.cells.n_cells, 3)).astype(float)
    rows[1] = 0.0  # the second state of the first attribute
    mains, _, _ = LAYOUT.split(naive_bayes_odds(LAYOUT, rows))
    assert not mains[0][1].any()
    shares = rows[:3].sum(axis=1) / rows[:3].sum()
    np.testing.assert_allclose(mains[0][3], shares @ mains[0][:3])


def test_the_centre_is_that_of_the_shares_where_the_pseudo_rows_are_few_beside_the_rows():
    """The limit case: log P(state | class) / P(state) of plain frequencies."""
    rows = np.random.default_rng(0).integers(1, 9, (LAYOUT.cells.n_cells, 3)) * 1e9
    mains, _, _ = LAYOUT.split(naive_bayes_odds(LAYOUT, rows))
    expected = np.log(rows[:3] / rows[:3].sum(axis=0) / (rows[:3].sum(axis=1, keepdims=True) / rows[:3].sum()))
    np.testing.assert_allclose(mains[0][:3], expected, atol=1e-8)


def test_without_rows_the_centre_is_zero():
    assert not naive_bayes_odds(LAYOUT, np.zeros((LAYOUT.cells.n_cells, 3))).any()


@given(SEEDS, st.integers(1, 3))
def test_shares_sum_to_one_and_the_lowest_loss_has_the_largest(seed, n_models):
    losses = list(np.random.default_rng(seed).random((n_models, 20)))
    shares = shares_by_loss(losses, np.ones(20))
    assert sum(shares) == pytest.approx(1.0)
    assert np.argmax(shares) == np.argmin([own.mean() for own in losses])


def test_a_model_one_standard_error_above_has_a_share_smaller_by_e():
    excess = np.tile([0.0, 2.0], 50)  # mean 1, standard deviation 1: ten standard errors
    best = np.zeros(100)
    first, second = shares_by_loss([best, excess - 0.9], np.ones(100))
    assert first / second == pytest.approx(np.e)


def test_equal_models_have_equal_shares_and_a_clearly_worse_one_none():
    losses = np.random.default_rng(0).random(50)
    assert shares_by_loss([losses, losses], np.ones(50)) == [0.5, 0.5]
    assert shares_by_loss([losses + 1.0, losses], np.ones(50)) == [0.0, 1.0]


def test_a_weight_of_two_counts_as_two_rows_held_out():
    first, second = np.random.default_rng(0).random((2, 30))
    weights = np.tile([1.0, 2.0], 15)
    doubled = [np.repeat(own, weights.astype(int)) for own in (first, second)]
    np.testing.assert_allclose(shares_by_loss([first, second], weights), shares_by_loss(doubled, np.ones(45)))


def test_the_model_is_the_mean_of_both_by_their_shares(monkeypatch):
    X, y = sites(150)
    found = {}
    for shares in ((1.0, 0.0), (0.0, 1.0), (0.3, 0.7)):
        monkeypatch.setattr(choice, "shares_by_loss", lambda *_, shares=shares: shares)
        clf = BayesianNetworkClassifier(parameters=Conditional(penalty="squared", tol=1e-8)).fit(X, y)
        assert clf.trace_.parameters.naive_bayes_share == shares[1]
        found[shares] = log_odds(clf, X)
    zero, naive_bayes, mixed = found.values()
    assert np.abs(zero - naive_bayes).max() > 0.1
    np.testing.assert_allclose(mixed, 0.3 * zero + 0.7 * naive_bayes, atol=1e-6)


def test_independent_attributes_have_their_effects_shrunk_to_naive_bayes():
    assert BayesianNetworkClassifier().fit(*sites(150)).trace_.parameters.naive_bayes_share > 0.5


def test_attributes_that_repeat_each_other_have_not():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    hidden = np.where(rng.random(150) < 0.7, y, 1 - y)
    repeated = np.where(rng.random((150, 20)) < 0.9, hidden[:, np.newaxis], 1 - hidden[:, np.newaxis])
    X = pd.DataFrame(repeated).astype(str)
    assert BayesianNetworkClassifier().fit(X, y).trace_.parameters.naive_bayes_share < 0.2


def test_with_strengths_given_or_numbers_alone_effects_shrink_to_zero():
    X, y = sites(150)
    given = BayesianNetworkClassifier(parameters=Conditional(strength=1.0)).fit(X, y)
    numbers = BayesianNetworkClassifier().fit(np.random.default_rng(0).normal(size=(150, 2)), y)
    assert [clf.trace_.parameters.naive_bayes_share for clf in (given, numbers)] == [0, 0]


def test_a_single_fold_leaves_effects_to_shrink_to_zero(monkeypatch):
    monkeypatch.setattr(problems, "ONE_FOLD_ROWS", 100)
    assert BayesianNetworkClassifier().fit(*sites(150)).trace_.parameters.naive_bayes_share == 0


def test_further_pairs_are_taken_where_they_lower_the_loss_of_the_rows_held_out(monkeypatch):
    monkeypatch.setattr(Pairwise, "numbers", lambda self, n_attributes: (1, 2))
    rng = np.random.default_rng(0)
    a, b, c, d = codes = rng.integers(0, 2, (4, 600))
    X = pd.DataFrame(codes.T.astype(str), columns=list("abcd"))
    y = rng.random(600) < 1 / (1 + np.exp(4.0 - 4.0 * (a ^ b) - 4.0 * (c ^ d)))
    pairs = BayesianNetworkClassifier().fit(X, y).network_.pairs
    assert {frozenset(pair) for pair in pairs} == {frozenset((0, 1)), frozenset((2, 3))}
