"""Laws of the descent on blocks of effects, and of the norm as their penalty."""

from __future__ import annotations

import numpy as np
import pytest

from tanager import BayesianNetworkClassifier, PairwiseClassifier, TANClassifier
from tanager.errors import OptionError
from tanager.explain import explain
from tanager.parameters import Conditional
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.blocks import pad
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.prior import effect_prior
from tanager.structure import pairwise as structure
from tanager.table.batch import EncodedBatch
from tanager.table.schema import ColumnSchema

COLUMNS = (
    *(ColumnSchema(f"number {k}", "numeric", cuts=tuple(range(7)), groups=(0, 0, 1, 1, 2, 2, 3, 3)) for k in range(3)),
    *(ColumnSchema(f"letter {k}", "categorical", categories=("a", "b", "c")) for k in range(3)),
)
PAIRS = ((0, 1), (3, 4), (2, 5), (1, 3))


def rows(n_classes: int, seed: int = 0, n: int = 250) -> EncodedBatch:
    """The first number, the first letter and the pair of letters 0 and 1 say something; some cells are missing."""
    rng = np.random.default_rng(seed)
    fine, letters = rng.integers(0, 8, (n, 3)), rng.integers(0, 3, (n, 3))
    z = np.zeros((n, n_classes))
    z[:, 0] = 0.5 * fine[:, 0] - 2.0 + 1.5 * (letters[:, 0] == 1)
    z[:, 1] = 2.0 * (letters[:, 0] == letters[:, 1])
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    codes = np.column_stack([fine // 2, letters, fine])
    codes[rng.random((n, 9)) < [0, 0.1, 0, 0.1, 0, 0, 0, 0, 0]] = 99
    states = np.array([4, 4, 4, 3, 3, 3, 8, 8, 8])
    codes[codes[:, 1] == 99, 7] = 99
    codes = np.where(codes == 99, states, codes).astype(np.uint8)
    batch = EncodedBatch(np.asfortranarray(codes), y.astype(np.uint8), (*states.tolist(), n_classes), np.ones(9, bool))
    return batch.with_gaps_as_states()


def problem(n_classes: int, seed: int = 0) -> BlockProblem:
    return BlockProblem(EffectLayout(COLUMNS, n_classes, PAIRS), rows(n_classes, seed))


def block_slopes(fitted: BlockProblem, u: np.ndarray, batch: EncodedBatch) -> list[np.ndarray]:
    """The oracle: residuals of P(class | row), summed by cell, then through the matrices of `effect_prior`."""
    cells, beta, codes = fitted.layout.cells, fitted.beta(u), batch.codes.astype(int)
    at = np.tile(cells.offsets[:-1], (len(codes), 1))
    for f, (nodes, strides) in enumerate(zip(cells.attributes, cells.strides, strict=True)):
        at[:, f] += codes[:, list(nodes)] @ np.array(strides, dtype=int)
    scores = beta[at].sum(axis=1)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    residuals = p / p.sum(axis=1, keepdims=True) - np.eye(beta.shape[1])[batch.class_codes]
    by_cell = np.zeros_like(beta)
    np.add.at(by_cell, at, residuals[:, np.newaxis])
    for factor in effect_prior(fitted.layout, fitted.counted).factors:
        by_cell = factor.T @ by_cell
    return np.split(by_cell, fitted.blocks.shapes[1:-1, 7])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [(0.3, 0.3), (0.4, 0.6), (2.0, 0.2)])
def test_a_block_is_zero_iff_the_norm_of_its_slope_is_at_most_its_strength(n_classes, strength):
    fitted, batch = problem(n_classes), rows(n_classes)
    fitted.set_penalty(norm=True)
    fitted.set_strengths(strength)
    u = fitted.descend(fitted.zero, 5_000, 1e-14).u
    sizes = fitted.block_sizes(u)[:-1]
    strengths = np.repeat(strength, [6, 4]) * np.sqrt(250) * fitted.blocks.weights[:-1]
    *slopes, intercept = block_slopes(fitted, u, batch)
    norms = np.array([np.linalg.norm(slope) for slope in slopes])
    assert 0 < (sizes > 0).sum() < len(sizes)
    np.testing.assert_allclose(intercept, 0.0, atol=1e-4)
    assert (norms[sizes == 0] <= strengths[sizes == 0] * (1 + 1e-6)).all()
    np.testing.assert_allclose(norms[sizes > 0], strengths[sizes > 0], rtol=1e-4)
    tables = np.split(u if n_classes > 2 else np.hstack([u, -u]) / 2, fitted.blocks.shapes[1:-1, 7])
    for slope, own, size, at in zip(slopes, tables, sizes, strengths, strict=False):
        if size > 0:
            np.testing.assert_allclose(slope, -at * own / size, atol=1e-3 * at)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_under_a_squared_penalty_every_slope_is_minus_its_effect_times_the_strength(n_classes):
    fitted, batch = problem(n_classes), rows(n_classes)
    fitted.set_strengths((3.0, 5.0))
    u = fitted.descend(fitted.zero, 5_000, 1e-14).u
    *slopes, intercept = block_slopes(fitted, u, batch)
    np.testing.assert_allclose(intercept, 0.0, atol=1e-4)
    effects = np.split(u if n_classes > 2 else np.hstack([u, -u]) / 2, fitted.blocks.shapes[1:-1, 7])
    for slope, own, strength in zip(slopes, effects, np.repeat((3.0, 5.0), [6, 4]), strict=False):
        np.testing.assert_allclose(slope, -strength * own, atol=1e-3)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_rough_descent_is_above_the_optimum_by_no_more_than_its_bound_which_ends_at_zero(n_classes, norm):
    fitted = problem(n_classes)
    fitted.set_penalty(norm)
    fitted.set_strengths((0.3, 0.3))
    optimum = fitted.descend(fitted.zero, 5_000, 1e-14).values[-1]
    bounds = []
    for tolerance in (1e-1, 1e-2, 1e-4, 1e-12):
        descent = fitted.descend(fitted.zero, 5_000, tolerance)
        fitted.certify(descent)
        value = fitted.descend(descent.u, 1, 1.0).values[0]  # with the intercepts solved for
        assert descent.bound is not None
        assert value <= descent.values[-1] + 1e-9
        assert value - optimum <= descent.bound + 1e-9
        bounds.append(descent.bound)
    assert bounds[0] > bounds[-1]
    assert bounds[-1] < 1e-3


@pytest.mark.parametrize("n_classes", [2, 3, 6, 40])
def test_slopes_of_the_loss_are_its_differences_for_any_number_of_classes(n_classes):
    fitted, rng = problem(n_classes), np.random.default_rng(1)
    fitted.set_strengths((1.0, 1.0))
    u, direction = 0.3 * rng.normal(size=(2, *fitted.zero.shape))
    loss, slopes = fitted.loss_and_slopes(pad(u))
    scores = fitted.rows.scores(fitted.beta(u))
    expected = fitted.rows.losses(fitted.beta(u)).sum()
    assert loss == pytest.approx(expected, rel=1e-12)
    assert not scores[:, 1 if n_classes == 2 else n_classes :].any()
    after, before = (fitted.loss_and_slopes(pad(u + h * direction))[0] for h in (1e-5, -1e-5))
    assert (slopes[:, : u.shape[1]] * direction).sum() == pytest.approx((after - before) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_objective_never_rises(norm, n_classes):
    fitted = problem(n_classes, seed=1)
    fitted.set_penalty(norm)
    fitted.set_strengths((0.05, 0.05))
    values = fitted.descend(fitted.zero, 500, 1e-10).values
    assert len(values) > 3
    assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_state_whose_rows_are_all_certain_leaves_the_bounds_of_its_block_near_its_curvature(n_classes, norm):
    """Such rows have no curvature, but what they take from the mean of the block has: 1e299 was not wide enough."""
    fitted = problem(n_classes)
    fitted.set_penalty(norm)
    fitted.set_strengths((0.1, 0.1))
    start = fitted.zero
    shapes = fitted.blocks.shapes
    for block in (3, 4, 7):  # two letters, and their pair
        start[shapes[block, 7] + 1, 0] = 80.0
    descent = fitted.descend(start, 500, 1e-9)
    assert descent.end == "tolerance"
    assert fitted._widths.max() <= 2.0 * np.diff(shapes[:, 7]).max()


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_blocks_that_repeat_each_other_come_to_the_optimum_in_a_hundred_steps(n_classes, norm):
    """The class is a function of letters told twice, each pair of them in four blocks: sweeps alone take thousands."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (400, 3))
    y = (codes[:, 0] * codes[:, 1] + codes[:, 2]) % 2 + (n_classes > 2) * (codes[:, 0] == codes[:, 1])
    columns = tuple(ColumnSchema(f"letter {k}", "categorical", categories=("a", "b", "c")) for k in range(6))
    twice = np.hstack([codes, codes]).astype(np.uint8)
    batch = EncodedBatch(np.asfortranarray(twice), y.astype(np.uint8), (*(3,) * 6, n_classes), np.ones(6, bool))
    pairs = tuple((i, j) for j in range(6) for i in range(j))
    fitted = BlockProblem(EffectLayout(columns, n_classes, pairs), batch.with_gaps_as_states())
    fitted.set_penalty(norm)
    fitted.set_strengths((0.03, 0.03) if norm else (0.01, 0.01))
    descent = fitted.descend(fitted.zero, 100, 3e-7)
    fitted.certify(descent)
    assert descent.end == "tolerance"
    assert descent.bound < 5e-3


def test_a_second_fit_shrinks_a_block_by_how_much_smaller_it_was():
    fitted = problem(2)
    fitted.set_penalty(norm=True)
    fitted.set_strengths((0.3, 0.3))
    u = fitted.descend(fitted.zero, 500, 1e-6).u
    sizes = (fitted.block_sizes(u) * fitted.blocks.weights)[:-1]
    factors = fitted.adaptive_factors(u)[:-1]
    np.testing.assert_allclose(factors[sizes > 0] * sizes[sizes > 0], sizes.max())
    assert np.isinf(factors[sizes == 0]).all()


def noisy(n: int, n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns, of which the first two say something of the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    return X, (rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] - 2 * X[:, 1]))).astype(int)


def log_loss(clf: BayesianNetworkClassifier, X: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(clf.predict_proba(X)[np.arange(len(y)), y]).mean())


def test_noise_columns_are_exactly_zero_and_cost_little():
    X, y = noisy(300, 60, 0)
    others, classes = noisy(5_000, 60, 1)
    clf = PairwiseClassifier().fit(X, y)
    alone = PairwiseClassifier().fit(X[:, :2], y)
    zero = clf.trace_.parameters.zero_attributes
    assert len(zero) > 40
    assert not {"x0", "x1"} & set(zero)
    assert all(not clf.network_.main(name).any() for name in zero)
    overall = explain(clf)
    assert set(zero) == set(overall.zero_terms)
    assert str(overall).endswith(f"exactly zero: {', '.join(overall.zero_terms[:10])} and {len(zero) - 10} more")
    assert log_loss(clf, others, classes) < 1.15 * log_loss(alone, others[:, :2], classes)


def test_the_model_is_the_same_for_any_number_of_threads():
    X, y = noisy(200, 8, 2)
    first, second = (PairwiseClassifier(n_jobs=n_jobs).fit(X, y).predict_proba(X) for n_jobs in (1, 3))
    np.testing.assert_array_equal(first, second)


def test_very_many_attributes_are_paired_among_the_strongest(monkeypatch):
    monkeypatch.setattr(structure, "MAX_PAIRED", 4)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.integers(0, 2, (400, 9))
    for place in (1, 4, 5, 8):
        X[:, place] = np.where(rng.random(400) < 0.7, y, X[:, place])
    clf = PairwiseClassifier(pairs_per_attribute=1, parameters=Conditional(strength=1.0)).fit(X.astype(str), y)
    paired = {attribute for pair in clf.network_.pairs for attribute in pair}
    assert len(clf.network_.pairs) == 4
    assert paired == {1, 4, 5, 8}


@pytest.mark.parametrize(
    ("classifier", "options", "message"),
    [
        (TANClassifier, {"penalty": "norm"}, "penalty='norm' of Conditional is for sums of effects"),
        (PairwiseClassifier, {"penalty": "norm", "objective": "error"}, "needs objective='cll'"),
        (PairwiseClassifier, {"penalty": "norm", "prior": "uniform"}, "prior='hierarchical'"),
        (PairwiseClassifier, {"penalty": "lasso"}, "penalty='lasso'"),
    ],
)
def test_a_penalty_without_meaning_is_refused(classifier, options, message):
    X, y = noisy(60, 2, 0)
    with pytest.raises(OptionError, match=message):
        classifier(parameters=Conditional(**options)).fit(X, y)
