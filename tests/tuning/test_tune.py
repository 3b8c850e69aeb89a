"""tune: closed forms, logistic regression and the joint distribution cell by cell are the oracles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from random_networks import joint, random_network
from tanager import AdditiveClassifier, DataError, Network, OptionError, tune
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema
from tanager.tuning.fit import TuneRun, read_query_rows

STATES = [2, 3, 2, 2, 2, 2]


def flattened(network: Network, share: float = 0.6) -> Network:
    """An expert that knows the structure but is timid: every table half way to equal shares."""
    return replace(network, tables=tuple(share / t.shape[1] + (1 - share) * t for t in network.tables))


def rows_of(network: Network, n: int, seed: int, gaps: float = 0.0, drop: tuple[str, ...] = ()) -> pd.DataFrame:
    frame = pd.DataFrame(network.sample(n, seed)).astype(object)
    missing = np.random.default_rng(seed + 1).random(frame.shape) < gaps
    return frame.mask(missing).drop(columns=list(drop))


def posterior_of(network: Network, row: dict[str, object], query: list[str]) -> dict[tuple[int, ...], float]:
    """P(query | other cells) by summing the joint."""
    at = [network.nodes.index(name) for name in query]
    evidence = {
        network.nodes.index(name): network.states[name].index(state)
        for name, state in row.items()
        if name not in query and isinstance(state, str)
    }
    sums: dict[tuple[int, ...], float] = {}
    for state, p in joint(network).items():
        if all(state[node] == code for node, code in evidence.items()):
            key = tuple(state[node] for node in at)
            sums[key] = sums.get(key, 0.0) + p
    total = sum(sums.values())
    return {key: p / total for key, p in sums.items()}


@pytest.fixture(scope="module")
def truth() -> Network:
    return random_network(21, STATES, density=0.5)


@pytest.mark.parametrize("query", [["n0"], ["n3", "n0"]], ids=str)
def test_before_is_the_loss_and_error_of_the_network_over_all_rows(truth, query):
    frame = rows_of(truth, 60, 0, gaps=0.3, drop=("n1",))
    frame = frame[frame["n3"].notna() & frame["n0"].notna()] if len(query) > 1 else frame
    losses, errors = [], []
    for row in frame.to_dict("records"):
        if isinstance(row["n0"], str):
            p = posterior_of(truth, row, query)
            own = tuple(truth.states[name].index(row[name]) for name in query)
            losses.append(-np.log(p[own]))
            sums = [Counter() for _ in query]
            for states, share in p.items():
                for each, state in zip(sums, states, strict=True):
                    each[state] += share
            errors += [each.most_common(1)[0][0] != state for each, state in zip(sums, own, strict=True)]
    result = tune(truth, frame, query, strength=10.0)
    assert result.before.log_loss == pytest.approx(np.mean(losses), rel=1e-9)
    assert result.before.error == pytest.approx(np.mean(errors), rel=1e-9)
    assert (result.n_rows, result.query) == (len(losses), tuple(query))


def test_with_no_evidence_the_prior_is_the_dirichlet_posterior():
    """One root node, no other cell: theta = (N_k + strength theta0_k) / (N + strength)."""
    coin = ColumnSchema("coin", "categorical", ("heads", "tails"))
    expert = Network((coin,), Dag(((),)), (np.array([[0.5, 0.5]]),))
    rows = pd.DataFrame({"coin": ["heads"] * 30 + ["tails"] * 10})
    for strength in (1.0, 20.0):
        found = tune(expert, rows, "coin", strength=strength).network.tables[0]
        expected = (np.array([30, 10]) + strength / 2) / (40 + strength)
        np.testing.assert_allclose(found[0], expected, atol=1e-3)


def naive_bayes(n: int, seed: int = 0) -> tuple[Network, pd.DataFrame]:
    """A timid naive Bayes over rows in which the attributes repeat each other."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, n)
    base = np.where(generator.random(n) < 0.7, y, generator.integers(0, 3, n))
    X = [np.where(generator.random(n) < 0.8, base, generator.integers(0, 3, n)) for _ in range(4)]
    columns = tuple(ColumnSchema(name, "categorical", (0, 1, 2)) for name in ("a", "b", "c", "d", "y"))
    table = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    expert = Network(columns, Dag.augmented_naive_bayes([()] * 4), (*[table] * 4, np.full((1, 3), 1 / 3)), "y")
    return expert, pd.DataFrame({"a": X[0], "b": X[1], "c": X[2], "d": X[3], "y": y})


def test_a_weak_pull_on_naive_bayes_comes_to_logistic_regression_on_indicators():
    expert, rows = naive_bayes(300)
    tuned = tune(expert, rows, "y", strength=1e-3).network
    X = pd.get_dummies(rows[["a", "b", "c", "d"]].astype(str))
    peer = LogisticRegression(C=1e4, max_iter=2000).fit(X, rows["y"])
    best = log_loss(rows["y"], peer.predict_proba(X))
    found = log_loss(rows["y"], tuned.posterior(rows.drop(columns="y"), "y")["y"])
    assert found == pytest.approx(best, abs=2e-3)


