"""Trees beside effects: when they are taken in, and what the model then says."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from tanager import BayesianNetworkClassifier, PairwiseClassifier, explain, load_model, save_model
from tanager.errors import OptionError
from tanager.parameters import Conditional
from tanager.parameters.effects import fit, trees
from tanager.parameters.effects.centered import with_say
from tanager.parameters.effects.problems import EffectProblems
from tanager.parameters.effects.tree_folds import CLEAR_ERRORS, FEWER_ERRORS, STRETCH, Gain, where_it_ends
from tanager.report.learning import trace_sentences
from tanager.structure import Pairwise


def three_way(seed, n_rows, n_classes=2, gaps=0.0):
    """The class is the sum of three of ten columns, modulo the number of classes, less a twentieth of noise."""
    random = np.random.default_rng(seed)
    X = random.integers(0, n_classes, (n_rows, 10))
    y = np.where(random.random(n_rows) < 0.05, random.integers(0, n_classes, n_rows), X[:, :3].sum(axis=1) % n_classes)
    frame = pd.DataFrame(np.array(["u", "v", "w"])[X], columns=list("abcdefghij"))
    return frame.mask(random.random(X.shape) < gaps), y


def nested(seed, n_rows):
    """Three classes by questions of which each depends on the answers before it: a tree of numbers, less some noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6))
    a, b, c, d, e, _ = X.T
    y = np.where(a * b > 0, np.where(c > 0.3, d > 0, e > 0), np.where(e * c > 0, 2, d < 0)).astype(int)
    y = np.where(random.random(n_rows) < 0.05, random.integers(0, 3, n_rows), y)
    return pd.DataFrame(X, columns=list("abcdef")), y


def from_pairs(seed, n_rows):
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, (n_rows, 6))
    odds = sum(random.normal(0, 0.5, 3)[X[:, i]] for i in range(6))
    odds = odds + sum(random.normal(0, 1, (3, 3))[X[:, i], X[:, j]] for i, j in [(0, 1), (2, 3), (1, 4)])
    return pd.DataFrame(X, columns=list("abcdef")).astype(str), random.random(n_rows) < 1 / (1 + np.exp(-odds))


@pytest.fixture(scope="module")
def model():
    X, y = three_way(0, 800, n_classes=3, gaps=0.03)
    return PairwiseClassifier(order=None).fit(X, y), X, y


@pytest.fixture(scope="module")
def with_trees():
    X, y = nested(0, 900)
    return PairwiseClassifier().fit(X, y), X, y


