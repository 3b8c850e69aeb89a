"""Zhou 2002, section 4.1.2: naive Bayes fitted to rows in which the evidence is redundant.

In the true network each of the first `arcs` evidence nodes is copied by the next one, so the naive Bayes structure
misses that many arcs. Losses are exact: sums over the true joint distribution, not over a sample of it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from random_networks import joint
from tanager import Network, tune
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

N_EVIDENCE, N_CASES = 5, 400
COLUMNS = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("e0", "e1", "e2", "e3", "e4", "q"))
PRIOR, SIGN = np.array([[0.75, 0.25]]), np.array([[0.7, 0.3], [0.4, 0.6]])


def true_network(arcs: int) -> Network:
    parents = [(i - 1,) if 1 <= i <= arcs else (N_EVIDENCE,) for i in range(N_EVIDENCE)]
    tables = [np.eye(2) if 1 <= i <= arcs else SIGN for i in range(N_EVIDENCE)]
    return Network(COLUMNS, Dag((*parents, ())), (*tables, PRIOR), "q")


def most_likely_naive_bayes(rows: pd.DataFrame) -> Network:
    """Frequencies with one pseudo-row in every cell."""
    counts = [pd.crosstab(rows["q"], rows[f"e{i}"]).to_numpy() + 1.0 for i in range(N_EVIDENCE)]
    prior = rows["q"].value_counts(normalize=True)[["no", "yes"]].to_numpy()
    tables = (*(own / own.sum(axis=1, keepdims=True) for own in counts), prior[np.newaxis])
    return Network(COLUMNS, Dag.augmented_naive_bayes([()] * N_EVIDENCE), tables, "q")


def exact_losses(network: Network, truth: Network) -> tuple[float, float, float]:
    """Expected -log P(q | e), P(argmax is wrong) and -log P(q, e) under the truth."""
    cells = joint(network)
    losses = np.zeros(3)
    for state, p in joint(truth).items():
        both = [cells[(*state[:-1], q)] for q in (0, 1)]
        own = state[-1]
        losses += p * np.array([np.log(sum(both) / both[own]), np.argmax(both) != own, -np.log(both[own])])
    return float(losses[0]), float(losses[1]), float(losses[2])


@pytest.fixture(scope="module")
def by_missing_arcs() -> list[tuple[np.ndarray, np.ndarray]]:
    """Losses of the most likely and of the conditional naive Bayes, means of three trials, for 0 .. 4 missing arcs."""
    found = []
    for arcs in range(N_EVIDENCE):
        truth, trials = true_network(arcs), []
        for seed in (1, 2, 3):
            rows = pd.DataFrame(truth.sample(N_CASES, seed))
            likely = most_likely_naive_bayes(rows)
            conditional = tune(likely, rows, "q", strength=1.0, folds=2).network
            trials.append((exact_losses(likely, truth), exact_losses(conditional, truth)))
        means = np.mean(trials, axis=0)
        found.append((means[0], means[1]))
    return found


def test_conditional_has_the_lower_log_loss_and_the_more_so_the_more_arcs_are_missing(by_missing_arcs):
    gains = [likely[0] - conditional[0] for likely, conditional in by_missing_arcs]
    assert all(late > early for early, late in pairwise(gains))
    assert all(gain > 0.01 for gain in gains[1:])
    assert abs(gains[0]) < 0.01  # the structure is right, and so both are


def test_conditional_has_the_lower_error_once_arcs_are_missing(by_missing_arcs):
    """The gain in error need not grow with every arc: a decision that has flipped cannot flip again.

    How large it is depends on the parameters, which the thesis has in a figure only. With P(q) = (0.6, 0.4) and
    P(e | q) = (0.8, 0.2), (0.3, 0.7) and all evidence copies of one node, both decide alike, and only log-loss gains.
    """
    gains = [likely[1] - conditional[1] for likely, conditional in by_missing_arcs]
    assert abs(gains[0]) < 0.002
    assert gains[1] > 0.01
    assert all(gain > 0.05 for gain in gains[2:])


def test_likelihood_has_the_higher_likelihood(by_missing_arcs):
    gains = [likely[2] - conditional[2] for likely, conditional in by_missing_arcs]
    assert all(gain < 0 for gain in gains)
    assert all(late < early for early, late in pairwise(gains))
