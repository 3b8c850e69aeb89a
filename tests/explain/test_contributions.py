"""Contributions are the terms of the chain rule, and add up to the log odds."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB

from random_networks import joint, networks, random_network
from tanager import (
    DataError,
    NaiveBayesClassifier,
    Network,
    OptionError,
    explain,
)
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

IRIS = load_iris(as_frame=True)


def random_tree(seed: int, n_states: list[int], linked: bool) -> Network:
    """The class, last, is the parent of every attribute; `linked`: most have an earlier attribute too. Many zeros."""
    generator = np.random.default_rng(seed)
    parents = [
        (int(generator.integers(node)),) if linked and node and generator.random() < 0.8 else ()
        for node in range(len(n_states) - 1)
    ]
    dag = Dag.augmented_naive_bayes(parents)
    tables = []
    for family in dag.families:
        table = generator.dirichlet(np.full(n_states[family.child], 0.7), size=family.shape(n_states)[0])
        if family.child < len(n_states) - 1:
            table[generator.random(table.shape) < 0.25] = 0.0
            table[table.sum(axis=1) == 0] = 1.0
            table /= table.sum(axis=1, keepdims=True)
        tables.append(table)
    columns = tuple(
        ColumnSchema(f"n{node}", "categorical", tuple(f"s{k}" for k in range(r))) for node, r in enumerate(n_states)
    )
    return Network(columns, dag, tuple(tables), columns[-1].name)


def frame_of(network: Network, rows: list[tuple[int, ...]]) -> pd.DataFrame:
    """Attribute codes as labels; a code beyond the states is missing."""
    return pd.DataFrame(
        {
            column.name: pd.Series(
                [column.states[row[node]] if row[node] < column.n_states else None for row in rows], dtype=object
            )
            for node, column in enumerate(network.columns[:-1])
        }
    )


def log_probability(cells: dict[tuple[int, ...], float], fixed: dict[int, int]) -> float:
    """log P of some states, by adding up the joint."""
    return math.log(sum(p for state, p in cells.items() if all(state[node] == code for node, code in fixed.items())))


@settings(max_examples=40, deadline=None)
@given(networks(max_nodes=5), st.randoms(use_true_random=False))
def test_contributions_are_the_terms_of_the_chain_rule_whatever_cells_are_missing(network, random):
    target = len(network.nodes) - 1
    assume(network.n_states[target] > 1)
    cells = joint(network)
    row = tuple(random.randrange(r + 1) for r in network.n_states[:-1])
    found = explain(network, frame_of(network, [row]))
    favoured, against = int(found.favoured[0]), int(found.against[0])

    above = {target}
    for node in reversed(network.dag.order):
        if node in above:
            above.update(network.dag.parents[node])
    order = sorted(network.dag.order, key=lambda node: node not in above)
    terms = dict.fromkeys(range(target), 0.0)
    seen: dict[int, int] = {}
    odds = 0.0
    for node in order:
        if node != target and row[node] == network.n_states[node]:
            continue
        if node == target:
            # Nothing before the class depends on it: its own term is all the odds so far.
            odds = odds_of(cells, seen, target, favoured, against)
            prior = odds
            continue
        seen[node] = row[node]
        if order.index(node) > order.index(target):
            after = odds_of(cells, seen, target, favoured, against)
            terms[node], odds = after - odds, after
    np.testing.assert_allclose(found.contributions[0], [terms[node] for node in range(target)], atol=1e-10)
    assert found.base_rate[0] + found.baseline[0] == pytest.approx(prior, abs=1e-10)
    assert found.log_odds[0] == pytest.approx(odds_of(cells, seen, target, favoured, against), abs=1e-10)
    assert found.base_rate[0] + found.baseline[0] + found.contributions[0].sum() == pytest.approx(
        found.log_odds[0], abs=1e-10
    )


def odds_of(cells, seen: dict[int, int], target: int, favoured: int, against: int) -> float:
    return log_probability(cells, {**seen, target: favoured}) - log_probability(cells, {**seen, target: against})


def test_naive_bayes_contributions_are_scikit_learns_log_probabilities():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 4))
    X[:3] = np.arange(3)[:, np.newaxis]
    y = rng.integers(0, 3, 60)
    ours = NaiveBayesClassifier(categorical_features="all").fit(X, y)
    theirs = CategoricalNB(alpha=1.0).fit(X, y)
    found = explain(ours, X, against=2)
    for row in range(60):
        for j in range(4):
            logs = theirs.feature_log_prob_[j][:, X[row, j]]
            assert found.contributions[row, j] == pytest.approx(logs[found.favoured[row]] - logs[2], abs=1e-10)


def test_the_named_class_is_compared_with_the_best_of_the_others():
    clf = NaiveBayesClassifier().fit(IRIS.data, IRIS.target)
    logs = clf.predict_log_proba(IRIS.data)
    found = explain(clf, IRIS.data, against=1)
    assert (found.against == 1).all()
    np.testing.assert_array_equal(found.favoured, np.where(logs[:, 0] > logs[:, 2], 0, 2))
    assert (found.log_odds[clf.predict(IRIS.data) == 1] < 0).all()


def test_missing_and_unseen_cells_add_nothing_and_say_so():
    X = [["a", "u"], ["b", "v"], ["a", "v"], ["b", "u"], ["a", "u"]]
    clf = NaiveBayesClassifier().fit(X, [0, 1, 0, 1, 0])
    row = explain(clf, [[None, "never seen"]])[0]
    assert [(each.status, each.value, each.state, each.log_odds) for each in row.contributions] == [
        ("unknown", None, None, 0.0),
        ("unseen", "never seen", None, 0.0),
    ]
    assert row.log_odds == pytest.approx(row.base_rate + row.baseline)
    assert [each.label for each in row.contributions] == [
        "x0: unknown, summed out",
        "x1 = never seen, unseen in training, summed out",
    ]


def test_a_gap_that_is_a_state_is_explained_as_one():
    clf = NaiveBayesClassifier(missing="category").fit(
        [["a", 1.0], [None, 2.0], ["a", np.nan], [None, 2.0]], [0, 1, 0, 1]
    )
    row = explain(clf, [[None, np.nan]])[0]
    assert [(each.status, each.value) for each in row.contributions] == [("present", "(missing)")] * 2


def two_nodes(attribute: list[list[float]], prior: list[float]) -> Network:
    x = ColumnSchema("x", "categorical", ("a", "b"))
    y = ColumnSchema("y", "categorical", ("no", "yes"))
    return Network((x, y), Dag(((1,), ())), (np.array(attribute), np.array([prior])), "y")


def test_a_cell_impossible_under_one_class_makes_the_odds_infinite():
    row = explain(two_nodes([[1.0, 0.0], [0.5, 0.5]], [0.5, 0.5]), pd.DataFrame({"x": ["b"]}))[0]
    assert (row.favoured, row.contributions[0].log_odds, row.log_odds) == ("yes", math.inf, math.inf)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_impossible_cells_and_missing_ones_still_add_up(seed, linked):
    network = random_tree(seed, [2, 3, 2, 2, 3], linked)
    labels = network.sample(3, seed)
    X = pd.DataFrame({name: pd.Series(labels[name], dtype=object) for name in network.nodes[:-1]})
    X = X.mask(np.random.default_rng(seed).random(X.shape) < 0.4, None)
    for against in (None, "s0", "s2"):
        found = explain(network, X, against=against)
        np.testing.assert_allclose(
            found.base_rate + found.baseline + found.contributions.sum(axis=1), found.log_odds, atol=1e-10
        )


def test_a_row_impossible_under_every_class_is_refused():
    network = two_nodes([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5])
    with pytest.raises(DataError, match="row 1 has probability zero"):
        explain(network, pd.DataFrame({"x": ["a", "b"]}))


def test_the_class_column_of_a_table_is_not_used():
    network = two_nodes([[0.9, 0.1], [0.2, 0.8]], [0.5, 0.5])
    found = explain(network, pd.DataFrame({"y": ["no"], "x": ["b"]}))
    assert found[0].favoured == "yes"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (NaiveBayesClassifier(), "call fit"),
        ("model.json", "got str"),
        (random_network(0, [2, 2]), None),
    ],
    ids=["not fitted", "no model", "no class"],
)
def test_what_cannot_be_explained_is_refused(model, words):
    if isinstance(model, Network):
        model, words = Network(model.columns, model.dag, model.tables), "no class node"
    for arguments in ((), ([["a"]],)):
        with pytest.raises(OptionError, match=words):
            explain(model, *arguments)


def test_an_unknown_class_is_refused_with_the_nearest_ones():
    clf = NaiveBayesClassifier().fit([["a"], ["b"]], ["benign", "malignant"])
    with pytest.raises(OptionError, match="no state 'malign'; the nearest are 'malignant'"):
        explain(clf, [["a"]], against="malign")
