"""Objectives: values against the joint row by row, gradients against differences, engines against each other."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import log_softmax

from oracle import batch_of, count_rows, random_batch, take_rows
from parameters.tasks import row_loss
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional import objectives
from tanager.parameters.conditional.objectives import MIXED, POWERS, CompiledPass, IndicatorPass, Objective
from tanager.runtime.resources import thread_limit
from tanager.structure.dag import Dag

N_STATES = (3, 2, 2, 3)
DAGS = {
    "naive Bayes": Dag.augmented_naive_bayes([(), (), ()]),
    "tree": Dag.augmented_naive_bayes([(), (0,), (0,)]),
    "two parents": Dag.augmented_naive_bayes([(), (0,), (0, 1)]),
    "class with parents": Dag(((), (), (1, 3), (0, 1))),
    "an attribute apart": Dag(((3,), (0,), (3,), ())),
}
OBJECTIVES = ["cll", "error", "squared", "margin", "mixed", "mixed-margin"]
ALPHA = 0.3


def problem(dag, name="cll", normalized=False, n_states=N_STATES, gaps=0.0, weighted=True, n_rows=30):
    batch = random_batch(7, n_rows, n_states, gaps=gaps, weighted=weighted)
    cells = ClassCells.of(dag, n_states)
    counts = cells.pack([count_rows(batch, family.nodes).reshape(family.shape(n_states)) for family in dag.families])
    objective = Objective(cells, batch, name, normalized, ALPHA if name in MIXED else 0.0, counts)
    beta = np.random.default_rng(3).normal(size=(cells.n_cells, cells.n_classes))
    return batch, cells, objective, beta


def log_joint(dag, tables, batch):
    """(n_rows, n_classes) sums over the families with the class of the entry of each row, a cell at a time."""
    target = batch.n_attributes
    result = np.zeros((batch.n_rows, batch.n_classes))
    for row in range(batch.n_rows):
        for c in range(batch.n_classes):
            states = [*batch.codes[row].tolist(), c]
            for family in dag.families:
                missing = any(states[node] == batch.n_states[node] for node in family.nodes if node != target)
                if target not in family.nodes or missing:
                    continue
                shape = [batch.n_states[node] for node in family.nodes]
                result[row, c] += tables[family.child].reshape(shape)[tuple(states[node] for node in family.nodes)]
    return result


def by_hand(name, joint, batch):
    """The formulas of METHODS section 4 with the sign turned where larger is better."""
    rows = np.arange(batch.n_rows)
    evidence = np.log(np.exp(joint).sum(axis=1))
    p = np.exp(joint[rows, batch.class_codes] - evidence)
    return float(row_loss(name, p, np.exp(evidence), ALPHA) @ batch.row_weights)


def tables_of(cells, beta, n_nodes=4):
    return cells.unpack(beta, [np.empty(0)] * n_nodes)


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
@pytest.mark.parametrize(
    ("name", "normalized"), [(n, k) for n in OBJECTIVES for k in (False, True) if n not in MIXED or k]
)
def test_the_value_is_that_of_the_formula_row_by_row_and_the_gradient_the_limit_of_differences(dag, name, normalized):
    batch, cells, objective, beta = problem(dag, name, normalized)
    tables = list(tables_of(cells, beta))
    if normalized:
        for family in cells.families:
            tables[family.child] = log_softmax(tables[family.child], axis=1)
    value, gradient = objective(beta)
    assert value == pytest.approx(by_hand(name, log_joint(dag, tables, batch), batch), rel=1e-12)
    step = 1e-6
    for at in np.ndindex(beta.shape):
        higher, lower = beta.copy(), beta.copy()
        higher[at] += step
        lower[at] -= step
        difference = (objective(higher)[0] - objective(lower)[0]) / (2 * step)
        assert gradient[at] == pytest.approx(difference, abs=2e-7)


@pytest.mark.parametrize("dag", [DAGS["naive Bayes"], DAGS["tree"]])
def test_a_family_with_a_missing_cell_adds_nothing(dag):
    batch, cells, objective, beta = problem(dag, gaps=0.4)
    assert batch.incomplete.any()
    assert objective(beta)[0] == pytest.approx(by_hand("cll", log_joint(dag, tables_of(cells, beta), batch), batch))


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_pass_equals_the_sparse_one(dag, n_classes, weighted):
    n_states = (*N_STATES[:-1], n_classes)
    batch, cells, _, beta = problem(dag, n_states=n_states, gaps=0.2, weighted=weighted, n_rows=3_000)
    odds = beta[:, :-1] - beta[:, -1:]
    for power in POWERS.values():
        value, gradient = CompiledPass(cells, [batch], power)(odds)
        expected, expected_gradient = IndicatorPass(cells, batch, power)(odds)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_neither_threads_nor_batches_change_a_digit(monkeypatch, n_classes):
    monkeypatch.setattr(objectives, "PART_LOOK_UPS", 1_000)
    batch, cells, _, beta = problem(DAGS["tree"], n_states=(3, 2, 2, n_classes), gaps=0.1, n_rows=5_000)
    odds = beta[:, :-1] - beta[:, -1:]
    # A batch of one row may have no missing cell.
    batches = [take_rows(batch, range(*ends)) for ends in pairwise([0, 700, 701, 3_000, 5_000])]
    gradients = []
    for parts, n_jobs in (([batch], 1), ([batch], 3), (batches, 3)):
        with thread_limit(n_jobs):
            gradients.append(CompiledPass(cells, parts, 0)(odds)[1])
    np.testing.assert_array_equal(gradients[1], gradients[0])
    np.testing.assert_array_equal(gradients[2], gradients[0])


def test_a_hundred_attributes_of_one_state_share_a_look_up():
    dag = Dag.augmented_naive_bayes([()] * 100)
    batch = random_batch(0, 64, (*[1] * 99, 2, 2))
    cells = ClassCells.of(dag, batch.n_states)
    odds = np.random.default_rng(0).normal(size=(cells.n_cells, 1))
    value, gradient = CompiledPass(cells, [batch], 0)(odds)
    expected, slopes = IndicatorPass(cells, batch, 0)(odds)
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, slopes, atol=1e-12)


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
def test_normalised_tables_sum_to_one(dag):
    _, cells, _, beta = problem(dag)
    tables = tables_of(cells, np.exp(cells.log_normalize(beta)))
    for family in cells.families:
        np.testing.assert_allclose(tables[family.child].sum(axis=1), 1.0, rtol=1e-14)


def test_along_a_line_of_tables_the_likelihood_has_two_peaks_and_along_a_line_of_logarithms_one():
    """Roos et al. 2005, example 3: a class with one child, all four rows once."""
    cells = ClassCells.of(Dag.augmented_naive_bayes([()]), (2, 2))
    objective = Objective(cells, batch_of([[0], [1], [0], [1]], [0, 0, 1, 1], (2, 2)))

    def logs(alpha: float) -> np.ndarray:
        return cells.pack([np.log([[0.5, 0.5], [alpha, 1 - alpha]]), np.log([[0.1, 0.9]])])

    def peaks(values: np.ndarray) -> int:
        inner = values[1:-1]
        return int(((inner > values[:-2]) & (inner > values[2:])).sum())

    line = np.linspace(0.005, 0.995, 397)
    by_table = np.array([-objective(logs(alpha))[0] for alpha in line])
    by_hand = [
        np.log(0.05 / (0.05 + 0.9 * a)) + np.log(0.05 / (0.05 + 0.9 * (1 - a)))
        + np.log(0.9 * a / (0.05 + 0.9 * a)) + np.log(0.9 * (1 - a) / (0.05 + 0.9 * (1 - a)))
        for a in line
    ]  # fmt: skip
    np.testing.assert_allclose(by_table, by_hand, rtol=1e-12)
    assert peaks(by_table) == 2
    # The same ends, joined by a straight line of logarithms.
    first, last = logs(line[0]), logs(line[-1])
    by_logarithm = np.array([-objective(first + t * (last - first))[0] for t in np.linspace(0, 1, 397)])
    assert peaks(by_logarithm) == 1
    assert (np.diff(by_logarithm, 2) < 0).all()  # concave
