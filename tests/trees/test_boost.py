"""Rounds of trees, and the forest they make."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import mutual_info_score

from tanager.additive import forest as forest_module
from tanager.additive.forest import Forest
from tanager.threads import thread_limit
from tanager.trees import boost
from tanager.trees.boost import Boosting, TreeOptions, most_telling, rounds_as_far
from tanager.trees.held_out_rows import HeldOutRows
from tanager.trees.round_kernels import rows_that_matter
from trees.grow_by_hand import Table


def boosted(table, n_classes, rounds, **options):
    classes = (table.codes[:, 0] + table.codes[:, 1] + np.arange(len(table.codes)) % 2) % n_classes
    start = np.log(np.bincount(classes, minlength=n_classes) / len(classes))
    options = TreeOptions(**options)
    boosting = Boosting(table.codes, classes, table.weights, start, table.n_codes, table.ordered, options)
    losses = [boosting.loss()]
    for _ in range(rounds):
        boosting.grow()
        losses.append(boosting.loss())
    return boosting, losses, start


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_loss_of_the_rows_it_grows_on_never_rises(n_classes):
    _, losses, _ = boosted(Table(0, n_rows=200), n_classes, 40, rate=0.05)
    assert np.diff(losses).max() <= 0.0
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("times", [1.0, 1.25, 1.5])
@pytest.mark.parametrize("n_rounds", [1, 60, 100, 101, 190, 400])
def test_rounds_as_far_are_the_fewest_whose_steps_add_up_to_so_many_times_as_much(n_rounds, times):
    # Each step is 1, 2 from the hundredth on, 4 from the two-hundredth on.
    asked = times * sum(min(2 ** (k // 100), 4) for k in range(n_rounds))
    way, further = 0, 0
    while way < asked:
        way += 1 if further < 100 else 2 if further < 200 else 4
        further += 1
    assert rounds_as_far(n_rounds, times) == further


@pytest.mark.parametrize("asked", [0.5, 1.0])
def test_of_very_many_attributes_trees_ask_for_those_that_tell_most_about_the_class(monkeypatch, asked):
    monkeypatch.setattr(boost, "MAX_ATTRIBUTES", 4)
    rng = np.random.default_rng(5)
    n_codes = np.array([3, 9, 3, 4, 20, 3, 5, 3, 6])
    codes = np.column_stack([rng.integers(0, n - 1, 400) for n in n_codes])
    classes = (codes[:, 5] > 0).astype(int) + (codes[:, 1] + rng.integers(0, 4, 400) > 5)
    told = [
        400 * mutual_info_score(column, classes) - (len(set(column)) - 1) for column in codes.T
    ]  # a half of the degrees of freedom of three classes
    best = set(np.argsort(told)[-4:])
    rows = codes, classes, np.ones(400), np.zeros(3), n_codes, np.zeros(9)
    boosting = Boosting(*rows, TreeOptions(max_leaves=6, asked=asked))
    boosting.grow(30)
    seen = {int(attribute) for tree in boosting.trees() for attribute in tree.nodes[:, 0]}
    assert {1, 5} <= seen <= best
    assert set(most_telling(boosting._bins, classes, np.ones(400), boosting._starts, 3)) == best


def walk(tree, row):
    """The value of the leaf of one row, step by step."""
    if not len(tree.nodes):
        return tree.values[0]
    at = 0
    while at >= 0:
        attribute, left, right = tree.nodes[at]
        at = left if tree.left[at, row[attribute]] else right
    return tree.values[~at]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_forest_adds_up_the_leaves_that_a_row_walks_to(n_classes, compiled, monkeypatch):
    table = Table(2, n_rows=150)
    boosting, _, start = boosted(table, n_classes, 10)
    monkeypatch.setattr(forest_module, "WORK_WORTH_COMPILING", 0 if compiled else np.inf)
    found = Forest.of(boosting.trees(), table.n_codes, n_classes).scores(table.codes)
    by_hand = np.zeros((len(table.codes), n_classes))
    for tree in boosting.trees():
        by_hand[:, tree.of_class] += [walk(tree, row) for row in table.codes]
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found + start, boosting.scores.T, rtol=0, atol=1e-12)


def test_trees_are_the_same_bit_for_bit_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(boost, "CELLS_WORTH_THREADS", 0)
    found = []
    for n_threads in (1, 3):
        with thread_limit(n_threads):
            boosting, _, _ = boosted(Table(3, n_rows=300), 3, 5)
        found.append([tree.values.tobytes() + tree.nodes.tobytes() + tree.left.tobytes() for tree in boosting.trees()])
    assert found[0] == found[1]


def test_a_row_of_weight_two_is_the_row_twice():
    table = Table(4, n_rows=120)
    twice = np.repeat(np.arange(120), table.weights.astype(int))
    repeated = Table(4, n_rows=120)
    classes = table.codes[:, 0] % 2
    repeated.codes = table.codes[twice]
    options, start = TreeOptions(), np.zeros(2)
    one = Boosting(table.codes, classes, table.weights, start, table.n_codes, table.ordered, options)
    two = Boosting(repeated.codes, classes[twice], np.ones(len(twice)), start, table.n_codes, table.ordered, options)
    one.grow(5)
    two.grow(5)
    np.testing.assert_allclose(one.scores[:, twice], two.scores, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_held_out_get_the_log_odds_and_the_losses_of_the_first_rounds(n_classes):
    table, other = Table(6, n_rows=150), Table(7, n_rows=40)
    boosting, _, start = boosted(table, n_classes, 3)
    classes = np.arange(40) % n_classes
    rest = HeldOutRows(boosting, other.codes, classes, other.weights, other.n_codes)
    rest.follow()
    boosting.grow(4)
    rest.follow()
    assert len(rest.losses) == 8
    for n_rounds, loss in enumerate(rest.losses):
        scores = start + Forest.of(boosting.trees(n_rounds), table.n_codes, n_classes).scores(other.codes)
        np.testing.assert_allclose(rest.scores_after(n_rounds), scores.T, rtol=0, atol=1e-12)
        by_hand = logsumexp(scores, axis=1) - scores[np.arange(40), classes]
        assert loss == pytest.approx(np.average(by_hand, weights=other.weights), abs=1e-12)


def test_rows_without_a_say_have_less_than_their_share_of_the_gradients():
    random = np.random.default_rng(8)
    share, weights, classes = random.random(500) ** 6, random.integers(1, 4, 500).astype(float), np.zeros(500, int)
    order, total = rows_that_matter(classes, weights, 1, share, 0.1)
    assert total == pytest.approx(weights @ share)
    left_out = np.setdiff1d(np.arange(500), order)
    assert 0.0 < weights[left_out] @ share[left_out] < 0.1 * total
    assert share[left_out].max() < share[order].min()
    assert len(rows_that_matter(classes, weights, 1, share, 0.0)[0]) == 500


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_any_weight_have_finite_log_odds_after_many_rounds(seed):
    """A heavy row that is missed for certain has a gradient of its weight, and next to no Hessian."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (300, 3)).astype(np.uint8)
    classes = (codes[:, 0] > 2).astype(int) + (codes[:, 1] > 3)
    classes[:30] = rng.integers(0, 3, 30)
    weights = 10.0 ** rng.integers(0, 12, 300)
    options = TreeOptions(max_leaves=8)
    boosting = Boosting(codes, classes, weights, np.zeros(3), np.full(3, 7), np.full(3, 6), options)
    boosting.grow(300)
    assert np.isfinite(boosting.scores).all()
    assert boosting.loss() < np.log(3)
