"""Laws of the prior of effects: walks, sheets, and where a fit starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_moons

from tanager import BayesianNetworkClassifier
from tanager.parameters import Conditional
from tanager.parameters.effects.layout import EffectLayout, effect_bases, step_variance, walk_effects
from tanager.parameters.effects.prior import BlockDiagonal, effect_prior, naive_bayes_odds, start_from_folds
from tanager.table.schema import ColumnSchema

ROWS = st.lists(st.integers(0, 50), min_size=2, max_size=20).filter(any).map(lambda rows: np.array(rows, dtype=float))

COLUMNS = (
    ColumnSchema("fine", "numeric", cuts=tuple(range(9)), groups=(0, 0, 1, 2, 3, 4, 5, 6, 7, 8), gap_state=True),
    ColumnSchema("coarse", "numeric", cuts=(0.0, 1.0)),
    ColumnSchema("unordered", "categorical", categories=("a", "b", "c")),
)


@pytest.fixture(scope="module")
def layout() -> tuple[EffectLayout, np.ndarray]:
    own = EffectLayout(COLUMNS, 3, ((0, 1), (0, 2), (2, 1)))
    return own, np.random.default_rng(0).integers(1, 9, (own.cells.n_cells, 3)).astype(float)


def product(factors: tuple[object, ...]) -> np.ndarray:
    effects = factors[0]
    for factor in factors[1:]:
        effects = effects @ factor
    return effects.toarray()


@given(ROWS)
@settings(max_examples=50, deadline=None)
def test_steps_of_a_walk_are_independent_and_of_one_variance(rows):
    steps = np.diff(walk_effects(rows), axis=0)
    np.testing.assert_allclose(steps @ steps.T, step_variance(len(rows)) * np.eye(len(rows) - 1), atol=1e-9)


@given(ROWS)
@settings(max_examples=50, deadline=None)
def test_a_walk_ends_no_further_off_than_four_full_steps(rows):
    walk = walk_effects(rows)
    assert ((walk[-1] - walk[0]) ** 2).sum() == pytest.approx(min(4, len(rows) - 1))


@given(ROWS, st.integers(1, 6))
@settings(max_examples=50, deadline=None)
def test_the_parts_kept_of_a_walk_leave_least_of_its_variance_over_the_rows(rows, most):
    """The oracle: what singular values say of the best approximation of that rank."""
    weights = np.sqrt(rows)[:, np.newaxis]
    whole, kept = weights * walk_effects(rows), weights * walk_effects(rows, most)
    left = np.linalg.svd(whole, compute_uv=False)[most:]
    assert (whole**2).sum() - (kept**2).sum() == pytest.approx((left**2).sum(), abs=1e-6)


def test_blocks_lie_along_the_diagonal():
    """The oracle: scipy's."""
    rng = np.random.default_rng(3)
    blocks = [rng.normal(size=(2, 3)), np.eye(2), rng.normal(size=(1, 0)), rng.normal(size=(3, 1))]
    own = BlockDiagonal()
    for block in blocks:
        if block is blocks[1]:
            own.add_identity(2)
        else:
            own.begin(*block.shape)
            own.add(*np.indices(block.shape), block)
    np.testing.assert_array_equal(own.matrix().toarray(), sparse.block_diag(blocks).toarray())


def test_the_intercept_starts_at_the_class_frequencies_and_a_class_without_rows_at_half_a_row(layout):
    own, rows = layout
    rows = rows * np.array([1.0, 1.0, 0.0])
    counts = rows[-1]
    expected = np.log([counts[0] / counts.sum(), counts[1] / counts.sum(), 0.5 / counts.sum()])
    prior = effect_prior(own, rows)
    assert prior.start[-1] == pytest.approx(expected)
    fixed = np.argwhere(np.isinf(prior.precision((1.0, 1.0))))
    assert fixed.tolist() == [[len(prior.levels) - 1, 2]]


