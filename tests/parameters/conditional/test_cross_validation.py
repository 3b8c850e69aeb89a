"""Choices on held-out folds: strengths and iterations that do not fall for noise, and do not miss what is there."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import batch_of, random_batch
from parameters.tasks import assert_same, naive_bayes, noisy, task_of
from tanager.network.log_joint import LogJoint
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional import cross_validation
from tanager.parameters.conditional.cross_validation import (
    PATHS,
    excess_errors,
    split_folds,
    strongest_good,
)
from tanager.parameters.conditional.learner import Conditional
from tanager.parameters.conditional.objectives import MIXED, Objective, indicators
from tanager.structure.dag import Dag

TREE = Dag.augmented_naive_bayes([(), (0,), (0,)])


LOSSES = np.random.default_rng(0).random(100)
NOISE = np.random.default_rng(1).normal(size=100)
NOISE -= NOISE.mean()


@pytest.mark.parametrize(
    ("losses", "weights", "strongest"),
    [
        ([LOSSES, LOSSES, LOSSES], 1.0, 0),
        ([LOSSES, LOSSES - 0.01 + NOISE], 1.0, 0),  # better by a tenth of its standard error
        ([LOSSES, LOSSES - 0.01, LOSSES + 1.0], 1.0, 1),
        ([np.r_[LOSSES, 0.0], np.r_[LOSSES - 0.01, 5.0]], np.r_[np.ones(100), 1e-9], 1),
        ([np.r_[LOSSES, 0.0], np.r_[LOSSES - 0.01, 5.0]], 1.0, 0),
    ],
    ids=["alike", "noise", "a sure gain", "a row of no weight", "a row of weight one"],
)
def test_a_weaker_prior_is_taken_where_it_surely_gains(losses, weights, strongest):
    assert strongest_good(losses, np.broadcast_to(weights, losses[0].shape)) == strongest


def test_levels_that_gain_nothing_stay_absent_and_those_that_do_do_not():
    assert Conditional().learn(task_of(TREE, random_batch(0, 200, (3, 2, 2, 3)))).trace.strength == (np.inf, np.inf)
    main, pairs = Conditional().learn(task_of(TREE, noisy())).trace.strength
    assert main < np.inf == pairs


@given(seed=st.integers(0, 50), scale=st.sampled_from([0.5, 2.0, 1e-6, 1e3]))
def test_standard_errors_are_those_of_a_weighted_mean_of_rows_whatever_the_unit_of_weights(seed, scale):
    generator = np.random.default_rng(seed)
    losses, best, weights = generator.random((3, 40)) + 0.1
    errors = excess_errors(losses, best, weights)
    assert excess_errors(losses, best, scale * weights) == pytest.approx(errors)
    # The bootstrap over rows has the same standard error, but for its own noise.
    drawn = generator.integers(0, 40, (4_000, 40))
    means = (weights * (losses - best))[drawn].sum(axis=1) / weights[drawn].sum(axis=1)
    assert np.average(losses - best, weights=weights) / means.std() == pytest.approx(errors, rel=0.1)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_all_weights_times_a_number_give_the_same_folds_and_a_choice_as_of_a_prior_so_much_weaker(monkeypatch, scale):
    """The path in strengths over the scale: then penalties and losses have the same ratio at every point."""
    batch, choices = noisy(), []
    for factor in (1.0, scale):
        weighted = replace(batch, weights=np.full(batch.n_rows, factor))
        paths = tuple(tuple(factor * strength for strength in path) for path in PATHS)
        with monkeypatch.context() as patch:
            patch.setattr(cross_validation, "PATHS", paths)
            task = task_of(TREE, weighted)
            folds = [rest.codes.tolist() for _, rest in split_folds(task, 1_000, seed=0)]
            strengths = Conditional().learn(task).trace.strength
        choices.append((folds, [strength / factor for strength in strengths]))
    assert choices[0] == choices[1]


@pytest.mark.parametrize(("n_rows", "n_folds"), [(100, 3), (401, 1)])
def test_folds_keep_apart_what_they_learn_from_and_what_they_judge(n_rows, n_folds):
    numbers = np.arange(n_rows)
    batch = batch_of(np.stack([numbers, numbers], axis=1), numbers % 3, (n_rows, n_rows, 3))
    task = task_of(Dag.augmented_naive_bayes([(), ()]), batch)
    judged = []
    for part, rest in split_folds(task, 200, seed=0):
        learnt = set(part.counts.rows.codes[:, 0].tolist())
        assert not learnt & set(rest.codes[:, 0].tolist())
        assert np.ptp(np.bincount(rest.class_codes)) <= 2  # every class alike
        judged.extend(rest.codes[:, 0].tolist())
    assert len(judged) == len(set(judged)) == (n_rows if n_folds == 3 else 200)


@pytest.mark.parametrize(
    ("objective", "normalized"),
    [("cll", False), ("error", False), ("squared", True), ("margin", False), ("mixed", True), ("mixed-margin", True)],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_held_out_are_judged_by_the_objective(objective, normalized, weighted):
    batch = random_batch(0, 50, (3, 2, 2, 3), weighted=weighted)
    cells = ClassCells.of(TREE, batch.n_states)
    counts = cells.pack(task_of(TREE, batch).counts.tables(TREE.families))
    beta = np.random.default_rng(0).normal(size=(cells.n_cells, 3))
    alpha = 0.3 if objective in MIXED else 0.0
    loss = Objective(cells, batch, objective, normalized, alpha, counts)
    losses = loss.losses(beta, indicators(cells, batch), batch.class_codes)
    assert batch.row_weights @ losses == pytest.approx(loss(beta)[0], rel=1e-12)


def test_a_class_of_one_row_is_never_held_out():
    classes = np.r_[np.zeros(20, int), np.ones(20, int), 2]
    batch = batch_of(np.zeros((41, 1), int), classes, (1, 3))
    for part, rest in split_folds(task_of(Dag.augmented_naive_bayes([()]), batch), 100, seed=0):
        assert 2 in part.counts.rows.class_codes
        assert 2 not in rest.class_codes


def test_a_class_that_is_a_function_of_a_pair_gets_weak_pairs():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 2, (200, 3))
    batch = batch_of(codes, codes[:, 0] ^ codes[:, 1], (2, 2, 2, 2))
    dag = Dag.augmented_naive_bayes([(), (0,), (1,)])
    learnt = Conditional().learn(task_of(dag, batch))
    assert learnt.trace.strength[1] < 1.0
    logs = LogJoint.of(dag, learnt.network.tables, batch.n_states)(batch.codes, normalized=True)
    assert -logs[np.arange(200), batch.class_codes].mean() < 0.05


def test_the_strengths_chosen_are_the_strongest_within_reach_of_the_best():
    learnt = Conditional().learn(task_of(TREE, noisy()))
    held_out = dict(learnt.trace.held_out)
    assert learnt.trace.strength in held_out
    assert held_out[learnt.trace.strength] < 1.05 * min(held_out.values())
    assert learnt.trace.passes_on_folds > 0


def test_choosing_strengths_is_the_same_fit_as_giving_them():
    task = task_of(TREE, noisy())
    chosen = Conditional(tol=1e-10).learn(task)
    fixed = Conditional(strength=chosen.trace.strength, tol=1e-10).learn(task)
    assert_same(chosen.network.tables, fixed.network.tables, atol=1e-5)


def test_cross_validation_makes_the_iterations_that_were_best_on_held_out_rows():
    task = task_of(TREE, noisy(n_rows=80))
    tuned = Conditional(prior=None, stopping="cross-tuning").learn(task)
    curve = tuned.trace.by_iteration
    assert len(tuned.trace.objective) - 1 == np.argmin(curve)
    converged = Conditional(prior=None, tol=1e-6).learn(task)
    assert len(tuned.trace.objective) < len(converged.trace.objective)


def test_cross_validation_keeps_the_frequencies_where_nothing_can_be_gained():
    task = task_of(naive_bayes(4), random_batch(0, 60, (4, 4, 4, 4, 2)))
    tuned = Conditional(prior=None, stopping="cross-tuning").learn(task)
    assert len(tuned.trace.objective) <= 3
