"""Priors: the effects of the hierarchical one against its covariance, gradients against differences, limits."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from oracle import random_batch
from parameters.tasks import naive_bayes, task_of
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.descent import minimize
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.conditional.penalized import PRIORS, Penalized, hierarchical_effects
from tanager.parameters.frequency import Frequency
from tanager.structure.dag import Dag

N_STATES = (3, 2, 2, 2)
DAGS = {
    "tree": Dag.augmented_naive_bayes([(), (0,), (0,)]),
    "two parents": Dag.augmented_naive_bayes([(), (0,), (0, 1)]),
    "class with parents": Dag(((), (), (1, 3), (0, 1))),
}
STRENGTHS = {"none": (), "uniform": (), "generative": (2.0,), "hierarchical": (0.7, 3.0, 5.0)}


def problem(dag, prior, strengths, objective="cll", n_rows=60, normalized=False, n_states=N_STATES, alpha=0.0):
    batch = random_batch(5, n_rows, n_states)
    task = task_of(dag, batch)
    cells = ClassCells.of(dag, n_states)
    counted = cells.pack(task.counts.tables(dag.families))
    loss = Objective(cells, batch, objective, normalized, alpha, counted)
    result = Penalized(cells, loss, PRIORS[prior](task, cells), counted.sum(axis=1))
    result.set_strengths(strengths)
    return task, cells, loss, result


def fit(dag, prior, strengths, **options):
    task, cells, _, penalized = problem(dag, prior, strengths, **options)
    return task, cells, penalized.beta(minimize(penalized, penalized.zero, 2_000, 1e-14).u)


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("normalized", [False, True])
def test_gradients_are_the_limit_of_differences(dag, prior, normalized):
    _, _, _, penalized = problem(dag, prior, STRENGTHS[prior], normalized=normalized)
    start = np.random.default_rng(1).normal(size=penalized.to_vector(penalized.zero).shape)
    gradient = penalized(start)[1]
    step = 1e-6
    for at in range(len(start)):
        move = step * (np.arange(len(start)) == at)
        difference = (penalized(start + move)[0] - penalized(start - move)[0]) / (2 * step)
        assert gradient[at] == pytest.approx(difference, abs=5e-7)


def covariance(n_parents, strengths):
    """K = sum_S 1/strength_|S| kron_p (I if p in S else ones), over configurations of parents with these states."""
    size = int(np.prod(n_parents))
    total = np.zeros((size, size))
    for level in range(len(n_parents) + 1):
        for subset in combinations(range(len(n_parents)), level):
            factors = [np.eye(r) if p in subset else np.ones((r, r)) for p, r in enumerate(n_parents)]
            total += reduce(np.kron, factors, np.ones((1, 1))) / strengths[level]
    return total


@pytest.mark.parametrize("dag", [DAGS["tree"], DAGS["two parents"]], ids=["tree", "two parents"])
def test_effects_fitted_give_the_table_fitted_under_the_induced_penalty(dag):
    strengths = STRENGTHS["hierarchical"]
    _, cells, loss, _ = problem(dag, "hierarchical", strengths)
    precisions = [
        np.linalg.inv(covariance([N_STATES[p] for p in family.parents if p < 3], strengths))
        for family in cells.families[:-1]
    ]

    def merged(vector):
        """The table itself as variable; 1/2 beta^T K^-1 beta for each state of the child and class."""
        beta = vector.reshape(cells.n_cells, 2)
        value, gradient = loss(beta)
        for f, precision in enumerate(precisions):
            own = slice(cells.offsets[f], cells.offsets[f + 1])
            part = beta[own].reshape(len(precision), -1)
            value += 0.5 * np.sum(part * (precision @ part))
            gradient[own] += (precision @ part).reshape(-1, 2)
        return value, gradient.ravel()

    found = scipy_minimize(
        merged, np.zeros(cells.n_cells * 2), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5_000}
    )
    effects = fit(dag, "hierarchical", strengths)[2]
    others = slice(0, cells.first_class_cell)
    np.testing.assert_allclose(effects[others], found.x.reshape(-1, 2)[others], atol=1e-6)


def test_an_effect_for_every_subset_of_the_parents():
    cells = ClassCells.of(DAGS["two parents"], N_STATES)
    effects, levels = hierarchical_effects(cells)
    # x0; x1 and x0 x1; x2, x0 x2, x1 x2 and x0 x1 x2; the class
    assert np.bincount(levels + 1).tolist() == [1, 3 + 2 + 2, 3 * 2 + 3 * 2 + 2 * 2, 3 * 2 * 2]
    np.testing.assert_array_equal(effects.sum(axis=1), [1] * 3 + [2] * 6 + [4] * 12 + [1])


def test_the_class_given_attributes_backs_off_to_its_intercept():
    cells = ClassCells.of(DAGS["class with parents"], N_STATES)
    levels = hierarchical_effects(cells)[1]
    # x2 with parent x1: 2 + 4; the class given x0, x1: 1, 3 + 2, 6
    assert np.bincount(levels + 1).tolist() == [1, 2 + 3 + 2, 4 + 6]


def test_pairs_of_infinite_strength_give_the_naive_bayes_fit():
    tree = fit(DAGS["tree"], "hierarchical", (2.0, np.inf))
    naive = fit(naive_bayes(3), "hierarchical", (2.0,))
    of_tree = tree[1].unpack(tree[2], [np.empty(0)] * 4)
    of_naive = naive[1].unpack(naive[2], [np.empty(0)] * 4)
    for node in (1, 2):
        by_parent = of_tree[node].reshape(3, 2, 2)
        np.testing.assert_array_equal(by_parent, np.broadcast_to(by_parent[0], (3, 2, 2)))
        np.testing.assert_allclose(by_parent[0], of_naive[node], atol=1e-7)


def test_a_generative_prior_of_infinite_strength_gives_the_frequencies():
    task, cells, beta = fit(DAGS["tree"], "generative", (np.inf,))
    tables = cells.unpack(beta, [np.empty(0)] * 4)
    for found, expected in zip(tables[:3], Frequency().learn(task).network.tables, strict=False):
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-14)


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
def test_the_uniform_prior_adds_a_row_to_every_entry_of_the_joint_likelihood(dag):
    task, cells, beta = fit(dag, "uniform", (), objective="mixed", normalized=True, alpha=1.0)
    tables = cells.unpack(np.exp(cells.log_normalize(beta)), [np.empty(0)] * 4)
    for family in cells.families:
        counted = task.counts.table(family).reshape(family.shape(N_STATES)) + 1.0
        np.testing.assert_allclose(tables[family.child], counted / counted.sum(axis=1, keepdims=True), atol=1e-6)
