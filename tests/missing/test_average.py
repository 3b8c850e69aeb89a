"""P(class | row) averaged over what unknown cells may hold, against draws made cell by cell; what is learnt for it."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

from additive.random_forests import random_forest
from cut_rows import CutRows
from explain.effect_networks import effect_network
from missing.drawn_rows import averaged_by_hand, naive_bayes, random_imputation
from oracle import batch_of
from random_networks import random_network
from tanager import (
    AdditiveClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    load_model,
    save_model,
)
from tanager.additive.forest import WORK_WORTH_COMPILING
from tanager.classifiers.base import encode_table
from tanager.errors import DataError
from tanager.missing import average
from tanager.missing.average import (
    MAX_CELLS,
    MAX_COMPONENTS,
    N_DRAWS,
    Averaged,
    learn_imputation,
    learn_mixture,
    spread_numbers,
)
from tanager.table.columns import code_dtype

SEEDS = st.integers(0, 2**32 - 1)


def tables(seed):
    return random_network(seed, [3, 2, 4, 2, 3], density=0.7)


def effects(seed):
    return effect_network(seed, 3)


def with_trees(seed):
    """Effects, and trees of one leaf to more than a word has bits for."""
    model = effect_network(seed, 3)
    n_codes = [n + 1 for n in model.n_states[:-1]]
    return replace(model, forest=random_forest(seed, [1, 2, 4, 6, 9, 5, 100], n_codes, 3))


def rows_of(model, seed, n_rows=12):
    n_states = np.array(model.n_states[:-1])
    codes = np.random.default_rng(seed).integers(0, n_states + 1, (n_rows, len(n_states)))
    codes[0] = n_states
    return np.asfortranarray(codes, dtype=code_dtype(max(model.n_states)))


def counts_of(batch):
    """(classes,) and of each attribute (states, classes) counts."""
    weights, n_classes = batch.row_weights, batch.n_classes
    by_class = np.eye(n_classes)[batch.class_codes] * weights[:, np.newaxis]
    found = [
        np.array([by_class[batch.codes[:, node] == state].sum(axis=0) for state in range(n)])
        for node, n in enumerate(batch.n_states[:-1])
    ]
    return by_class.sum(axis=0), found


@pytest.mark.parametrize("make", [tables, effects, with_trees])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_the_average_is_the_mean_over_the_draws_corrected(make, seed):
    model = make(seed)
    imputation = random_imputation(model, seed)
    codes = rows_of(model, seed)
    found = np.exp(Averaged(model, imputation).log_posterior(codes))
    for row, values in zip(codes.tolist(), found, strict=True):
        if any(code == n for code, n in zip(row, model.n_states, strict=False)):
            np.testing.assert_allclose(values, averaged_by_hand(model, imputation, tuple(row)), rtol=0, atol=1e-9)


def test_many_rows_have_the_average_of_each_row_alone():
    """The compiled sum over the draws, which looks a known cell up once, against a walk for each draw."""
    model = with_trees(6)
    rule = Averaged(model, random_imputation(model, 6, n_draws=N_DRAWS))
    codes = rows_of(model, 6, 300)
    codes[1], codes[20:30] = 0, codes[3]
    assert len(codes) * N_DRAWS * len(model.forest.roots) > WORK_WORTH_COMPILING
    alone = np.concatenate([rule.log_posterior(row[np.newaxis]) for row in codes])
    np.testing.assert_allclose(rule.log_posterior(codes), alone, rtol=1e-9)


def test_a_mixture_of_the_truth_gives_nearly_what_marginalizing_does():
    """Of independent attributes given the class, one component a class and many draws."""
    model = naive_bayes(5, [3, 2, 4, 2, 3])
    prior = model.tables[-1][0]
    none = tuple(np.zeros((n + 1, 3)) for n in model.n_states[:-1])
    imputation = replace(random_imputation(model, 5), n_draws=4_096, shares=prior, tables=model.tables[:-1])
    imputation = replace(imputation, nothing=np.zeros(3), states=none)
    nothing = np.array([model.n_states[:-1]], dtype=np.uint8)
    assert np.exp(Averaged(model, imputation).log_posterior(nothing)[0]) == pytest.approx(prior, abs=0.005)


def test_hundreds_of_attributes_do_not_underflow():
    model = random_network(0, [2] * 601, density=0.0)
    codes = np.zeros((2, 600), dtype=np.uint8, order="F")
    codes[0], codes[1, 3] = 2, 2
    found = Averaged(model, random_imputation(model, 0)).log_posterior(codes)
    assert np.isfinite(found).all()


def test_spread_numbers_fill_the_interval_and_the_square_evenly():
    numbers = spread_numbers(512, 12)
    for column in numbers.T:
        assert np.abs(np.sort(column) - (np.arange(512) + 0.5) / 512).max() < 0.02
    assert np.abs(np.corrcoef(numbers.T) - np.eye(12)).max() < 0.15


def two_groups(seed=0, n_rows=600, n_attributes=6):
    """One class of two groups of rows, whose attributes agree within a group; another of noise."""
    rng = np.random.default_rng(seed)
    classes, group = rng.integers(0, 2, n_rows), rng.integers(0, 2, n_rows)
    own = np.where(rng.random((n_rows, n_attributes)) < 0.95, group[:, np.newaxis] * 2, 1)
    codes = np.where(classes[:, np.newaxis] == 0, own, rng.integers(0, 3, (n_rows, n_attributes)))
    return batch_of(codes, classes, (3,) * n_attributes + (2,))


def test_components_find_groups_of_rows_and_describe_each_attribute():
    batch = two_groups()
    classes, by_state = counts_of(batch)
    shares, found = learn_mixture(batch, classes, by_state)
    assert shares.sum() == pytest.approx(1.0)
    for table, counts in zip(found, by_state, strict=True):
        assert (table > 0).all()
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        np.testing.assert_allclose(shares @ table, counts.sum(axis=1) / counts.sum(), atol=0.02)
    # Two attributes agree in the mixture as often as in the rows.
    agree = np.einsum("k,ks,ks->", shares, found[0], found[1])
    assert agree == pytest.approx((batch.codes[:, 0] == batch.codes[:, 1]).mean(), abs=0.05)


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS)
def test_neither_order_nor_blocks_nor_repetition_in_place_of_weights_matters(seed):
    rng, batch = np.random.default_rng(seed), two_groups(seed, 300)
    weights = rng.integers(1, 4, batch.n_rows)
    # A cell of an attribute of one state may be missing too, and says nothing.
    codes = np.column_stack([batch.codes, rng.integers(0, 2, batch.n_rows)])
    batch = batch_of(codes, batch.class_codes, (*batch.n_states[:-1], 1, 2))
    weighted = replace(batch, weights=weights.astype(np.float64))
    classes, by_state = counts_of(weighted)
    shuffled = weighted.take(rng.permutation(batch.n_rows))
    repeated = batch.take(rng.permutation(np.repeat(np.arange(batch.n_rows), weights)))
    for most in (100, average.MAX_ROWS):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(average, "MAX_ROWS", most)
            expected = learn_mixture(weighted, classes, by_state)
            for rows in (shuffled, repeated, CutRows.of(shuffled)):
                found = learn_mixture(rows, classes, by_state)
                for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
                    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(("n_states", "n_classes"), [(3, 200), (60_000, 2), (300_000, 3)])
def test_many_classes_and_columns_of_many_states_have_few_components(n_states, n_classes):
    rng = np.random.default_rng(0)
    codes, classes = rng.integers(0, n_states, (2_000, 2)), rng.integers(0, n_classes, 2_000)
    batch = batch_of(codes, classes, (n_states, n_states, n_classes))
    by_state = [np.zeros((n_states, n_classes)) for _ in range(2)]
    for node, counts in enumerate(by_state):
        np.add.at(counts, (codes[:, node], classes), 1.0)
    shares, found = learn_mixture(batch, np.bincount(classes, minlength=n_classes).astype(float), by_state)
    assert len(shares) <= MAX_COMPONENTS
    assert sum(table.size for table in found) <= max(MAX_CELLS, 2 * n_states)


@pytest.mark.parametrize("make", [tables, effects, with_trees])
def test_corrections_reach_the_frequencies_of_none_and_of_one_known_cell(make):
    model = make(2)
    rng, n_classes = np.random.default_rng(2), model.n_states[-1]
    n_states = model.n_states
    codes = rng.integers(0, n_states[:-1], (500, len(n_states) - 1))
    classes = rng.integers(0, n_classes, 500)
    coarse = model.coarsen(codes.astype(np.uint8))
    rows = batch_of(coarse, classes, tuple(column.coarse.n_states for column in model.columns))
    total, by_state = counts_of(batch_of(codes, classes, n_states))
    by_state = [1e6 * counts for counts in by_state]  # so many rows that none are smoothed
    found = learn_imputation(model, rows, 1e6 * total, by_state, range(len(n_states)))
    rule = Averaged(model, found)
    unknown = np.array([n_states[:-1]], dtype=np.uint8)
    np.testing.assert_allclose(np.exp(rule.log_posterior(unknown)[0]), total / total.sum(), atol=1e-6)
    for node, counts in enumerate(by_state):
        for state in np.flatnonzero(counts.sum(axis=1)):
            row = unknown.copy()
            row[0, node] = state
            np.testing.assert_allclose(
                np.exp(rule.log_posterior(row)[0]), counts[state] / counts[state].sum(), atol=1e-3
            )


def test_arrays_of_other_shapes_are_refused():
    model = random_network(0, [3, 2, 2], density=0.0)
    imputation = random_imputation(model, 0)
    imputation.check(model.columns)
    with pytest.raises(DataError, match=r"shape \(3, 2\); the columns need \(4, 2\)"):
        replace(imputation, states=(imputation.states[0][1:], imputation.states[1])).check(model.columns)
    with pytest.raises(DataError, match="not above zero"):
        replace(imputation, shares=0.0 * imputation.shares).check(model.columns)


def test_without_an_attribute_its_cell_is_not_informative():
    model = tables(6)
    rule = Averaged(model, random_imputation(model, 6).without_attribute(1))
    codes = rows_of(model, 6, 40)
    n_known = (codes[:, [0, 2, 3]] < np.array([3, 4, 2])).sum(axis=1)
    codes[:, 1] = 0
    one = rule._components(codes)
    codes[:, 1] = 1
    np.testing.assert_array_equal(rule._components(codes), one)
    np.testing.assert_array_equal(rule.imputation.corrections(codes[n_known == 0])[0], rule.imputation.nothing)


def gappy_iris(share=0.2):
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, X.mask(np.random.default_rng(0).random(X.shape) < share), y


@pytest.mark.filterwarnings("ignore:column 'A' holds no value")
@pytest.mark.parametrize(
    ("make", "atol", "cell"),
    [
        *((AdditiveClassifier, 0.0, cell) for cell in ("same", 3.0, None)),
        *((TANClassifier, 1e-4, cell) for cell in ("same", 3.0)),
    ],
)
def test_a_column_without_information_changes_no_answer_whatever_is_unknown(make, atol, cell):
    X, gappy, y = gappy_iris(0.4)
    train, test = np.arange(150) % 3 > 0, np.arange(150) % 3 == 0
    kind = float if isinstance(cell, float) else object
    wide, wide_gappy = (frame.assign(A=pd.Series([cell] * 150, dtype=kind)) for frame in (X, gappy))
    clf, other = make().fit(X[train], y[train]), make().fit(wide[train], y[train])
    for rows, wide_rows in ((X, wide), (gappy, wide_gappy)):
        found, expected = other.predict_proba(wide_rows[test]), clf.predict_proba(rows[test])
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def test_what_an_unknown_cell_means_is_decided_by_fit():
    X, gappy, y = gappy_iris()
    clf = TANClassifier(missing="marginalize").fit(X, y)
    before = clf.predict_proba(gappy)
    np.testing.assert_array_equal(clf.set_params(missing="average").predict_proba(gappy), before)


def test_a_class_that_no_row_has_yet_has_no_probability():
    X, gappy, y = gappy_iris(0.5)
    clf = NaiveBayesClassifier(missing="average").partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    found = clf.predict_proba(gappy)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert (found[:, 2] < 0.05).all()


def test_all_is_learnt_by_fit_and_no_training_row_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{k}": rng.permutation(1_000.0 + np.arange(200)) for k in range(4)})
    y = (X["x0"] > 1_100).to_numpy()
    clf = AdditiveClassifier().fit(X, y)
    imputation = clf.missing_rule_.imputation
    gappy = X.mask(rng.random(X.shape) < 0.5)
    expected = clf.predict_proba(gappy)
    assert clf.missing_rule_.imputation is imputation
    save_model(clf, tmp_path / "model.json")
    for model in (load_model(tmp_path / "model.json"), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(model.predict_proba(gappy), expected)
    # A component is of many rows, and its cells are bins of many values.
    document = json.loads((tmp_path / "model.json").read_text())["imputation"]
    assert len(document["shares"]) <= 200 / 15 + 2


def test_averaging_loses_less_than_expected_effects():
    """Log-loss of breast cancer with half of the cells unknown."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    clf = AdditiveClassifier(trees=False).fit(X[train], y[train])
    _, codes = encode_table(clf, X[test].mask(np.random.default_rng(0).random(X[test].shape) < 0.5))
    own = np.arange(test.sum()), y[test].to_numpy()
    averaged = -clf.missing_rule_.log_posterior(codes)[own].mean()
    assert averaged < -clf.model_.log_joint(codes, normalized=True)[own].mean()
