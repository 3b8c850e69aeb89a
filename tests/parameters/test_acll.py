"""ACLLOptimal: no other tables have a higher approximate conditional likelihood."""

import numpy as np
import pytest

from oracle import batch_of
from parameters.tasks import task_of
from tanager.parameters import ACLLOptimal
from tanager.scores.acll_constants import dirichlet_line, uniform_beta
from tanager.structure.dag import Dag

N_STATES = (3, 2, 3)
TREE = Dag.augmented_naive_bayes([(), (0,)])


def task(n_rows=4_000):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, n_rows)
    # Weakly tied to the class: every weight is well above the pseudo-count, so nothing is clipped.
    a = np.where(generator.random(n_rows) < 0.08, y, generator.integers(0, 3, n_rows))
    b = np.where(generator.random(n_rows) < 0.08, (a + y) % 2, generator.integers(0, 2, n_rows))
    return task_of(TREE, batch_of(np.stack([a, b], axis=1), y, N_STATES)), np.stack([a, b, y], axis=1)


def approximate_cll(rows, tables, beta):
    """sum_t [alpha log p(x_t, c_t) + beta sum_{c != c_t} log p(x_t, c)], row by row (aCLL 2013, without gamma)."""
    total = 0.0
    for a, b, y in rows:
        joint = [np.log(tables[2][0, c] * tables[0][c, a] * tables[1][3 * a + c, b]) for c in range(3)]
        total += joint[y] + beta * sum(joint)
    return total


@pytest.mark.parametrize(
    ("learner", "beta"),
    [
        (ACLLOptimal(), uniform_beta(3)),
        (ACLLOptimal("dirichlet"), dirichlet_line(3, 1.0, 1.0, 4_000).beta),
        (ACLLOptimal("dirichlet", a=3, b=2), dirichlet_line(3, 3, 3, 2).beta),
    ],
    ids=["uniform", "dirichlet", "dirichlet of 3 and 2"],
)
def test_small_changes_of_any_table_lower_the_approximate_likelihood(learner, beta):
    problem, rows = task()
    learnt = learner.learn(problem)
    for table in learnt.network.tables:
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    best = approximate_cll(rows, learnt.network.tables, beta)
    generator = np.random.default_rng(1)
    for _ in range(10):
        moved = []
        for table in learnt.network.tables:
            other = table * np.exp(0.05 * generator.normal(size=table.shape))
            moved.append(other / other.sum(axis=1, keepdims=True))
        assert approximate_cll(rows, moved, beta) < best


def test_a_pseudo_count_above_all_counts_makes_all_states_alike():
    problem, rows = task()
    for table in ACLLOptimal(pseudo_count=len(rows) + 1).learn(problem).network.tables:
        np.testing.assert_allclose(table, 1 / table.shape[1])
