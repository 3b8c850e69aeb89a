"""RowLikelihood against classifiers fitted and asked row by row."""

from dataclasses import replace

import numpy as np
import pytest

from oracle import batch_of, log_joints_without, take_rows
from parameters.tasks import store, task_of
from tanager.network.log_joint import LogJoint, normalize_log
from tanager.parameters import Frequency
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.structure.dag import Dag

N_STATES = (2, 3, 2, 3)
DAGS = {
    "naive Bayes": Dag.augmented_naive_bayes([(), (), ()]),
    "tree": Dag.augmented_naive_bayes([(), (0,), (1,)]),
    "class with parents": Dag(((), (3,), (1, 3), (0,))),
    "an attribute apart": Dag(((3,), (), (3,), ())),
}


def make_batch(seed, n_rows=40, weights=None):
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, r, n_rows) for r in N_STATES], axis=1)
    return batch_of(codes[:, :3], codes[:, 3], N_STATES, weights)


def log_posterior_without(dag, batch):
    """(n_rows, n_classes) log P(class | row) of tables counted from the other rows."""
    return normalize_log(log_joints_without(np.column_stack([batch.codes, batch.class_codes]), dag.parents, N_STATES))


def log_posterior(dag, learnt_from, rows):
    tables = Frequency().learn(task_of(dag, learnt_from)).network.tables
    return normalize_log(LogJoint.of(dag, tables, N_STATES)(rows.codes))[np.arange(rows.n_rows), rows.class_codes]


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
def test_it_is_the_conditional_likelihood_of_the_fitted_network(dag):
    batch = make_batch(0)
    assert RowLikelihood(store(batch), Frequency())(dag) == pytest.approx(log_posterior(dag, batch, batch).sum())


@pytest.mark.parametrize("dag", [DAGS["naive Bayes"], DAGS["tree"], DAGS["an attribute apart"]])
def test_leaving_a_row_out_is_fitting_without_it(dag):
    batch = make_batch(1)
    expected = log_posterior_without(dag, batch)[np.arange(batch.n_rows), batch.class_codes].sum()
    found = RowLikelihood(store(batch), Frequency(), leave_one_out=True)(dag)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_whole_weights_equal_repeated_rows(leave_one_out):
    weights = np.random.default_rng(5).integers(1, 4, 40)
    weighted = make_batch(2, weights=weights.astype(float))
    repeated = replace(take_rows(weighted, np.repeat(np.arange(40), weights)), weights=None)
    for dag in DAGS.values():
        one, other = (RowLikelihood(store(b), Frequency(), leave_one_out)(dag) for b in (weighted, repeated))
        assert one == pytest.approx(other, rel=1e-12)


def test_counting_right_rows_is_counting_those_that_a_fit_without_them_gets_right():
    """Of classes that are most probable alike each counts its share."""
    batch = make_batch(3, n_rows=60)
    for dag in (DAGS["naive Bayes"], DAGS["tree"], DAGS["an attribute apart"]):
        p = np.exp(log_posterior_without(dag, batch))
        best = np.isclose(p, p.max(axis=1, keepdims=True), rtol=1e-9)
        expected = (best[np.arange(batch.n_rows), batch.class_codes] / best.sum(axis=1)).sum()
        assert RowLikelihood(store(batch), Frequency(), leave_one_out=True).count_right(dag) == pytest.approx(expected)


def test_classes_that_are_probable_alike_share_a_right_row():
    batch = batch_of(np.zeros((6, 3)), [0, 0, 1, 1, 2, 2], N_STATES)
    assert RowLikelihood(store(batch), Frequency()).count_right(DAGS["naive Bayes"]) == pytest.approx(6 / 3)
