"""Frequency: smoothed frequencies against counting by hand."""

import numpy as np
import pytest

from oracle import batch_of, count_rows, random_batch
from parameters.tasks import assert_same, task_of
from tanager.errors import OptionError
from tanager.parameters import Frequency
from tanager.structure.dag import Dag

#                 x0 x1  class
ROWS = np.array([[0, 0, 0], [0, 1, 0], [1, 2, 0], [1, 2, 1], [1, 1, 1]])
N_STATES = (2, 3, 2)


def task(weights=None):
    # x1 has the parents x0 and the class
    return task_of(Dag.augmented_naive_bayes([(), (0,)]), batch_of(ROWS[:, :2], ROWS[:, 2], N_STATES, weights))


def by_hand(prior):
    """P(x1 = k | x0, class), cell by cell; `prior` is the pseudo-rows of each state."""
    table = np.empty((4, 3))
    for x0 in range(2):
        for c in range(2):
            rows = ROWS[(ROWS[:, 0] == x0) & (ROWS[:, 2] == c), 1]
            for k in range(3):
                table[2 * x0 + c, k] = ((rows == k).sum() + prior[k]) / (len(rows) + sum(prior))
    return table


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_laplace_adds_alpha_rows_to_every_cell(alpha):
    learnt = Frequency(alpha=alpha).learn(task())
    np.testing.assert_allclose(learnt.network.tables[1], by_hand([alpha] * 3), rtol=1e-15)


def test_friedman_spreads_five_rows_as_the_marginal():
    learnt = Frequency(smoothing="friedman").learn(task())
    np.testing.assert_allclose(learnt.network.tables[1], by_hand([5 * 1 / 5, 5 * 2 / 5, 5 * 2 / 5]), rtol=1e-15)


@pytest.mark.parametrize("smoothing", ["laplace", "friedman"])
def test_the_class_keeps_its_plain_frequencies(smoothing):
    assert Frequency(smoothing=smoothing).learn(task()).network.tables[2].tolist() == [[0.6, 0.4]]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("smoothing", ["laplace", "friedman"])
def test_tables_learnt_together_are_those_of_each_family_alone(engine, smoothing):
    """Families of several shapes; an attribute without parents has the states of the class."""
    if engine == "torch":
        pytest.importorskip("torch")
    n_states = (2, 3, 3, 2, 3, 2)
    parents = ((), (0, 5), (1, 5), (2, 4, 5), (1, 5), ())
    batch, alpha = random_batch(1, 50, n_states), {"laplace": 1.0, "friedman": 5.0}[smoothing]
    learnt = Frequency(smoothing).learn(task_of(Dag(parents), batch, engine)).network.tables
    for child, own in enumerate(parents):
        rows = count_rows(batch, (*own, child)).reshape(-1, n_states[child])
        pseudo = np.ones(n_states[child]) if smoothing == "laplace" else count_rows(batch, (child,)) / batch.n_rows
        smoothed = rows + (0.0 if child == 5 else alpha * pseudo)
        np.testing.assert_allclose(learnt[child], smoothed / smoothed.sum(axis=1, keepdims=True), rtol=1e-14)


def test_weights_count_as_rows():
    doubled = Frequency().learn(task(np.full(5, 2.0))).network.tables
    halved = Frequency(alpha=0.5).learn(task()).network.tables
    assert_same(doubled, halved, rtol=1e-15)


@pytest.mark.parametrize("alpha", [0, -1, float("nan")])
def test_alpha_must_be_above_zero(alpha):
    with pytest.raises(OptionError, match="above zero"):
        Frequency(alpha=alpha).learn(task())


def test_unknown_smoothing_lists_the_valid_ones():
    with pytest.raises(OptionError, match="'laplace', 'friedman'"):
        Frequency(smoothing="laplas").learn(task())
