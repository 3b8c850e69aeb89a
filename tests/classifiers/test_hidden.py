"""Fixed networks with hidden nodes: predictions against sums over the joint, losses against the true network's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from random_networks import joint
from tanager import BayesianNetworkClassifier, Network, OptionError, explain, load_model, save_model
from tanager.parameters import Conditional
from tanager.structure import Fixed
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

NAMES = ("a", "b", "cause", "c", "d", "y")
COLUMNS = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in NAMES)
SIGN = np.array([[0.9, 0.1], [0.15, 0.85]])
# y -> cause -> a, b, c, d: nothing but the hidden cause joins the class and its signs
TRUTH = Network(
    COLUMNS,
    Dag(((2,), (2,), (5,), (2,), (2,), ())),
    (SIGN, SIGN, np.array([[0.8, 0.2], [0.3, 0.7]]), SIGN, SIGN, np.array([[0.5, 0.5]])),
    "y",
)
SIGNS = ["a", "b", "c", "d"]


def rows_of(n: int, seed: int, gaps: float = 0.0) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.DataFrame(TRUTH.sample(n, seed)).astype(object)
    X = frame[SIGNS]
    return X.mask(np.random.default_rng(seed).random(X.shape) < gaps), frame["y"]


def fitted(parameters, n: int = 2_000, gaps: float = 0.0, network: Network = TRUTH, **options):
    return BayesianNetworkClassifier(Fixed(network), parameters=parameters, **options).fit(*rows_of(n, 0, gaps))


def log_loss(log_p, y: pd.Series) -> float:
    return -float(np.mean(log_p[np.arange(len(y)), (y == "yes").to_numpy().astype(int)]))


@pytest.mark.parametrize("parameters", ["em", "likelihood-gradient", "conditional"])
def test_learning_with_a_hidden_cause_comes_near_the_network_the_rows_are_of(parameters):
    X, y = rows_of(5_000, 1)
    best = log_loss(np.log(TRUTH.posterior(X, "y")["y"]), y)
    without = log_loss(
        BayesianNetworkClassifier("naive-bayes", parameters="frequency").fit(*rows_of(2_000, 0)).predict_log_proba(X), y
    )
    assert log_loss(fitted(parameters).predict_log_proba(X), y) < best + 0.01
    assert without > best + 0.1


@pytest.mark.parametrize("parameters", ["em", "conditional"])
def test_a_prediction_sums_over_the_hidden_node_and_the_gaps(parameters):
    clf = fitted(parameters, 300, gaps=0.2)
    assert clf.network_.nodes == (*SIGNS, "cause", "y")
    cells = joint(clf.network_)
    X, _ = rows_of(40, 3, gaps=0.3)
    for row, found in zip(X.to_numpy(), clf.predict_proba(X), strict=True):
        present = {node: ("no", "yes").index(value) for node, value in enumerate(row) if isinstance(value, str)}
        both = [
            sum(p for s, p in cells.items() if s[-1] == c and all(s[node] == code for node, code in present.items()))
            for c in (0, 1)
        ]
        np.testing.assert_allclose(found, np.array(both) / sum(both), rtol=1e-9)


def test_rows_without_a_class_lead_the_hidden_nodes_signs_nearer_to_the_truth():
    X, y = rows_of(3_000, 4)
    few = BayesianNetworkClassifier(Fixed(TRUTH), parameters="em").fit(X[:60], y[:60])
    more = BayesianNetworkClassifier(Fixed(TRUTH), parameters="em").fit(X, y.where(y.index < 60, None))
    distance = [
        # The states of the hidden node have no names of their own.
        sum(min(np.abs(table - SIGN).sum(), np.abs(table[::-1] - SIGN).sum()) for table in clf.network_.tables[:4])
        for clf in (few, more)
    ]
    assert distance[1] < 0.3 * distance[0]


def test_conditional_tells_the_class_better_than_em_where_the_structure_is_wrong():
    """The network says that d depends on the class alone; in truth it repeats the other signs."""
    wrong = replace(TRUTH, dag=Dag(((2,), (2,), (5,), (2,), (5,), ())))
    X, y = rows_of(5_000, 1)
    em, conditional = (
        log_loss(fitted(parameters, network=wrong).predict_log_proba(X), y)
        for parameters in ("em", Conditional(strength=1.0))
    )
    assert conditional < em - 0.01


def test_an_infinite_strength_leaves_the_tables_of_em():
    one, other = fitted(Conditional(strength=np.inf), 300).network_, fitted("em", 300).network_
    assert all(np.array_equal(a, b) for a, b in zip(one.tables, other.tables, strict=True))


@pytest.mark.parametrize("parameters", ["em", "conditional"])
def test_a_model_file_keeps_the_hidden_node_its_explanations_and_the_network_to_learn_again_from(parameters, tmp_path):
    clf = fitted(parameters, 300, gaps=0.2)
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    X, _ = rows_of(200, 1, gaps=0.2)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X), strict=True)
    found, logs = explain(loaded, X), np.sort(clf.predict_log_proba(X), axis=1)
    added = found.contributions.sum(axis=1) + found.base_rate + found.baseline + found.remainder
    np.testing.assert_allclose(added, logs[:, 1] - logs[:, 0], atol=1e-9)
    again = clone(loaded).fit(*rows_of(300, 0, gaps=0.2))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X), strict=True)


@pytest.mark.parametrize("parameters", ["frequency", "acll", "pruned", "dfe"])
def test_what_cannot_learn_a_hidden_node_says_so(parameters):
    with pytest.raises(OptionError, match=r"no column of the table, 'cause';.*cannot learn"):
        fitted(parameters, 50)


def test_other_options_that_do_not_go_with_hidden_nodes_are_refused():
    with pytest.raises(OptionError, match=r"missing='skip'.*'cause'"):
        fitted("em", 50, missing="skip")
    with pytest.raises(OptionError, match="prior='uniform'"):
        fitted(Conditional(prior="uniform"), 50)
    X, y = rows_of(50, 0)
    with pytest.raises(OptionError, match=r"no node 'class', the class; .*'y'"):
        BayesianNetworkClassifier(Fixed(replace(TRUTH, target=None)), parameters="em").fit(X, y.to_numpy())
