"""Laws of the models of effects: main and pair effects, their prior, gaps and centring."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from tanager import BayesianNetworkClassifier, TANClassifier
from tanager.additive.model import AdditiveModel
from tanager.errors import OptionError
from tanager.parameters import Conditional
from tanager.parameters.conditional import strengths
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.effects import models as choice
from tanager.parameters.effects import problems
from tanager.parameters.effects.centered import Effects, mean_effects, mean_of_models
from tanager.structure import Fixed, Pairwise
from tanager.table.batch import EncodedBatch
from tanager.table.deal import split_rows

EXACT = {"tol": 1e-12, "max_iter": 5_000}


def pairwise(pairs: float = 3, **options: object) -> BayesianNetworkClassifier:
    return BayesianNetworkClassifier(
        Pairwise(pairs_per_attribute=pairs), parameters=Conditional(**{**EXACT, **options}), missing="skip"
    )


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(7)
    n = 400
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "dose": rng.integers(0, 6, n),
            "sex": rng.choice(["f", "m"], n),
            "site": rng.choice(["a", "b", "c"], n),
        }
    )
    logits = np.column_stack(
        [0.1 * (X["age"] - 50), (X["sex"] == "m") * (X["site"] == "a") * 2.0, 0.4 * X["dose"] - 1.0]
    )
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return X, y


def thresholds(codes: np.ndarray, n_states: int) -> np.ndarray:
    """Indicators of the states from each one on, less their means, no further apart end to end than four of them."""
    indicators = codes[:, None] >= np.arange(1, n_states)
    return (indicators - indicators.mean(axis=0)) * np.sqrt(min(1.0, 4.0 / (n_states - 1)))


def smoothest(features: np.ndarray, most: int) -> np.ndarray:
    """The principal components that vary most."""
    return features @ np.linalg.svd(features, full_matrices=False)[2][:most].T


def design(network: AdditiveModel, X: pd.DataFrame, strengths: tuple[float, float]) -> np.ndarray:
    """Thresholds of ordered columns, one-hot of the others, and in pairs their products, scaled by their strengths."""
    codes = np.column_stack([[network.code(name, value) for value in X[name]] for name in X])
    mains, in_pairs = [], []
    for column, own in zip(network.columns, codes.T, strict=False):
        coarse, n_coarse = column.coarse_codes[own], column.coarse.n_states
        if column.has_order:
            mains.append(thresholds(own, column.n_states))
            in_pairs.append(smoothest(thresholds(coarse, n_coarse), 5))
        else:
            mains.append(own[:, None] == np.arange(column.n_states))
            in_pairs.append(mains[-1])
    scale = np.sqrt(strengths[0] / strengths[1])
    products = [in_pairs[p][:, :, None] * in_pairs[c][:, None] for p, c in network.pairs]
    return np.hstack([*mains, *(scale * own.reshape(len(X), -1) for own in products)]).astype(float)


@pytest.mark.parametrize("strengths", [(1.0, 4.0), (10.0, 0.5)])
def test_the_optimum_is_that_of_logistic_regression_on_thresholds_and_pairs(mixed, strengths):
    X, y = mixed
    clf = pairwise(strength=strengths).fit(X, y)
    features = design(clf.network_, X, strengths)
    peer = LogisticRegression(C=1 / strengths[0], tol=1e-10, max_iter=20_000).fit(features, y)
    np.testing.assert_allclose(clf.predict_proba(X), peer.predict_proba(features), atol=2e-4)


def test_infinite_strength_of_main_effects_leaves_the_class_frequencies(mixed):
    X, y = mixed
    p = pairwise(strength=(np.inf, np.inf)).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p, np.tile(np.bincount(y) / len(y), (len(y), 1)), atol=1e-8)


def test_trace_and_report_have_the_pairs_the_passes_and_the_end(mixed, capsys):
    clf = pairwise(1, strength=(1.0, 4.0)).set_params(verbose=True).fit(*mixed)
    trace, printed = clf.trace_.parameters, capsys.readouterr().out
    assert trace.pairs == len(clf.network_.pairs) == 4
    assert f"100% of the model: {trace.pairs} pairs, main effects towards zero" in printed
    assert f"after {trace.passes} passes over the rows: {trace.end}" in printed


def test_infinite_strength_of_pairs_is_the_fit_without_pairs(mixed):
    X, y = mixed
    without = pairwise(pairs=0, strength=(2.0, 1.0)).fit(X, y)
    absent = pairwise(pairs=3, strength=(2.0, np.inf)).fit(X, y)
    nearly = pairwise(pairs=3, strength=(2.0, 1e9)).fit(X, y)
    assert len(nearly.network_.pairs) > 0 == len(without.network_.pairs) == len(absent.network_.pairs)
    for clf in (absent, nearly):
        np.testing.assert_allclose(clf.predict_proba(X), without.predict_proba(X), atol=1e-6)


def test_with_vanishing_strength_the_order_of_states_does_not_matter(mixed):
    X, y = mixed
    ordered = X[["dose", "sex"]]
    unordered = ordered.assign(dose=ordered["dose"].astype(str))
    weak = {"strength": (1e-7, 1e-7)}
    p = pairwise(pairs=0, **weak).fit(ordered, y).predict_proba(ordered)
    np.testing.assert_allclose(p, pairwise(pairs=0, **weak).fit(unordered, y).predict_proba(unordered), atol=1e-4)


def test_on_the_edges_of_a_tree_it_is_the_conditional_tree_under_the_same_prior():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.choice(["u", "v", "w"], 300) for name in "abcd"})
    y = (X["a"] == X["b"]).to_numpy() ^ (rng.random(300) < 0.2)
    clf = pairwise(pairs=1.5, strength=(1.0, 2.0)).fit(X, y)
    children = [child for _, child in clf.network_.pairs]
    assert len(set(children)) < len(children), "the pairs should be more than a tree, for the test to compare a part"
    tree = {child: (parent, child) for parent, child in clf.network_.pairs}
    names = list(X)
    edges = {names[child]: [names[parent]] for parent, child in tree.values()}
    given = Conditional(strength=(1.0, 2.0), **EXACT)
    tan = BayesianNetworkClassifier(Fixed(edges), parameters=given).fit(X, y)
    additive = fit_pairs(X, y, list(tree.values()), given)
    np.testing.assert_allclose(additive.predict_proba(X), tan.predict_proba(X), atol=1e-6)


def fit_pairs(X, y, pairs, parameters) -> BayesianNetworkClassifier:
    class Given(Pairwise):
        def rank(self, counts):
            return tuple(pairs)

    return BayesianNetworkClassifier(Given(), parameters=parameters).fit(X, y)


def test_monotone_data_give_a_monotone_curve():
    x = np.linspace(0.0, 1.0, 600)
    y = (np.random.default_rng(0).random(600) < x).astype(int)
    clf = pairwise(strength=(10.0, np.inf)).fit(pd.DataFrame({"x": x}), y)
    curve = np.diff(clf.network_.main("x"), axis=1)[:, 0]
    smooth = np.convolve(curve, np.ones(5) / 5, "valid")
    assert (np.diff(smooth) > 0).all()


def test_refining_the_bins_changes_little(mixed, monkeypatch):
    X, y = mixed
    answers = []
    for n_fine in (32, 64):
        monkeypatch.setattr("tanager.table.granularity.n_bins", lambda n_rows, n_fine=n_fine: (n_fine, 16))
        clf = pairwise(pairs=0, strength=(1.5,)).fit(X[["age"]], y)
        answers.append(clf.predict_proba(X[["age"]]))
    assert len(clf.network_.states["age"]) > 40
    np.testing.assert_allclose(answers[0], answers[1], atol=0.03)


def test_a_missing_cell_counts_as_the_mean_of_its_states():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"x": rng.choice(["u", "v", "w"], 200, p=[0.6, 0.3, 0.1])})
    y = (X["x"] == "u").to_numpy() ^ (rng.random(200) < 0.3)
    clf = pairwise(strength=(1.0, 1.0)).fit(X, y)
    shares = X["x"].value_counts(normalize=True)
    logs = clf.predict_log_proba(pd.DataFrame({"x": list(shares.index)}))
    odds = logs[:, 1] - logs[:, 0]
    empty = clf.predict_log_proba(pd.DataFrame({"x": pd.Series([None], dtype=object)}))
    assert empty[0, 1] - empty[0, 0] == pytest.approx(shares.to_numpy() @ odds, abs=1e-9)


def test_rows_with_gaps_are_fitted_as_rows_of_expected_cells():
    """The oracle: logistic regression on indicators in which a gap has the shares of the states."""
    rng = np.random.default_rng(6)
    full = rng.integers(0, 3, 400)
    y = rng.random(400) < np.array([0.2, 0.5, 0.9])[full]
    cells = np.array(["u", "v", "w"], dtype=object)[full]
    gap = rng.random(400) < 0.25
    cells[gap] = None
    X = pd.DataFrame({"x": cells})
    clf = pairwise(strength=(2.0, 1.0)).fit(X, y)
    features = np.eye(3)[full]
    features[gap] = features[~gap].mean(axis=0)
    peer = LogisticRegression(C=2 / 2.0, tol=1e-10, max_iter=5_000).fit(features, y)
    np.testing.assert_allclose(clf.predict_proba(X), peer.predict_proba(features), atol=1e-5)


def test_centring_leaves_pairs_without_main_effects_and_main_effects_without_a_mean(mixed):
    X, y = mixed
    network = pairwise(strength=(1.0, 0.5)).fit(X, y).network_
    for main, density in zip(network.mains, network.densities, strict=True):
        np.testing.assert_allclose(density @ main[:-1], 0.0, atol=1e-12)
    for (parent, child), table in zip(network.pairs, network.tables, strict=True):
        for axis, node in enumerate((parent, child)):
            column = network.columns[node]
            coarse = np.bincount(column.coarse_codes[:-1], network.densities[node])
            np.testing.assert_allclose(np.tensordot(coarse, table[:-1, :-1], (0, axis)), 0.0, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_model_is_the_same_for_every_order_of_columns_and_number_of_threads(mixed, n_jobs):
    X, y = mixed
    reference = BayesianNetworkClassifier("pairwise").fit(X, y).predict_proba(X)
    turned = X[["site", "age", "sex", "dose"]]
    again = BayesianNetworkClassifier("pairwise", n_jobs=n_jobs).fit(turned, y).predict_proba(turned)
    np.testing.assert_allclose(again, reference, rtol=1e-11)


@pytest.mark.parametrize(
    "column",
    [
        np.full(120, 3.5),
        np.tile([0.0, 1.0], 60),
        np.linspace(1e9, 1e9 + 1, 120),
        np.tile([-0.0, 0.0, 1.0], 40),
        np.datetime64("2020-01-01") + np.arange(120),
    ],
    ids=["constant", "two values", "large", "signed zeros", "dates"],
)
def test_odd_columns_are_no_trouble(column):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"odd": column, "other": rng.normal(size=120)})
    y = rng.random(120) < 0.5
    p = BayesianNetworkClassifier("pairwise").fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_an_ordered_categorical_shares_strength_between_neighbours():
    levels = [f"level {k}" for k in range(8)]
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 8, 300)
    y = rng.random(300) < 0.1 + 0.1 * codes
    plain = pd.DataFrame({"x": pd.Categorical.from_codes(codes, levels)})
    ordered = pd.DataFrame({"x": pd.Categorical.from_codes(codes, levels, ordered=True)})
    strong = {"strength": (30.0, 1.0)}
    curves = [pairwise(**strong).fit(X, y).network_.main("x")[:, 1] for X in (plain, ordered)]
    steps = [np.abs(np.diff(curve)).max() / np.ptp(curve) for curve in curves]
    assert steps[1] < steps[0]


def test_with_strengths_chosen_on_folds_the_model_is_a_mean_of_the_fit_on_all_rows_and_of_the_folds_mean(monkeypatch):
    monkeypatch.setitem(choice.WALKS, "zero", replace(choice.TO_ZERO, tolerance=1e-9))
    monkeypatch.setattr(strengths, "FOLD_MAX_ITER", 5_000)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (240, 3))
    y = np.where(rng.random(240) < 0.8, (codes[:, 0] + codes[:, 1]) % 3, codes[:, 2])
    ordered = pd.CategoricalDtype([0, 1, 2], ordered=True)  # unordered attributes have two models
    X = pd.DataFrame(codes, columns=["a", "b", "c"]).astype(ordered)
    chosen = pairwise(pairs=1, penalty="squared").fit(X, y)  # all three pairs, whatever their order
    strength = tuple(chosen.trace_.parameters.strength)
    share = chosen.trace_.parameters.share_of_folds
    assert share == pytest.approx(0.5 * (1 - 240 / 750))
    assert len(chosen.network_.pairs) == 3
    batch = EncodedBatch(np.asfortranarray(codes.astype(np.uint8)), y.astype(np.uint8), (3, 3, 3, 3), np.zeros(3, bool))
    parts = [(X, y, None)]
    for kept, _ in split_rows(batch, 20_000, FOLD_SEED):
        own = pd.DataFrame(kept.codes, columns=["a", "b", "c"]).astype(X["a"].dtype)
        parts.append((own, kept.class_codes, kept.weights))
    fits = [pairwise(pairs=1, strength=strength).fit(*part) for part in parts]
    expected = np.average([log_odds(fit, X) for fit in fits], axis=0, weights=[1 - share, *[share / 3] * 3])
    np.testing.assert_allclose(log_odds(chosen, X), expected, atol=1e-3)
    assert np.abs(log_odds(fits[0], X) - expected).max() > 0.1
    assert fits[0].trace_.parameters.share_of_folds == 0


def test_the_more_rows_the_less_the_folds_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y = rng.random(900) < 1 / (1 + np.exp(-X[:, 0]))
    fits = [BayesianNetworkClassifier().fit(X[:n], y[:n]) for n in (100, 400, 750, 900)]
    shares = [fit.trace_.parameters.share_of_folds for fit in fits]
    assert 0.5 > shares[0] > shares[1] > shares[2] == shares[3] == 0


def log_odds(clf: BayesianNetworkClassifier, X: pd.DataFrame) -> np.ndarray:
    p = clf.predict_log_proba(X)
    return p[:, :-1] - p[:, -1:]


def test_in_the_mean_of_fits_a_pair_counts_whichever_way_round_and_is_zero_where_it_is_not():
    rng = np.random.default_rng(0)
    density = (np.full(2, 0.5), np.full(3, 1 / 3))
    mains = (rng.normal(size=(3, 2)), rng.normal(size=(4, 2)))
    table = rng.normal(size=(3, 4, 2))
    there = (Effects(np.zeros(2), mains, (table,), density), ((0, 1),))
    turned = (Effects(np.ones(2), mains, (table.swapaxes(0, 1),), density), ((1, 0),))
    without = (Effects(np.ones(2), mains, (), density), ())
    found = mean_effects([there, turned, without], [2, 1, 1])
    np.testing.assert_allclose(found.tables[0], table * 3 / 4)
    np.testing.assert_allclose(found.intercept, [1 / 2, 1 / 2])
    np.testing.assert_allclose(found.mains[1], mains[1])
    assert mean_effects([without, there], [1, 1]).tables == ()


@pytest.mark.parametrize("share_of_folds", [0.0, 0.3])
def test_the_mean_of_two_models_is_by_their_shares_and_that_of_their_folds(share_of_folds):
    density = (np.full(2, 0.5),)

    def model(share: float, value: float, folds: list[float]) -> SimpleNamespace:
        whole, *parts = ((Effects(np.full(2, v), (np.full((3, 2), v),), (), density), ()) for v in (value, *folds))
        return SimpleNamespace(choice=SimpleNamespace(share=share), whole=whole, folds=tuple(parts))

    found = mean_of_models([model(0.75, 1.0, [2.0, 4.0]), model(0.25, 5.0, [0.0, 2.0])], share_of_folds)
    expected = (1 - share_of_folds) * (0.75 * 1.0 + 0.25 * 5.0) + share_of_folds * (0.75 * 3.0 + 0.25 * 1.0)
    np.testing.assert_allclose(found.intercept, expected)
    np.testing.assert_allclose(found.mains[0], expected)


def test_only_conditional_can_fit_pairs(mixed):
    X, y = mixed
    with pytest.raises(OptionError, match=r"Frequency\(\) cannot fit the effects of structure=Pairwise\(\)"):
        BayesianNetworkClassifier("pairwise", parameters="frequency").fit(X, y)
    with pytest.raises(OptionError, match="structure='pairwise'"):
        BayesianNetworkClassifier("pairwise", parameters=Conditional(prior="generative")).fit(X, y)


def test_a_sample_weight_of_two_is_the_row_twice_in_the_same_number_of_bins(mixed, monkeypatch):
    monkeypatch.setattr("tanager.table.granularity.n_bins", lambda n_rows: (64, 16))
    X, y = mixed
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    doubled = pd.concat([X, X[weights == 2.0]], ignore_index=True)
    clf = pairwise(strength=(3.0, 3.0)).fit(X, y, sample_weight=weights)
    twice = pairwise(strength=(3.0, 3.0)).fit(doubled, np.concatenate([y, y[weights == 2.0]]))
    np.testing.assert_allclose(clf.predict_proba(X), twice.predict_proba(X), atol=1e-5)


def test_error_needs_a_finite_optimum_and_has_one(mixed):
    X, y = mixed
    clf = pairwise(objective="error", strength=(5.0, 5.0), tol=1e-6).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert (clf.predict(X) == y).mean() > (TANClassifier().fit(X, y).predict(X) == y).mean() - 0.1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_plain_and_the_compiled_pass_find_the_same_effects(mixed, monkeypatch, n_classes):
    X, y = mixed
    y = y % n_classes
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)  # gaps are means of what they stand for
    found = []
    for least in (problems.LOOK_UPS_WORTH_COMPILING, 0):
        monkeypatch.setattr(problems, "LOOK_UPS_WORTH_COMPILING", least)
        found.append(pairwise(strength=(3.0, 3.0)).fit(X, y).predict_proba(X))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