def test_the_network_that_made_the_rows_is_hardly_moved_and_not_made_worse(truth):
    result = tune(truth, rows_of(truth, 800, 5, gaps=0.2), "n0")
    assert result.after.log_loss <= result.before.log_loss + 0.003
    assert sum(move.divergence for move in result.moved) < 0.01
    fresh = rows_of(truth, 4000, 77)
    before, after = (
        -np.log(
            network.posterior(fresh.drop(columns="n0"), "n0")["n0"][
                np.arange(4000), [truth.states["n0"].index(s) for s in fresh["n0"]]
            ]
        ).mean()
        for network in (truth, result.network)
    )
    assert after <= before + 0.005


def test_a_timid_expert_is_made_better_with_gaps_and_a_hidden_node(truth):
    hidden = truth.nodes[1]
    rows = rows_of(truth, 600, 7, gaps=0.2, drop=(hidden,))
    result = tune(flattened(truth), rows, "n0")
    assert result.after.log_loss < result.before.log_loss - 2 * result.change_error
    assert np.isfinite(result.strength)
    assert min(result.held_out, key=result.held_out.get) <= result.strength


def test_only_tables_the_query_depends_on_move_and_zeros_stay():
    """0 -> 1 -> 2 -> 3 with the query 1 and no gap: the tables of 0 and 3 have no say."""
    columns = tuple(ColumnSchema(name, "categorical", ("x", "y", "z")) for name in "abcd")
    table = np.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    expert = Network(columns, Dag(((), (0,), (1,), (2,))), (np.full((1, 3), 1 / 3), table, table, table))
    sharp = np.where(table > 0, 0.2, 0.0) + np.diag([0.6, 0.4, 0.4])
    stubborn = replace(expert, tables=(expert.tables[0], sharp, sharp, sharp))
    rows = pd.DataFrame(stubborn.sample(300, 1))
    result = tune(expert, rows, "b", strength=5.0)
    assert result.network.tables[0] is expert.tables[0]
    assert result.network.tables[3] is expert.tables[3]
    assert {move.node for move in result.moved} == {"b", "c"}
    for node in (1, 2):
        assert np.abs(result.network.tables[node] - table).max() > 0.01
        np.testing.assert_array_equal(result.network.tables[node] == 0, table == 0)


def test_the_moves_add_up_to_the_divergence_of_the_joint_distributions(truth):
    expert = flattened(truth)
    result = tune(expert, rows_of(truth, 200, 2, gaps=0.3), "n0", strength=3.0)
    old, new = joint(expert), joint(result.network)
    assert sum(move.divergence for move in result.moved) == pytest.approx(
        sum(p * np.log(p / old[state]) for state, p in new.items()), rel=1e-9
    )
    divergences = [move.divergence for move in result.moved]
    assert divergences == sorted(divergences, reverse=True)


def test_the_stronger_the_pull_the_less_moves_and_an_infinite_one_moves_nothing(truth):
    rows, expert = rows_of(truth, 200, 2, gaps=0.2), flattened(truth)
    moved = []
    for strength in (1.0, 30.0, 1000.0, np.inf):
        result = tune(expert, rows, "n0", strength=strength)
        moved.append(sum(move.divergence for move in result.moved))
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] == 0.0
    assert result.after == result.before
    assert "no table moved" in str(result)


def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(truth):
    rows = rows_of(truth, 80, 6, gaps=0.2)
    weights = np.arange(80) % 3
    repeated = rows.loc[rows.index.repeat(weights)]
    weighted = tune(flattened(truth), rows, "n0", strength=2.0, sample_weight=weights).network
    plain = tune(flattened(truth), repeated, "n0", strength=2.0).network
    for own, other in zip(weighted.tables, plain.tables, strict=True):
        np.testing.assert_allclose(own, other, atol=1e-8)


def test_the_result_does_not_depend_on_threads_or_the_kind_of_table(truth):
    rows = rows_of(truth, 60, 8, gaps=0.2)
    found = [
        tune(flattened(truth), table, "n0", strength=2.0, n_jobs=n_jobs)
        for table, n_jobs in ((rows, 1), (rows, 2), (pa.table(rows), 1), (rows[rows.columns[::-1]], 1))
    ]
    for other in found[1:]:
        assert other.after.log_loss == pytest.approx(found[0].after.log_loss, rel=1e-9)