@pytest.mark.parametrize("order", [3, None])
@pytest.mark.parametrize(("seed", "n_classes"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_what_only_three_columns_among_ten_say_together_is_found_from_500_rows(seed, n_classes, order):
    X, y = three_way(seed, 1_000, n_classes)
    clf = PairwiseClassifier(order=order).fit(X[:500], y[:500])
    assert np.mean(clf.predict(X[500:]) != y[500:]) < 0.1  # of effects and pairs half or more are wrong
    assert clf.trace_.parameters.triples == 1


@pytest.mark.parametrize("order", [3, None])
def test_parts_of_sets_add_up_to_the_log_odds_and_name_the_three_columns(order):
    X, y = three_way(0, 700, gaps=0.02)
    clf = PairwiseClassifier(order=order).fit(X, y)
    found = explain(clf, X[:30])
    for row in range(30):
        parts = found.sets(row)
        assert max(map(len, parts)) == 3
        total = found.base_rate[row] + found.baseline[row] + sum(parts.values())
        assert total == pytest.approx(found.log_odds[row], abs=1e-9)
        assert (() in parts) == bool(X.iloc[row].isna().any())
    complete = int(np.flatnonzero(X[:30].notna().all(axis=1))[0])
    assert next(iter(found.sets(complete))) == ("a", "b", "c")


def test_for_equal_strengths_the_penalised_loss_never_rises_with_the_order():
    X, y = three_way(4, 600)
    values = [
        PairwiseClassifier(order=order, parameters=Conditional(strength=(1.0, 1.0)[: 1 if order == 1 else 2]))
        .fit(X, y)
        .trace_.parameters.objective[-1]
        for order in (1, 2, 3, None)
    ]
    assert np.diff(values).max() <= 1e-9 * abs(values[0])


def test_further_folds_hold_out_what_the_first_does_not(monkeypatch):
    X, y = nested(1, 3_100)
    asked, original = [], EffectProblems.more_splits

    def more_splits(problems, one_fold_rows):
        asked.extend([*problems.splits, *original(problems, one_fold_rows)])
        return asked[1:]

    monkeypatch.setattr(EffectProblems, "more_splits", more_splits)
    clf = PairwiseClassifier().fit(X, y)
    assert clf.trace_.parameters.tree_share > 0.0
    assert len(asked) == 3
    held_out = np.concatenate([split.rest.codes for split in asked])
    assert len(np.unique(held_out, axis=0)) == len(held_out) == len(y)


def test_no_leaf_depends_on_more_attributes_than_the_order(with_trees):
    clf, X, y = with_trees
    for order, fitted in ((3, PairwiseClassifier(order=3).fit(X, y)), (None, clf)):
        forest = fitted.network_.forest
        most = max(len(asked_for(forest, root)) for root in forest.roots)
        assert most <= 3 if order == 3 else most > 3


def test_four_times_the_rows_of_the_folds_give_trees_of_twice_the_leaves(with_trees, monkeypatch):
    clf, X, y = with_trees
    monkeypatch.setattr(trees, "MAX_ROWS_FOR_FOLDS", len(y) // 4)
    more = PairwiseClassifier().fit(X, y)
    assert more.trace_.parameters == clf.trace_.parameters
    forests = [fitted.network_.forest for fitted in (clf, more)]
    most = [max(len(leaves_below(forest, root)) for root in forest.roots) for forest in forests]
    assert most[0] < most[1] <= 2 * most[0]


def test_rounds_chosen_on_two_thirds_of_very_many_rows_go_half_as_far_again_on_all(monkeypatch):
    X, y = nested(1, 3_100)
    monkeypatch.setattr(fit, "ONE_FOLD_ROWS", 3_000)
    monkeypatch.setattr(trees, "KINDS_OF_VERY_MANY", trees.KINDS_OF_MANY)
    chosen = PairwiseClassifier().fit(X, y).trace_.parameters
    monkeypatch.setattr(trees, "VERY_MANY_ROWS", len(y))
    clf = PairwiseClassifier().fit(X, y)
    trace = clf.trace_.parameters
    assert (trace.tree_share, trace.tree_forests) == (chosen.tree_share, chosen.tree_forests)
    assert len(clf.network_.forest.roots) == 3 * trace.tree_rounds * trace.tree_forests
    ways = [sum(min(2 ** (k // 100), 4) for k in range(found.tree_rounds)) for found in (chosen, trace)]
    assert ways[1] == pytest.approx(1.5 * ways[0], abs=4 + 0.01 * ways[0])


def leaves_below(forest, end):
    return [end] if end < 0 else [leaf for below in forest.ends[end] for leaf in leaves_below(forest, below)]


def asked_for(forest, end, before=frozenset()):
    """The largest set of attributes asked for on the way to a leaf."""
    if end < 0:
        return before
    asked = before | {int(forest.attributes[end])}
    return max((asked_for(forest, below, asked) for below in forest.ends[end]), key=len)


@pytest.mark.parametrize("seed", range(3))
def test_what_comes_from_pairs_alone_gets_no_trees(seed):
    X, y = from_pairs(seed, 600)
    every, pairs = (PairwiseClassifier(order=order).fit(X, y) for order in (None, 2))
    assert every.network_.forest is None
    np.testing.assert_array_equal(every.predict_proba(X), pairs.predict_proba(X))


@pytest.mark.parametrize(
    ("best", "halves", "clear"),
    [
        (CLEAR_ERRORS + 0.1, -3.0, True),
        (CLEAR_ERRORS - 0.1, 0.0, False),
        (CLEAR_ERRORS - 0.1, FEWER_ERRORS + 0.1, True),
        (FEWER_ERRORS - 0.1, FEWER_ERRORS + 0.1, False),
    ],
)
def test_a_gain_is_clear_by_itself_or_with_that_of_equal_shares(best, halves, clear):
    assert Gain(best, halves).is_clear == clear


def test_a_loss_that_falls_by_a_share_of_what_is_left_ends_where_it_is_said_to():
    course = [0.3 + 0.7 * 0.98**k for k in range(2 * STRETCH + 1)]
    assert where_it_ends(course) == pytest.approx(0.3, abs=1e-12)
    assert where_it_ends(course[:-1]) == -np.inf
    assert where_it_ends([1.0 - k**2 / 1e5 for k in range(2 * STRETCH + 1)]) == -np.inf


def test_noise_gets_no_trees():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 5)), random.integers(0, 2, 600)
    assert PairwiseClassifier(order=None).fit(X, y).network_.forest is None


def test_order_1_has_no_pairs_and_order_2_no_trees():
    X, y = three_way(2, 600)
    first, second = (PairwiseClassifier(order=order).fit(X, y).network_ for order in (1, 2))
    assert first.pairs == ()
    assert first.forest is second.forest is None


def test_fewer_rows_than_500_get_no_trees():
    X, y = three_way(3, 499)
    assert PairwiseClassifier(order=None).fit(X, y).network_.forest is None


def test_an_order_of_its_own_is_refused():
    X, y = three_way(0, 20)
    with pytest.raises(OptionError, match="order=4 must be 1, 2, 3 or None"):
        PairwiseClassifier(order=4).fit(X, y)


def test_the_model_is_the_mean_of_log_odds_that_the_trace_tells():
    X, y = nested(0, 900)
    y = np.where(np.arange(900) % 3 == 0, X["f"] > 0.0, y)  # of which effects know more than trees do
    close = Conditional(penalty="squared", tol=1e-7)
    clf, pairs = (BayesianNetworkClassifier(Pairwise(order=order), parameters=close).fit(X, y) for order in (None, 2))
    trace, mains = clf.trace_.parameters, pairs.network_.mains[0]
    assert 0.0 < trace.tree_share < 1.0
    np.testing.assert_allclose(clf.network_.mains[0], (1.0 - trace.tree_share) * mains, rtol=0, atol=1e-6)
    assert len(clf.network_.forest.roots) == 3 * trace.tree_rounds * trace.tree_forests


def test_beside_trees_effects_are_fitted_as_closely_as_their_part_of_the_model_asks(with_trees):
    clf, X, y = with_trees
    close = BayesianNetworkClassifier(parameters=Conditional(tol=1e-6)).fit(X, y)
    assert close.trace_.parameters.tree_share == clf.trace_.parameters.tree_share > 0.0
    assert close.trace_.parameters.passes > clf.trace_.parameters.passes
    # Of the effects there is a bound, which proves nothing of the model's P.
    assert clf.trace_.parameters.bound is not None
    assert clf.trace_.parameters.p_bound is clf.trace_.parameters.p_rms_bound is None
    assert not any("best fit" in sentence for sentence in trace_sentences(clf.trace_.parameters))
    np.testing.assert_allclose(clf.predict_proba(X), close.predict_proba(X), rtol=0, atol=1e-3)


def test_a_model_that_trees_leave_hardly_any_share_is_not_in_the_mean():
    models = [SimpleNamespace(choice=SimpleNamespace(share=share)) for share in (0.3, 0.6, 0.1)]
    for model in models:
        model.with_share = lambda share: share
    assert with_say(models, 0.5) == models  # a twentieth of the whole is enough
    assert with_say(models, 0.4) == pytest.approx([1 / 3, 2 / 3])
    assert with_say(models, 0.05) == [1.0]


def test_columns_in_another_order_give_the_same_model(model, with_trees):
    for clf, X, y in (model, with_trees):
        other = PairwiseClassifier(order=None).fit(X[X.columns[::-1]], y)
        np.testing.assert_allclose(other.predict_proba(X[X.columns[::-1]]), clf.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", ["auto", "skip"])
def test_explanations_add_up_to_the_log_odds(missing):
    X, y = three_way(0, 800, n_classes=3, gaps=0.03)
    clf = PairwiseClassifier(order=None, missing=missing).fit(X, y)
    assert clf.network_.forest is not None
    logs = np.sort(clf.predict_log_proba(X[:50]), axis=1)
    rows = [explain(clf, X[:50])[k] for k in range(50)]
    found = [row.base_rate + row.baseline + sum(part.log_odds for part in row.contributions) for row in rows]
    np.testing.assert_allclose(found, logs[:, -1] - logs[:, -2], rtol=0, atol=1e-9)


def test_a_stream_gives_the_trees_of_memory(model):
    clf, X, y = model
    rows = pa.Table.from_pandas(X.assign(label=y), preserve_index=False)
    streamed = PairwiseClassifier(order=None).fit(pyarrow.dataset.dataset(rows), "label")
    np.testing.assert_array_equal(streamed.predict_proba(X), clf.predict_proba(X))


def test_the_three_columns_that_matter_are_the_strongest(model):
    assert set(explain(model[0]).ranked[:3]) == set("abc")


def test_a_file_keeps_the_trees(model, tmp_path):
    clf, X, _ = model
    save_model(clf, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_shuffled_rows_and_repeated_rows_give_the_same_trees():
    X, y = three_way(3, 600)
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    once = PairwiseClassifier().fit(X, y, sample_weight=weights)
    repeated = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weights))
    again = PairwiseClassifier().fit(X.iloc[repeated], y[repeated])
    assert len(once.network_.forest.roots)
    np.testing.assert_allclose(once.predict_proba(X), again.predict_proba(X), atol=1e-8)
