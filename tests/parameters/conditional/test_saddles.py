"""Structures with several optima (Roos et al. 2005, theorem 4): saddles are left, and the best of many starts found."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit

from oracle import batch_of
from parameters.tasks import task_of
from tanager import Network, tune
from tanager.parameters import Conditional
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

X1, X2, X0 = 0, 1, 2
COLLIDER = Dag(((), (X1, X0), ()))  # X0 -> X2 <- X1, the class is X0
EXAMPLE_4 = ((0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1))  # (26), as (x0, x1, x2)
BARRIER = ((0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1))


def rows_of(alpha, repeated, barrier):
    """D' of so many rows, alpha of them with X2 = 1, and with the four rows that keep the optimum finite D''."""
    shares = [alpha / 2, (1 - alpha) / 2, alpha / 2, (1 - alpha) / 2]
    rows = [row for row, share in zip(EXAMPLE_4, shares, strict=True) for _ in range(round(repeated * share))]
    x0, x1, x2 = np.array([*rows, *(BARRIER if barrier else ())]).T
    return batch_of(np.stack([x1, x2], axis=1), x0, (2, 2, 2))


DATA = {
    "D": rows_of(0.5, 4, barrier=False),
    "D'": rows_of(0.4, 40, barrier=False),
    "D'', alpha 1/2": rows_of(0.5, 100, barrier=True),
    "D'', alpha .4": rows_of(0.4, 100, barrier=True),
}


@cache
def best_of_30_starts(data, prior):
    """The lowest of - sum_t log P(x0 | x1, x2), with a prior less the sum of the logs of all entries (equation 28)."""
    batch, (x0, x1, x2) = DATA[data], np.array(EXAMPLE_4 + BARRIER).T
    kinds = np.column_stack([batch.class_codes, batch.codes])
    counts = [(kinds == row).all(axis=1).sum() for row in EXAMPLE_4 + BARRIER]

    def loss(logits):
        tables = logits[1:].reshape(2, 2)  # log odds of X2 = 1 given x0 and x1
        log_joint = [log_expit(logits[0] * (2 * c - 1)) + log_expit(tables[c, x1] * (2 * x2 - 1)) for c in (0, 1)]
        likelihood = np.where(x0 == 1, log_joint[1], log_joint[0]) - np.logaddexp(*log_joint)
        return -np.array(counts) @ likelihood - (prior is not None) * (log_expit(logits) + log_expit(-logits)).sum()

    generator = np.random.default_rng(1)
    bounds = [(-20.0, 20.0)] * 5
    return min(minimize(loss, generator.normal(0, 3, 5), bounds=bounds).fun for _ in range(30))


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("prior", [None, "uniform"])
@pytest.mark.filterwarnings("ignore::tanager.errors.SeparationWarning")
def test_the_fit_is_as_good_as_the_best_of_thirty_starts_and_is_an_optimum(data, prior):
    batch = DATA[data]
    trace = Conditional(prior=prior).learn(task_of(COLLIDER, batch)).trace
    assert trace.objective[-1] == pytest.approx(best_of_30_starts(data, prior), abs=1e-3 * batch.n_rows)
    where = "at infinity" if prior is None and data in ("D", "D'") else "local"
    assert trace.optimum == f"{where}, the best of 10 starts"


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("prior", [None, "uniform"])
@pytest.mark.filterwarnings("ignore::tanager.errors.SeparationWarning")
def test_cross_tuning_is_the_first_iterations_of_the_descent_from_the_frequencies_which_leaves_saddles(data, prior):
    task = task_of(COLLIDER, DATA[data])
    tuned = Conditional(prior=prior, stopping="cross-tuning").learn(task).trace
    whole = Conditional(prior=prior, starts=1, tol=1e-8).learn(task).trace
    is_saddle = whole.gradient_norm[0] < 1e-6 < whole.objective[0] - whole.objective[-1]
    n_values = np.argmin(tuned.by_iteration) + 1 + is_saddle
    assert tuned.objective == pytest.approx(whole.objective[:n_values], rel=1e-9)
    if n_values < len(whole.objective):
        assert tuned.optimum == "not sought, held-out folds chose the number of iterations"
    else:
        assert tuned.optimum == "local, the best of 1 start"


@pytest.mark.parametrize("n_rows", [100, 160, 300])
def test_folds_do_not_stop_at_the_plateau_of_a_saddle(n_rows):
    """The frequencies have log 2, and strong priors keep the fit there."""
    batch = rows_of(0.5, n_rows, barrier=True)
    trace = Conditional().learn(task_of(COLLIDER, batch)).trace
    assert min(trace.strength) < 1.0
    assert trace.objective[-1] / batch.n_rows < 0.5


def test_the_trace_tells_that_all_strengths_are_infinite():
    trace = Conditional().learn(task_of(COLLIDER, rows_of(0.5, 60, barrier=True))).trace
    assert trace.optimum == "without effects, as all strengths are infinite"
    asked = Conditional(strength=np.inf).learn(task_of(COLLIDER, DATA["D"])).trace
    assert asked.optimum == "without effects, as all strengths are infinite"


@pytest.mark.parametrize("data", ["D'', alpha 1/2", "D'', alpha .4"])
def test_an_expert_s_tables_that_are_a_saddle_are_left_for_those_that_answer_best(data):
    batch = DATA[data]
    columns = tuple(ColumnSchema(name, "categorical", (0, 1)) for name in ("x1", "x2", "x0"))
    rows = pd.DataFrame(np.column_stack([batch.codes, batch.class_codes]), columns=["x1", "x2", "x0"])
    share = rows["x2"].mean()
    half, sign = np.full((1, 2), 0.5), np.tile([1 - share, share], (4, 1))
    tuned = tune(Network(columns, COLLIDER, (half, sign, half), "x0"), rows, "x0", strength=1e-3, cv=2).network
    p = tuned.posterior(rows.drop(columns="x0"), "x0")["x0"][np.arange(len(rows)), rows["x0"]]
    assert -np.log(p).sum() == pytest.approx(best_of_30_starts(data, None), rel=5e-3)
