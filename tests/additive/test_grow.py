"""Trees of a round: in NumPy and compiled, bit for bit, and their splits by brute force."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.additive import grow as grow_module
from tanager.additive.grow import UNIT_BITS, Codebook, Grown, _grow_in_numpy, grow_trees
from tanager.runtime.resources import thread_limit

ORDERED = (5, 0, 3, 0, 7)  # how many codes have an order; 0 for categories
N_CODES = (7, 5, 4, 3, 8)  # with a missing state or an unknown one
SEEDS = st.integers(0, 10_000)
EVERY = np.arange(len(N_CODES))
NONE = 1e-9  # hardly a penalty


@dataclass
class GrowTable:
    """codes (n_rows, n_attributes); gradients and Hessians (n_trees, n_rows) in whole units."""

    codes: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray
    ordered: tuple[int, ...] = ORDERED
    n_codes: tuple[int, ...] = N_CODES

    @classmethod
    def random(cls, seed, n_rows=80, n_trees=3, size=1_000, trimmed=0.2):
        """The smaller the size, the more ties; rows that are trimmed have no influence in a tree."""
        rng = np.random.default_rng(seed)
        codes = np.column_stack([rng.integers(0, n, n_rows) for n in N_CODES]).astype(np.uint8)
        gradients = rng.integers(-size, size + 1, (n_trees, n_rows))
        gradients += (size * (codes[:, 0] > 2) * (codes[:, 1] % 2)).astype(np.int64)
        used = rng.random((n_trees, n_rows)) >= trimmed
        return cls(codes, gradients * used, rng.integers(1, size + 1, (n_trees, n_rows)) * used)

    @property
    def book(self):
        return Codebook.of(np.array(self.n_codes), np.array(self.ordered))

    @property
    def packed(self):
        return (self.gradients << UNIT_BITS) + self.hessians


def all_splits(table: GrowTable, tree: int, attribute: int, least: float, penalty: float):
    """(gain, codes that go left) of every split of all rows of a tree; of categories every subset is one."""
    n, n_ordered = table.n_codes[attribute], table.ordered[attribute]
    if n_ordered:
        apart = set(range(n_ordered, n))
        sides = [set(range(k)) | more for k in range(n_ordered + 1) for more in (set(), apart)]
    else:
        sides = [set(some) for k in range(n + 1) for some in combinations(range(n), k)]
    g, h = table.gradients[tree].astype(float), table.hessians[tree].astype(float)

    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + penalty)

    for side in sides:
        left = np.isin(table.codes[:, attribute], list(side))
        if h[left].sum() >= least and h[~left].sum() >= least:
            yield score(left) + score(~left) - g.sum() ** 2 / (h.sum() + penalty), side


def in_numpy(table, asked, least, penalty, depth):
    n_trees, n_nodes = len(table.packed), 2**depth - 1
    grown = Grown(
        np.full((n_trees, n_nodes), -1),
        np.zeros((n_trees, n_nodes, table.book.most), dtype=bool),
        np.zeros(table.packed.shape, dtype=np.int64),
    )
    _grow_in_numpy(table.book.bins(table.codes), table.packed, asked, table.book, least, penalty, depth, grown)
    return grown


def compiled(table, asked, least, penalty, depth):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grow_module, "SMALL", -1)
        return grow_trees(table.book.bins(table.codes), table.packed, asked, table.book, least, penalty, depth)


def every_attribute(table):
    return np.tile(EVERY, (len(table.packed), 1))


@given(SEEDS, st.integers(1, 5), st.sampled_from([1, 3, 1_000_000]), st.sampled_from([NONE, 0.3, 40.0]))
@settings(max_examples=60, deadline=None)
def test_numpy_and_compiled_trees_are_equal_bit_for_bit(seed, depth, size, penalty):
    """With ties of all kinds where gradients are small, trees of some attributes, and rows without influence."""
    rng = np.random.default_rng(seed)
    table = GrowTable.random(seed, n_rows=int(rng.integers(2, 120)), size=size, trimmed=rng.choice([0.0, 0.3]))
    asked = np.stack([np.sort(rng.permutation(len(N_CODES))[:3]) for _ in table.packed])
    least, penalties = size * rng.choice([0.5, 3.0], len(asked)), np.full(len(asked), penalty * size)
    one, other = (grow(table, asked, least, penalties, depth) for grow in (in_numpy, compiled))
    np.testing.assert_array_equal(one.attributes, other.attributes)
    np.testing.assert_array_equal(one.left, other.left)
    np.testing.assert_array_equal(one.node_of_row, other.node_of_row)


@pytest.mark.parametrize("grow", [in_numpy, compiled])
@pytest.mark.parametrize(("least", "penalty"), [(3_000.0, NONE), (3_000.0, 500.0), (NONE, NONE)])
@pytest.mark.parametrize("attribute", range(5))
def test_a_split_is_the_best_of_all(grow, least, penalty, attribute):
    """Of categories of all subsets, hardly with a penalty and without a least Hessian (Fisher 1958)."""
    if not ORDERED[attribute] and least > NONE:
        return
    table = GrowTable.random(1)
    trees = len(table.packed)
    grown = grow(table, np.full((trees, 1), attribute), np.full(trees, least), np.full(trees, penalty), 1)
    for tree in range(trees):
        assert_best(table, grown, tree, list(all_splits(table, tree, attribute, least, penalty)))


def assert_best(table, grown, tree, splits):
    attribute = grown.attributes[tree, 0]
    best = max(gain for gain, _ in splits)
    present = set(np.unique(table.codes[table.packed[tree] != 0, attribute]).tolist())
    left = set(np.flatnonzero(grown.left[tree, 0]).tolist()) & present
    gains = [gain for gain, side in splits if side & present == left]
    assert gains
    assert max(gains) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("grow", [in_numpy, compiled])
def test_of_all_attributes_the_one_that_gains_most_is_split_on(grow):
    table, least, penalty = GrowTable.random(3), 2_000.0, 300.0
    table = replace(table, ordered=(7, 5, 4, 3, 8))  # all of an order: every split is tried
    trees = len(table.packed)
    grown = grow(table, every_attribute(table), np.full(trees, least), np.full(trees, penalty), 1)
    for tree in range(trees):
        best = [max(all_splits(table, tree, a, least, penalty), key=lambda split: split[0])[0] for a in EVERY]
        assert grown.attributes[tree, 0] == int(np.argmax(best))


@pytest.mark.parametrize("grow", [in_numpy, compiled])
def test_every_leaf_has_the_least_hessian_and_rows_without_influence_are_led_too(grow):
    table, least = GrowTable.random(5, n_rows=200), 5_000.0
    trees = len(table.packed)
    grown = grow(table, every_attribute(table), np.full(trees, least), np.full(trees, NONE), 4)
    for tree in range(trees):
        weights = np.bincount(grown.node_of_row[tree], table.hessians[tree])
        assert (weights[np.unique(grown.node_of_row[tree])] >= least).all()
        assert len(np.unique(grown.node_of_row[tree])) > 2


@pytest.mark.parametrize("grow", [in_numpy, compiled])
def test_a_category_without_rows_goes_to_the_heavier_side(grow):
    table = GrowTable.random(6)
    table.codes[table.codes[:, 1] == 2, 1] = 0
    trees = len(table.packed)
    grown = grow(table, np.ones((trees, 1), dtype=np.int64), np.full(trees, 100.0), np.full(trees, NONE), 1)
    for tree in range(trees):
        left = grown.left[tree, 0]
        heavier = 2 * table.hessians[tree, left[table.codes[:, 1]]].sum() > table.hessians[tree].sum()
        assert left[2] == heavier


@pytest.mark.parametrize("grow", [in_numpy, compiled])
def test_nothing_is_split_where_nothing_is_gained(grow):
    table = GrowTable.random(7)
    flat = replace(table, gradients=5 * table.hessians)  # gradient / Hessian is the same everywhere
    none = replace(table, gradients=0 * table.gradients)
    for own in (flat, none):
        trees = len(own.packed)
        grown = grow(own, every_attribute(own), np.full(trees, 100.0), np.full(trees, NONE), 3)
        assert (grown.attributes == -1).all()
        assert not grown.node_of_row.any()


def test_trees_do_not_depend_on_threads():
    table = GrowTable.random(8, n_rows=300, n_trees=6)
    arguments = every_attribute(table), np.full(6, 500.0), np.full(6, 100.0), 4
    with thread_limit(1):
        one = compiled(table, *arguments)
    for threads in (2, 5):
        with thread_limit(threads):
            other = compiled(table, *arguments)
        np.testing.assert_array_equal(one.node_of_row, other.node_of_row)


def test_bins_have_room_for_every_code():
    for n_codes in ([3, 4], [40_000, 40_000]):
        book = Codebook.of(np.array(n_codes), np.zeros(2))
        codes = np.array([[0, 0], [n_codes[0] - 1, n_codes[1] - 1]])
        assert book.bins(codes).tolist() == [[0, n_codes[0]], [n_codes[0] - 1, sum(n_codes) - 1]]