def test_pairs_are_products_of_what_their_attributes_are_alone(layout):
    own, rows = layout
    effects = product(effect_prior(own, rows).factors)
    spread = effects @ effects.T  # of the prior, but for the strengths
    for f, (parent, child) in enumerate(own.pairs, start=len(COLUMNS)):
        if parent == 0:
            continue  # its walk is cut to the smoothest parts
        alone = [spread[own.cells.offsets[a] :][:, own.cells.offsets[a] :] for a in (parent, child)]
        n_parent, n_child = (COLUMNS[a].n_states for a in (parent, child))
        expected = np.kron(alone[0][:n_parent, :n_parent], alone[1][:n_child, :n_child])
        table = spread[own.cells.offsets[f] : own.cells.offsets[f + 1]][:, own.cells.offsets[f] :]
        shape = (n_parent + 1, n_child + 1)
        present = np.ravel_multi_index(np.indices((n_parent, n_child)).reshape(2, -1), shape)
        np.testing.assert_allclose(table[np.ix_(present, present)], expected, atol=1e-9)


def test_many_rows_keep_every_part_of_a_walk(layout, monkeypatch):
    own, rows = layout
    few = effect_bases(own, rows).coarse[0].shape[1]
    monkeypatch.setattr("tanager.parameters.effects.layout.MANY_ROWS", 1)
    assert (few, effect_bases(own, rows).coarse[0].shape[1]) == (5 + 1, COLUMNS[0].coarse.n_states - 1)


def test_passes_over_blocks_and_the_scale_of_many_rows_change_the_descent_and_not_the_optimum(monkeypatch):
    X, y = make_moons(500, noise=0.3, random_state=0)
    clf = BayesianNetworkClassifier(parameters=Conditional(strength=(1.0, 1.0), tol=1e-12, max_iter=5_000))
    expected = clf.fit(X, y).predict_proba(X)
    monkeypatch.setattr("tanager.parameters.effects.problems.MAX_LOOK_UPS_IN_BLOCKS", 0)
    np.testing.assert_allclose(clf.fit(X, y).predict_proba(X), expected, atol=1e-5)
    passes = clf.trace_.parameters.passes
    monkeypatch.setattr("tanager.parameters.effects.problems.MANY_ROWS", 1)
    np.testing.assert_allclose(clf.fit(X, y).predict_proba(X), expected, atol=1e-5)
    assert clf.trace_.parameters.passes != passes


@pytest.mark.parametrize("centred", [False, True])
def test_a_fit_starts_at_the_effects_of_a_fold_that_has_all_rows(layout, centred):
    own, rows = layout
    prior = effect_prior(own, rows)
    zero = prior.start + (naive_bayes_odds(own, rows) if centred else 0.0)
    u = np.random.default_rng(1).normal(size=prior.levels.shape)
    beta = zero + product(prior.factors) @ u
    np.testing.assert_allclose(start_from_folds(own, zero, rows, [(own, beta)]), u, atol=1e-9)


def test_a_pair_that_no_fold_has_starts_at_zero(layout):
    own, rows = layout
    prior = effect_prior(own, rows)
    fewer = EffectLayout(COLUMNS, 3, own.pairs[:1])
    start = start_from_folds(own, prior.start, rows, [(fewer, np.ones((fewer.cells.n_cells, 3)))])
    n_mains = sum(prior.levels[:, 0] == 0)
    n_first = 6 * 2  # five parts of the walk and the gap, by two steps
    assert not start[n_mains + n_first : -1].any()


def test_neighbouring_cells_of_a_pair_of_numbers_are_alike():
    X, y = make_moons(2_000, noise=0.2, random_state=0)
    table = BayesianNetworkClassifier(parameters=Conditional(strength=(1.0, 1.0))).fit(X, y).network_.tables[0]
    odds = table[:-1, :-1, 1] - table[:-1, :-1, 0]
    assert np.abs(np.diff(odds, axis=0)).mean() < 0.5 * odds.std()
    assert np.abs(np.diff(odds, axis=1)).mean() < 0.5 * odds.std()
