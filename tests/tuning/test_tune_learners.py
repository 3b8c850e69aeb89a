"""The learners of tune: what each makes large, and that two of them climb to the same optimum."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest

from random_networks import random_network
from tanager import Network, tune
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema
from tanager.tuning.fit import TuneRun, read_query_rows
from tuning.tune_networks import STATES, flattened, rows_of


@pytest.fixture(scope="module")
def truth() -> Network:
    return random_network(21, STATES, density=0.5)


def test_likelihood_raises_the_likelihood_and_conditional_the_conditional(truth):
    rows, expert = rows_of(truth, 300, 4, gaps=0.1), flattened(truth)
    likely = tune(expert, rows, "n0", "likelihood-gradient", strength=1.0).network
    sharp = tune(expert, rows, "n0", strength=1.0).network

    def losses(network: Network) -> tuple[float, float]:
        kept = rows[rows["n0"].notna()]
        own = [truth.states["n0"].index(state) for state in kept["n0"]]
        p = network.posterior(kept.drop(columns="n0"), "n0")["n0"][np.arange(len(own)), own]
        return -network.log_likelihood(kept).mean(), -np.log(p).mean()

    assert losses(likely)[0] < losses(expert)[0]
    assert losses(likely)[0] < losses(sharp)[0]
    assert losses(sharp)[1] < losses(expert)[1]
    assert losses(sharp)[1] < losses(likely)[1]


def log_posterior(tuned: Network, expert: Network, rows: pd.DataFrame, strength: float) -> float:
    pull = sum((a * np.log(b)).sum() for a, b in zip(expert.tables, tuned.tables, strict=True))
    return float(tuned.log_likelihood(rows).sum() + strength * pull)


@pytest.mark.parametrize("drop", [(), ("n1",)], ids=["gaps", "a hidden node too"])
def test_em_and_gradients_climb_to_the_same_posterior(truth, drop):
    rows, expert = rows_of(truth, 200, 3, gaps=0.2, drop=drop).dropna(subset="n0"), flattened(truth)
    found = [
        log_posterior(tune(expert, rows, "n0", parameters, strength=5.0, cv=2).network, expert, rows, 5.0)
        for parameters in ("em", "likelihood-gradient")
    ]
    assert found[0] == pytest.approx(found[1], abs=0.05)
    assert found[0] > log_posterior(expert, expert, rows, 5.0) + 10


def test_em_on_complete_rows_is_the_dirichlet_posterior_in_closed_form():
    columns = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("sign", "cause"))
    tables = (np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.7, 0.3]]))
    expert = Network(columns, Dag(((1,), ())), tables, "cause")
    rows = pd.DataFrame([("no", "no")] * 12 + [("yes", "no")] * 8 + [("no", "yes")] * 3 + [("yes", "yes")] * 7)
    rows.columns = ["sign", "cause"]
    found = tune(expert, rows, "cause", "em", strength=10.0, cv=2).network
    sign = np.array([[(12 + 9) / 30, (8 + 1) / 30], [(3 + 5) / 20, (7 + 5) / 20]])
    np.testing.assert_allclose(found.tables[0], sign, atol=1e-12)
    np.testing.assert_allclose(found.tables[1], [[(20 + 7) / 40, (10 + 3) / 40]], atol=1e-12)


def test_em_keeps_zeros_and_an_infinite_strength_the_expert(truth):
    zeros = random_network(4, [2, 3, 2, 2], density=0.7, zeros=True)
    rows = rows_of(zeros, 150, 1, gaps=0.2).dropna(subset="n0")
    tuned = tune(zeros, rows, "n0", "em", strength=2.0, cv=2).network
    for old, new in zip(zeros.tables, tuned.tables, strict=True):
        np.testing.assert_array_equal(old == 0, new == 0)
    same = tune(zeros, rows, "n0", "em", strength=np.inf, cv=2)
    assert all(np.array_equal(a, b) for a, b in zip(same.network.tables, zeros.tables, strict=True))


@pytest.mark.parametrize("parameters", ["conditional", "likelihood-gradient", "em"])
def test_every_learner_tunes_for_several_nodes_at_once_on_held_out_rows(truth, parameters):
    result = tune(flattened(truth, 0.9), rows_of(truth, 400, 5, gaps=0.1), ["n0", "n3"], parameters, cv=3)
    assert result.after.log_loss < result.before.log_loss
    assert result.query == ("n0", "n3")
    assert result.moved[0].divergence > 0


def test_tuning_for_two_nodes_raises_their_joint_posterior_in_the_rows_it_is_tuned_on(truth):
    rows, expert = rows_of(truth, 300, 9), flattened(truth)
    tuned = tune(expert, rows, ["n0", "n3"], strength=1.0, cv=2).network

    def mean_log(network: Network) -> float:
        given = rows.drop(columns=["n0", "n3"]).drop_duplicates()
        total = 0.0
        for row in given.to_dict("records"):
            answer = network.query(["n0", "n3"], row)
            alike = rows[(rows[list(row)] == pd.Series(row)).all(axis=1)]
            for states in product(network.states["n0"], network.states["n3"]):
                count = int(((alike["n0"] == states[0]) & (alike["n3"] == states[1])).sum())
                total += count * np.log(answer[states])
        return total / len(rows)

    assert mean_log(tuned) > mean_log(expert) + 0.02


def test_a_network_that_is_learnt_from_the_rows_is_learnt_again_without_those_held_out(truth):
    """The rows that the three networks of the folds have not seen are, together, all rows once."""
    query = (truth.number(truth.nodes[-1]),)
    rows = read_query_rows(truth, rows_of(truth, 90, seed=0), query, None)
    seen = []

    def relearn(part):
        seen.append(Counter(map(tuple, np.repeat(part.codes, part.weights.astype(int), axis=0).tolist())))
        return truth

    TuneRun(truth, "cll", relearn=relearn).learn(rows)
    whole = Counter(map(tuple, rows.codes.tolist()))
    assert len(seen) == 3
    assert sum((whole - part for part in seen), Counter()) == whole
