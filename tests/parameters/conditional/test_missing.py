"""Conditional fits of rows with gaps; oracles: the joint summed over what is missing, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import batch_of, take_rows
from parameters.tasks import assert_same, loss_by_rows, store, task_of
from random_networks import networks
from tanager.missing.marginalize import SummedOut
from tanager.network.network import Network
from tanager.parameters import Conditional, Frequency, ParameterTask
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.network_objective import MissingObjective, rows_to_infer
from tanager.parameters.conditional.objectives import MIXED, Objective
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch

SETTINGS = settings(max_examples=25, deadline=None)
OBJECTIVES = ["cll", "error", "squared", "margin", "mixed", "mixed-margin"]
TAN = Dag.augmented_naive_bayes([[], [0], [1], [0]])


def gappy_task(dag, n_states, n_rows=40, seed=0, gaps=0.3, **options) -> ParameterTask:
    """Random weighted rows, cells removed at random; the first row lacks all, so that some row is always inferred."""
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, r, n_rows) for r in n_states])
    none = np.array(n_states[:-1])
    removed = generator.random((n_rows, len(none))) < gaps
    removed[0] = True
    cells, weights = np.where(removed, none, codes[:, :-1]), generator.uniform(0.3, 2.0, n_rows)
    return task_of(dag, batch_of(cells, codes[:, -1], n_states, weights), **options)


def with_tables(network: Network, cells: ClassCells, task: ParameterTask, beta) -> Network:
    tables = cells.unpack(np.exp(cells.log_normalize(beta)), Frequency().learn(task).network.tables)
    return Network(network.columns, network.dag, tables, network.target)


def loss(network: Network, batch: EncodedBatch, name: str, alpha: float) -> float:
    codes = np.column_stack([batch.codes, batch.class_codes])
    return loss_by_rows(network, codes, (batch.n_attributes,), batch.weights, name, alpha)


@SETTINGS
@given(networks(4), st.integers(0, 1000), st.sampled_from(OBJECTIVES))
def test_changes_of_the_loss_are_those_of_the_joint_summed_over_the_gaps(network, seed, name):
    """Up to a constant: `mixed` leaves out what families without the class add to complete rows."""
    alpha = 0.4 if name in MIXED else 0.0
    task = gappy_task(network.dag, network.n_states, 12, seed)
    cells = ClassCells.of(network.dag, network.n_states)
    objective = MissingObjective(cells, task, name, alpha)
    betas = np.random.default_rng(seed).normal(size=(2, cells.n_cells, cells.n_classes))
    found = [objective(beta)[0] for beta in betas]
    batch = task.counts.rows
    expected = [loss(with_tables(network, cells, task, beta), batch, name, alpha) for beta in betas]
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], rel=1e-9, abs=1e-9)
    if name not in MIXED:
        assert found[0] == pytest.approx(expected[0], rel=1e-9)


@SETTINGS
@given(networks(4), st.integers(0, 1000), st.sampled_from(OBJECTIVES))
def test_the_gradient_is_that_of_finite_differences(network, seed, name):
    task = gappy_task(network.dag, network.n_states, 12, seed)
    cells = ClassCells.of(network.dag, network.n_states)
    objective = MissingObjective(cells, task, name, 0.4 if name in MIXED else 0.0)
    generator = np.random.default_rng(seed)
    beta, direction = generator.normal(size=(2, cells.n_cells, cells.n_classes))
    gradient, step = objective(beta)[1], 1e-5
    numeric = (objective(beta + step * direction)[0] - objective(beta - step * direction)[0]) / (2 * step)
    assert np.vdot(gradient, direction) == pytest.approx(numeric, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_gap_in_an_attribute_of_one_state_leaves_the_objective_of_complete_rows(name):
    n_states, alpha = (1, 3, 2, 2, 3), 0.4 if name in MIXED else 0.0
    task = gappy_task(TAN, n_states, gaps=0.0)
    batch = task.counts.rows
    codes = batch.codes.copy()
    codes[0], codes[1:, 0] = 0, 0
    complete = batch_of(codes, batch.class_codes, n_states, batch.weights)
    codes[::2, 0] = 1
    gappy = batch_of(codes, batch.class_codes, n_states, batch.weights)
    cells = ClassCells.of(TAN, n_states)
    counts = cells.pack(store(complete).tables(TAN.families))
    beta = np.random.default_rng(0).normal(size=(cells.n_cells, cells.n_classes))
    found = MissingObjective(cells, task_of(TAN, gappy), name, alpha)(beta)
    expected = Objective(cells, complete, name, normalized=True, alpha=alpha, counts=counts)(beta)
    assert rows_to_infer(TAN, gappy).tolist() == [True, False] * 20
    assert found[0] == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("objective", ["cll", "squared"])
@pytest.mark.parametrize("prior", ["hierarchical", "generative"])
def test_the_fit_by_inference_has_the_lower_loss_of_the_cells_present(objective, prior):
    inferring, skipping = (gappy_task(TAN, (3, 2, 3, 2, 2), 300, seed=3, skip_gaps=skip) for skip in (False, True))
    learner = Conditional(objective, prior, strength=1e-3, tol=1e-6)
    other = learner.learn(skipping).network
    batch = inferring.counts.rows
    p = np.exp(SummedOut(other).log_posterior(batch.codes))[np.arange(300), batch.class_codes]
    losses = batch.weights @ (-np.log(p) if objective == "cll" else (1 - p) ** 2)
    # The prior hardly counts; the tables are then exchanged for others that classify complete rows alike.
    assert learner.learn(inferring).trace.objective[-1] < losses


def test_without_gaps_both_ways_learn_the_same_tables():
    task = gappy_task(TAN, (3, 2, 3, 2, 2), 200, gaps=0.0)
    batch = task.counts.rows
    whole = take_rows(batch, range(1, 200))
    tasks = (task_of(TAN, whole, skip_gaps=skip_gaps) for skip_gaps in (False, True))
    assert_same(*(Conditional().learn(each).network.tables for each in tasks), rtol=0)


def test_too_many_rows_are_not_inferred(monkeypatch):
    monkeypatch.setattr("tanager.parameters.conditional.learner.MAX_ROWS_TO_INFER", 10)
    task, skipping = (gappy_task(TAN, (3, 2, 3, 2, 2), 60, skip_gaps=skip) for skip in (False, True))
    assert_same(*(Conditional(strength=1.0).learn(each).network.tables for each in (task, skipping)), rtol=0)
