"""Zhou 2002, section 4.1.2: naive Bayes fitted to rows in which the evidence is redundant.

In the true network each of the first `arcs` evidence nodes is copied by the next one, so the naive Bayes structure
misses that many arcs. The thesis says that likelihood (ML) has the better likelihood, and conditional likelihood (MCL)
the better conditional likelihood, error and squared error, and that the difference grows with the number of missing
arcs. Its parameters are in a figure that the text does not have; those here are some for which it is true. Losses are
exact: sums over the true joint distribution, not over a sample of it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from random_networks import joint
from tanager import NaiveBayesClassifier, Network, tune
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

N_EVIDENCE, N_CASES = 5, 400
COLUMNS = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("e0", "e1", "e2", "e3", "e4", "q"))
PRIOR, SIGN = np.array([[0.75, 0.25]]), np.array([[0.7, 0.3], [0.4, 0.6]])
LOG_LOSS, ERROR, SQUARED, LIKELIHOOD = range(4)


def true_network(arcs: int) -> Network:
    parents = [(i - 1,) if 1 <= i <= arcs else (N_EVIDENCE,) for i in range(N_EVIDENCE)]
    tables = [np.eye(2) if 1 <= i <= arcs else SIGN for i in range(N_EVIDENCE)]
    return Network(COLUMNS, Dag((*parents, ())), (*tables, PRIOR), "q")


def exact_losses(network: Network, truth: Network) -> np.ndarray:
    """Expected -log P(q | e), P(argmax is wrong), (1 - P(q | e))^2 and -log P(q, e) under the truth."""
    cells = joint(network)
    losses = np.zeros(4)
    for state, p in joint(truth).items():
        if p > 0:
            both = [cells[(*state[:-1], q)] for q in (0, 1)]
            own = both[state[-1]]
            share = own / sum(both)
            losses += p * np.array([-np.log(share), own < max(both), (1 - share) ** 2, -np.log(own)])
    return losses


@pytest.fixture(scope="module")
def gains() -> np.ndarray:
    """(arcs, losses): losses of the most likely naive Bayes less those of the conditional, means of three trials."""
    found = []
    for arcs in range(N_EVIDENCE):
        truth, trials = true_network(arcs), []
        for seed in (1, 2, 3):
            rows = pd.DataFrame(truth.sample(N_CASES, seed))
            likely = NaiveBayesClassifier("frequency").fit(rows.drop(columns="q"), rows["q"]).network_
            conditional = tune(likely, rows, "q", strength=1.0, cv=2).network
            trials.append(exact_losses(likely, truth) - exact_losses(conditional, truth))
        found.append(np.mean(trials, axis=0))
    return np.array(found)


@pytest.mark.parametrize("loss", [LOG_LOSS, SQUARED], ids=["log-loss", "squared error"])
def test_conditional_is_better_the_more_arcs_are_missing(gains, loss):
    assert all(late > early for early, late in pairwise(gains[:, loss]))
    assert abs(gains[0, loss]) < 0.01  # the structure is right, and so both are


def test_conditional_has_the_lower_error_the_more_so_up_to_three_arcs(gains):
    """With four arcs the evidence is one sign, and ML, which takes it for five, gets one decision wrong.

    For e = yes the truth has P(no, e) = 0.75 x 0.3 = 0.225 and P(yes, e) = 0.25 x 0.6 = 0.15; ML decides for yes and
    loses the difference. With three arcs it loses 0.75 x 0.3 x 0.7 - 0.25 x 0.6 x 0.4, where the last sign speaks
    against the four that are one, and that is more.
    """
    assert abs(gains[0, ERROR]) < 0.002
    assert all(late > early for early, late in pairwise(gains[:4, ERROR]))
    assert gains[3, ERROR] == pytest.approx(0.75 * 0.3 * 0.7 - 0.25 * 0.6 * 0.4)
    assert gains[4, ERROR] == pytest.approx(0.225 - 0.15)


def test_likelihood_has_the_higher_likelihood_the_more_arcs_are_missing(gains):
    assert (gains[:, LIKELIHOOD] < 0).all()
    assert all(late < early for early, late in pairwise(gains[:, LIKELIHOOD]))
