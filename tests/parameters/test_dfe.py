"""DFE against the definition: row by row, with tables recomputed from the frequencies gathered so far."""

import math

import numpy as np
import pytest

from oracle import batch_of, random_batch
from parameters.tasks import assert_same, task_of
from tanager.errors import OptionError
from tanager.parameters import dfe
from tanager.parameters.dfe import DFE
from tanager.structure.dag import Dag

N_STATES = (3, 2, 4, 3)
NAIVE = Dag.augmented_naive_bayes([(), (), ()])
TREE = Dag.augmented_naive_bayes([(), (0,), (1,)])
CLASS_WITH_PARENTS = Dag(((), (0,), (1, 3), (0,)))  # x1 does not have the class as parent


def learn(learner, dag, batch):
    return learner.learn(task_of(dag, batch))


def estimates(learner, dag, batch):
    return learner.tables(task_of(dag, batch))[0]


def by_definition(dag, batch, passes, pseudo):
    """{(node, parents' states, state): frequency}, adding 1 - P(c | x) row by row; P from smoothed frequencies."""
    target = len(batch.n_states) - 1
    frequency = {}

    def smoothed(node, states):
        parents = tuple(states[parent] for parent in dag.parents[node])
        if states[node] is None or None in parents:
            return 1.0
        cells = [frequency.get((node, parents, k), 0.0) + pseudo[node][k] for k in range(batch.n_states[node])]
        return cells[states[node]] / sum(cells)

    for _ in range(passes):
        for t in range(batch.n_rows):
            row = [code if code < r else None for code, r in zip(batch.codes[t].tolist(), batch.n_states, strict=False)]
            own = int(batch.class_codes[t])
            joint = [
                math.prod(smoothed(node, [*row, c]) for node in range(target + 1)) for c in range(batch.n_states[-1])
            ]
            step = (1.0 - joint[own] / sum(joint)) * (1.0 if batch.weights is None else batch.weights[t])
            states = [*row, own]
            for node in range(target + 1):
                parents = tuple(states[parent] for parent in dag.parents[node])
                if states[node] is not None and None not in parents:
                    key = node, parents, states[node]
                    frequency[key] = frequency.get(key, 0.0) + step
    tables = []
    for family in dag.families:
        table = np.tile(np.asarray(pseudo[family.child], dtype=float), (family.shape(batch.n_states)[0], 1))
        for (node, parents, state), value in frequency.items():
            if node == family.child:
                table[
                    np.ravel_multi_index(parents, [batch.n_states[p] for p in family.parents]) if parents else 0, state
                ] += value
        tables.append(table / table.sum(axis=1, keepdims=True))
    return tables


@pytest.mark.parametrize("dag", [NAIVE, TREE, CLASS_WITH_PARENTS])
@pytest.mark.parametrize(
    ("smoothing", "passes", "options"),
    [("laplace", 1, {}), ("laplace", 3, {"weighted": True}), ("laplace", 1, {"gaps": 0.3}), ("friedman", 1, {})],
    ids=["plain", "weighted, passes", "gaps", "friedman"],
)
def test_tables_are_those_of_the_definition(dag, smoothing, passes, options, monkeypatch):
    monkeypatch.setattr(dfe, "BLOCK_PLACES", 100)  # several blocks
    batch = random_batch(0, 60, N_STATES, **options)
    pseudo = [[0.5] * r for r in N_STATES]
    if smoothing == "friedman":
        pseudo = [0.5 * np.bincount(batch.column(node), minlength=r) / 60 for node, r in enumerate(N_STATES)]
    expected = by_definition(dag, batch, passes, pseudo)
    assert_same(estimates(DFE(passes, smoothing, 0.5), dag, batch), expected, rtol=1e-9)


def test_attributes_that_all_tell_the_class_overflow_nothing():
    classes = np.arange(8) % 2
    batch = batch_of(np.tile(classes[:, None], 100), classes, (2,) * 101, np.full(8, 1e6))
    dag = Dag.augmented_naive_bayes([()] * 100)
    expected = by_definition(dag, batch, 1, [[1.0, 1.0]] * 101)
    assert_same(estimates(DFE(), dag, batch), expected, rtol=1e-9)


def test_the_first_row_counts_as_far_as_chance_is_wrong():
    task = task_of(Dag.augmented_naive_bayes([()]), batch_of([[1]], [2], (2, 3)))
    tables, mean_loss = DFE().tables(task)
    step = 1 - 1 / 3
    np.testing.assert_allclose(tables[1][0], np.array([1, 1, 1 + step]) / (3 + step))
    np.testing.assert_allclose(tables[0][2], np.array([1, 1 + step]) / (2 + step))
    assert mean_loss == (pytest.approx(step),)


def test_loss_falls_from_pass_to_pass_on_classes_that_can_be_told_apart():
    codes = np.random.default_rng(0).integers(0, 3, (200, 2))
    learnt = learn(DFE(5), Dag.augmented_naive_bayes([(), ()]), batch_of(codes, codes[:, 0], (3, 3, 3)))
    assert (np.diff(learnt.trace.mean_loss) < 0).all()


@pytest.mark.parametrize("passes", [0, -1, 1.5, "2"])
def test_passes_must_be_a_whole_number_above_zero(passes):
    with pytest.raises(OptionError, match="passes"):
        learn(DFE(passes), NAIVE, random_batch(0, 5, N_STATES))
