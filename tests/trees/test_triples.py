"""Effects of three attributes, leaves fitted together, and a forest as effects of sets."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from tanager.additive.forest import Forest, by_sets
from tanager.trees.boost import Boosting, TreeOptions
from tanager.trees.refit import Refit
from tanager.trees.triples import find_triples, triple_forest


def coded(seed, n_rows=400, n_attributes=6, n_codes=3):
    random = np.random.default_rng(seed)
    return random, random.integers(0, n_codes, (n_rows, n_attributes)).astype(np.uint16)


def grown(seed, n_classes=3, max_attributes=None):
    random, codes = coded(seed)
    classes = (codes[:, 0] + codes[:, 1] * codes[:, 2] + random.integers(0, 2, len(codes))) % n_classes
    n_codes, ordered = np.full(6, 4), np.zeros(6, dtype=np.int64)
    boosting = Boosting(
        codes,
        classes,
        np.ones(len(codes)),
        np.zeros(n_classes),
        n_codes,
        ordered,
        TreeOptions(max_attributes=max_attributes),
    )
    boosting.grow(6)
    return Forest.of(boosting.trees(), n_codes.tolist(), n_classes).centered()[0], codes, classes


def penalised(forest, codes, classes, offset, penalty):
    """By definition, row by row."""
    scores = offset + forest.scores(codes).T
    loss = logsumexp(scores, axis=0) - scores[classes, np.arange(len(classes))]
    return loss.sum() + penalty / 2 * (forest.values**2).sum()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaves_fitted_together_have_the_lowest_penalised_loss_of_all_values(n_classes):
    greedy, codes, classes = grown(0, n_classes)
    offset = np.random.default_rng(1).normal(size=(n_classes, len(codes)))
    together, value = Refit(greedy, codes, classes, np.ones(len(codes)), offset).fit(2.0)
    assert value == pytest.approx(penalised(together, codes, classes, offset, 2.0), abs=1e-9)
    assert value < penalised(greedy, codes, classes, offset, 2.0)
    random = np.random.default_rng(2)
    for size in (1e-3, 1e-1):
        moved = replace(together, values=together.values + size * random.normal(size=len(together.values)))
        assert penalised(moved, codes, classes, offset, 2.0) > value


def test_the_trees_of_a_triple_are_its_table():
    _, codes = coded(3)
    forest = triple_forest([(1, 3, 4)], codes, np.ones(len(codes)), [4] * 6, 2)
    table = np.random.default_rng(0).normal(size=4**3)
    forest = replace(forest, values=table)
    forest.check([4] * 6, 2)
    cells = (codes[:, 1].astype(int) * 4 + codes[:, 3]) * 4 + codes[:, 4]
    np.testing.assert_array_equal(forest.scores(codes)[:, 1], table[cells])
    counts = np.bincount(cells, minlength=4**3)
    np.testing.assert_allclose(forest.weights[counts > 0], counts[counts > 0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_triple_that_acts_together_is_found_first_and_noise_has_none(n_classes):
    random, codes = coded(5, 500, 8, n_classes)
    together = codes[:, [1, 4, 6]].sum(axis=1) % n_classes
    classes = np.where(random.random(500) < 0.2, random.integers(0, n_classes, 500), together)
    nothing, n_codes = np.zeros((n_classes, 500)), np.full(8, n_classes + 1)
    assert find_triples(codes, classes, np.ones(500), nothing, n_codes)[0] == (1, 4, 6)
    assert find_triples(codes, random.permutation(classes), np.ones(500), nothing, n_codes) == []


@pytest.mark.parametrize("n_classes", [2, 3])
def test_effects_of_sets_add_up_to_the_forest_and_depend_on_their_attributes_alone(n_classes):
    forest, codes, _ = grown(4, n_classes, max_attributes=3)
    parts = by_sets(forest, codes, 6)
    np.testing.assert_allclose(sum(parts.values()), forest.scores(codes), rtol=0, atol=1e-12)
    assert max(map(len, parts)) == 3
    random = np.random.default_rng(0)
    for attributes, part in parts.items():
        others = [attribute for attribute in range(6) if attribute not in attributes]
        changed = codes.copy()
        changed[:, others] = random.permutation(changed[:, others])
        np.testing.assert_allclose(by_sets(forest, changed, 6)[attributes], part, rtol=0, atol=1e-12)


def test_leaves_of_more_than_three_attributes_are_put_down_to_single_ones():
    random, codes = coded(6, 600)
    classes = (codes[:, :5].sum(axis=1) + random.integers(0, 2, 600)) % 2
    boosting = Boosting(codes, classes, np.ones(600), np.zeros(2), np.full(6, 4), np.zeros(6), TreeOptions(24))
    boosting.grow(4)
    forest = Forest.of(boosting.trees(), [4] * 6, 2).centered()[0]
    parts = by_sets(forest, codes, 6)
    assert max(map(len, parts)) <= 3
    np.testing.assert_allclose(sum(parts.values()), forest.scores(codes), rtol=0, atol=1e-12)


def test_joined_and_scaled_forests_add_up():
    (one, codes, _), (other, _, _) = grown(0), grown(1)
    joined = one.scaled(0.25).joined(other)
    joined.check([4] * 6, 3)
    np.testing.assert_allclose(joined.scores(codes), 0.25 * one.scores(codes) + other.scores(codes), atol=1e-12)


def test_centered_trees_have_a_mean_of_zero_and_lose_no_more_than_it():
    forest, codes, _ = grown(2)
    moved = replace(forest, values=forest.values + 0.5)
    centered, means = moved.centered()
    np.testing.assert_allclose(centered.scores(codes).mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(centered.scores(codes) + means, moved.scores(codes), atol=1e-12)


def test_trees_of_half_of_the_attributes_ask_for_no_more_and_in_all_for_every_one():
    random, codes = coded(7)
    classes = random.integers(0, 2, len(codes))
    rows = (codes, classes, np.ones(len(codes)), np.zeros(2), np.full(6, 4), np.zeros(6))
    first, again, other = (Boosting(*rows, TreeOptions(24, asked=0.5, seed=seed)) for seed in (0, 0, 1))
    for forest in (first, again, other):
        forest.grow(20)
    asked = [[set(tree.nodes[:, 0].tolist()) for tree in forest.trees()] for forest in (first, again, other)]
    assert max(len(each) for each in asked[0]) == 3
    assert set().union(*asked[0]) == set(range(6))
    assert asked[0] == asked[1] != asked[2]