def test_numbers_match_states_that_are_text():
    """A network file knows only text; 1, 1.0 (beside a gap) and True are the states "1" and "True"."""
    columns = tuple(
        ColumnSchema(name, "categorical", states)
        for name, states in (("a", ("0", "1")), ("b", ("0", "2.5")), ("y", ("False", "True")))
    )
    expert = Network(
        columns, Dag.augmented_naive_bayes([(), ()]), (np.full((2, 2), 0.5),) * 2 + (np.full((1, 2), 0.5),)
    )
    numbers = pd.DataFrame(
        {"a": [0, 1, 1, np.nan] * 5, "b": [0.0, 2.5, 0.0, 2.5] * 5, "y": [False, True, True, True] * 5}
    )
    text = pd.DataFrame(
        {"a": ["0", "1", "1", None] * 5, "b": ["0", "2.5", "0", "2.5"] * 5, "y": ["False", "True", "True", "True"] * 5}
    )
    assert tune(expert, numbers, "y", strength=1.0).to_dict() == tune(expert, text, "y", strength=1.0).to_dict()


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


def test_likelihood_on_complete_rows_is_the_dirichlet_posterior_in_closed_form():
    columns = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("sign", "cause"))
    tables = (np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.7, 0.3]]))
    expert = Network(columns, Dag(((1,), ())), tables, "cause")
    rows = pd.DataFrame([("no", "no")] * 12 + [("yes", "no")] * 8 + [("no", "yes")] * 3 + [("yes", "yes")] * 7)
    rows.columns = ["sign", "cause"]
    found = tune(expert, rows, "cause", "likelihood-gradient", strength=10.0, cv=2).network
    sign = np.array([[(12 + 9) / 30, (8 + 1) / 30], [(3 + 5) / 20, (7 + 5) / 20]])
    np.testing.assert_allclose(found.tables[0], sign, atol=1e-3)
    np.testing.assert_allclose(found.tables[1], [[(20 + 7) / 40, (10 + 3) / 40]], atol=1e-3)


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


def impossible_rows() -> tuple[Network, pd.DataFrame]:
    columns = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("rain", "wet", "slip"))
    tables = (np.array([[0.6, 0.4]]), np.array([[1.0, 0.0], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.4, 0.6]]))
    rows = pd.DataFrame(
        {"rain": ["no", "yes"] * 10, "wet": ["no", "yes"] * 10, "slip": ["no", "yes", "no"] * 6 + ["no"] * 2}
    )
    rows.loc[4, "wet"] = "yes"
    return Network(columns, Dag(((), (0,), (1,))), tables), rows


def test_an_impossible_row_is_named_or_left_out():
    network, rows = impossible_rows()
    with pytest.raises(
        DataError, match=r"1 of 20 rows have probability zero .* rain='no', wet='yes' cannot occur together"
    ):
        tune(network, rows, "slip")
    result = tune(network, rows, "slip", strength=2.0, impossible="skip")
    same = tune(network, rows.drop(index=4), "slip", strength=2.0)
    assert (result.n_skipped, result.n_rows) == (1, 19)
    assert result.after == same.after
    assert "(impossible ones left out: 1)" in str(result)


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        ({}, {"query": "slipp"}, OptionError, "the network has no node 'slipp'; the nearest are 'slip'"),
        ({}, {"query": []}, OptionError, "query names no node"),
        ({}, {"query": ["slip", "slip"]}, OptionError, "query names a node twice"),
        ({"weet": "no"}, {}, DataError, "a column 'weet' that is no node of the network; the nearest are 'wet'"),
        ({"wet": "damp"}, {}, DataError, "column 'wet' holds 'damp' in row 0, which is no state .* 'no', 'yes'"),
        (
            {"slip": None},
            {},
            DataError,
            "no row can be used to tune the network: 'slip' is missing in all 20 rows of weight",
        ),
        ({}, {"sample_weight": np.zeros(20)}, DataError, "every row has weight zero, so there is nothing to tune"),
        ({}, {"cv": 1}, OptionError, "cv=1 of tune must be at least 2"),
        ({}, {"cv": 21}, DataError, "20 rows can be used, fewer than the 21 folds"),
        ({}, {"strength": 0.0}, OptionError, "strength=0.0 of tune must be a number above zero"),
        ({}, {"parameters": "cll"}, OptionError, "parameters='cll' is not known; expected one of 'conditional'"),
    ],
)
def test_bad_input_is_refused_in_words(change, options, error, words):
    network, rows = impossible_rows()
    rows.loc[4, "wet"] = "no"
    with pytest.raises(error, match=words):
        tune(network, rows.assign(**change), **{"query": "slip", **options})


def test_a_query_that_is_no_column_is_refused():
    network, rows = impossible_rows()
    with pytest.raises(DataError, match="the table has no column 'slip' to tune the network for; its columns are"):
        tune(network, rows.drop(columns="slip"), "slip")


def test_a_model_that_is_no_network_is_refused():
    _, rows = impossible_rows()
    clf = AdditiveClassifier(trees=False).fit(rows.drop(columns="slip"), rows["slip"])
    for model in (clf, clf.model_):
        with pytest.raises(OptionError, match=f"this is a {type(model).__name__}"):
            tune(model, rows, "slip")
