"""Tables that back off along their parents, against counts of the rows and refits without one."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from oracle import batch_of, random_batch
from parameters.tasks import assert_same, task_of
from tanager import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.parameters.hierarchical import ERRORS_ALLOWED, Hierarchical
from tanager.structure.averaged import superparent_dag
from tanager.structure.dag import Dag

N_STATES = (3, 2, 3, 2)
DAG = Dag.augmented_naive_bayes([(), (0,), (0, 1)])
LEAST = 4.0


def learn(batch, dag=DAG):
    return Hierarchical(LEAST).learn(task_of(dag, batch))


def leaning(seed, n_rows=120):
    """x2 follows x1, and a little x0."""
    batch = random_batch(seed, n_rows, N_STATES)
    generator = np.random.default_rng(seed)
    codes = batch.codes.copy()
    codes[:, 2] = np.where(generator.random(n_rows) < 0.6, codes[:, 1], codes[:, 2])
    return batch_of(codes, batch.class_codes, N_STATES)


def probability(rows, child, order, values, concentrations):
    """The formula, from the top down: rows and one cell in, a number out."""
    p = 1 / N_STATES[child]
    for depth, m in enumerate(concentrations):
        alike = [row for row in rows if all(row[parent] == values[parent] for parent in order[:depth])]
        hits = sum(row[child] == values[child] for row in alike)
        p = (hits + m * p) / (len(alike) + m)
    return p


def rows_of(batch):
    return [(*codes, c) for codes, c in zip(batch.codes.tolist(), batch.class_codes.tolist(), strict=True)]


def orders(trace):
    return {int(child[1:]): [int(parent[1:]) for parent in parents] for child, parents in trace.parents.items()}


@pytest.mark.parametrize("seed", range(3))
def test_every_cell_is_backed_off_along_the_parents(seed):
    batch = leaning(seed)
    learnt = learn(batch)
    rows, order = rows_of(batch), orders(learnt.trace)
    for child in range(3):
        table = learnt.network.tables[child]
        for values in np.ndindex(N_STATES):
            configuration = 0
            for parent in DAG.parents[child]:
                configuration = configuration * N_STATES[parent] + values[parent]
            expected = probability(rows, child, order[child], values, learnt.trace.concentrations[f"x{child}"])
            assert table[configuration, values[child]] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_the_pseudo_rows_of_a_level_are_those_that_predict_a_row_left_out_best(seed):
    batch = leaning(seed, 40)
    learnt = learn(batch)
    rows, order = rows_of(batch), orders(learnt.trace)[2]
    chosen = learnt.trace.concentrations["x2"]
    for depth in range(1, len(chosen) + 1):

        def left_out(m, depth=depth):
            concentrations = [*chosen[: depth - 1], m]
            return sum(
                log(probability(rows[:t] + rows[t + 1 :], 2, order, row, concentrations)) for t, row in enumerate(rows)
            )

        best = max(map(left_out, [LEAST * 2.0**power for power in range(13)]))
        assert left_out(chosen[depth - 1]) == pytest.approx(best, rel=1e-10)


def test_a_parent_that_says_nothing_is_smoothed_away_and_one_that_decides_is_not():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 2, (600, 3))
    codes[:, 2] = codes[:, 1]
    batch = batch_of(codes, generator.integers(0, 2, 600), (2, 2, 2, 2))
    found = learn(batch).trace
    assert found.parents["x2"] == ["x3", "x1", "x0"]
    assert found.concentrations["x2"][2] == LEAST
    assert found.concentrations["x1"][2] >= 64  # x0 says nothing of x1
    assert found.concentrations["x1"][1] >= 64  # nor does the class


def test_no_level_has_fewer_pseudo_rows_than_the_least():
    batch = leaning(0)
    for least in (0.5, 16.0):
        found = Hierarchical(least).learn(task_of(DAG, batch)).trace.concentrations
        chosen = [m for own in found.values() for m in own]
        assert min(chosen) >= least
        assert all(np.log2(m / least) % 1 == 0 for m in chosen)
    with pytest.raises(OptionError, match="least=0 of Hierarchical"):
        Hierarchical(0).learn(task_of(DAG, batch))


def loss_left_out(batch, least):
    """Mean of -log P(c_t | x_t), the tables counted from the other rows with the concentrations of all rows."""
    trace = Hierarchical(least).learn(task_of(DAG, batch)).trace
    rows, order, losses = rows_of(batch), orders(trace), []
    frequencies = np.bincount(batch.class_codes) / batch.n_rows
    for t, row in enumerate(rows):
        others, joint = rows[:t] + rows[t + 1 :], []
        for c in range(2):
            values = (*row[:-1], c)
            terms = (probability(others, x, order[x], values, trace.concentrations[f"x{x}"]) for x in range(3))
            joint.append(frequencies[c] * np.prod(list(terms)))
        losses.append(-log(joint[row[-1]] / sum(joint)))
    return np.array(losses)


@pytest.mark.parametrize("seed", range(2))
def test_the_least_is_the_largest_that_predicts_the_class_of_rows_left_out_not_clearly_worse_than_the_best(seed):
    batch = leaning(seed, 40)
    trace = Hierarchical().learn(task_of(DAG, batch)).trace
    losses = {least: loss_left_out(batch, least) for least in (0.5, 4.0, 32.0, 512.0, trace.least)}
    for least, each in losses.items():
        assert trace.left_out[least] == pytest.approx(each.mean(), rel=1e-9)
    best = min(trace.left_out, key=trace.left_out.get)
    at_best = loss_left_out(batch, best)

    def clearly_worse(each):
        return each.mean() - at_best.mean() > ERRORS_ALLOWED * (each - at_best).std() / np.sqrt(len(each))

    assert trace.least >= best
    assert not clearly_worse(losses[trace.least])
    for least in trace.left_out:
        if least > trace.least:
            assert clearly_worse(loss_left_out(batch, least))


def test_a_class_that_is_a_function_of_its_attributes_gets_few_pseudo_rows_and_noise_many():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 2, (400, 3))
    by_class = {"function": codes[:, 0] ^ codes[:, 1], "noise": generator.integers(0, 2, 400)}
    leasts = {
        name: Hierarchical().learn(task_of(DAG, batch_of(codes, classes, (2, 2, 2, 2)))).trace.least
        for name, classes in by_class.items()
    }
    assert leasts["function"] <= 2.0
    assert leasts["noise"] >= 256.0


def test_the_class_keeps_its_frequencies():
    batch = leaning(1)
    expected = np.bincount(batch.class_codes, minlength=2) / batch.n_rows
    np.testing.assert_allclose(learn(batch).network.tables[-1][0], expected, rtol=1e-12)


@pytest.mark.parametrize("structure", ["skdb", "selective", "kdb"])
def test_a_structure_judged_by_rows_is_that_of_laplace(structure):
    batch = leaning(3)
    one, other = (
        BayesianNetworkClassifier(structure, None, parameters, categorical_features="all")
        .fit(batch.codes, batch.class_codes)
        .network_.dag
        for parameters in ("frequency", "hierarchical")
    )
    assert one == other


def test_the_members_of_a_mean_have_these_tables():
    batch = leaning(3)
    dags = [superparent_dag(3, (parent,)) for parent in range(3)]
    members = Hierarchical(LEAST).learn_members(task_of(DAG, batch), dags)
    for dag, member in zip(dags, members, strict=True):
        assert_same(member.tables, learn(batch, dag).network.tables, rtol=0)
    clf = BayesianNetworkClassifier("aode", None, "hierarchical", categorical_features="all")
    assert len(clf.fit(batch.codes, batch.class_codes).network_.weights) == 3
