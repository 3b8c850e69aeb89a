"""AdditiveModel: what it answers, what it refuses, and that its parts fit together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier
from tanager.additive.document import effect_parts, read_effect_parts
from tanager.additive.model import AdditiveModel
from tanager.errors import DataError, OptionError


@pytest.fixture(scope="module")
def fitted() -> tuple[AdditiveClassifier, pd.DataFrame]:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"x": rng.normal(size=300), "sort": rng.choice(["a", "b"], 300), "size": rng.integers(0, 9, 300)})
    y = pd.Series(np.where((X["x"] > 0) ^ (X["sort"] == "a") ^ (rng.random(300) < 0.1), "yes", "no"), name="answer")
    return AdditiveClassifier(pairs=[(0, 1), (0, 2), (1, 2)]).fit(X, y), X


def test_the_class_given_all_attributes_is_what_the_classifier_predicts(fitted):
    clf, X = fitted
    row = X.iloc[7]
    found = clf.model_.query("answer", row.to_dict())
    np.testing.assert_allclose([found[label] for label in clf.classes_], clf.predict_proba(X.iloc[[7]])[0], rtol=1e-12)


def test_a_network_of_effects_shows_itself_in_a_line(fitted):
    clf, _ = fitted
    assert repr(clf.model_) == "AdditiveModel(3 attributes, 3 pairs, target='answer')"


def test_the_sum_of_a_row_is_intercept_main_effects_and_pairs(fitted):
    clf, X = fitted
    network = clf.model_
    for position in (0, 100, 299):
        row = X.iloc[position]
        fine = [network.code(name, row[name]) for name in X]
        coarse = [column.coarse_codes[code] for column, code in zip(network.columns, fine, strict=False)]
        total = network.intercept.copy()
        for main, code in zip(network.mains, fine, strict=True):
            total += main[code]
        for (parent, child), table in zip(network.pairs, network.tables, strict=True):
            total += table[coarse[parent], coarse[child]]
        np.testing.assert_allclose(network.log_joint(np.array([fine]))[0], total, rtol=1e-12)


def test_a_pair_may_be_asked_for_either_way_round(fitted):
    network = fitted[0].model_
    parent, child = (network.nodes[node] for node in network.pairs[0])
    np.testing.assert_array_equal(network.pair(parent, child), network.pair(child, parent).swapaxes(0, 1))


def test_the_structure_has_the_class_above_every_attribute_and_the_pairs(fitted):
    network = fitted[0].model_
    for parent, child in network.pairs:
        assert network.nodes[parent] in network.parents[network.nodes[child]]
    assert all("answer" in network.parents[name] for name in ("x", "sort", "size"))
    assert network.parents["answer"] == ()


def test_a_coarse_state_is_refined_to_a_fine_state_inside_of_it(fitted):
    network = fitted[0].model_
    coarse = np.array([[0, 0, 0], [1, 1, 1]])
    np.testing.assert_array_equal(network.coarsen(network.refine(coarse)), coarse)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda network: network.query("x"), "the class 'answer' only"),
        (lambda network: network.query("answer", {"colour": 1}), "no node 'colour'"),
        (lambda network: network.query("answer", {"sort": "c"}), "no state 'c'"),
        (lambda network: network.query("answer", {"answer": "yes"}), "is the class"),
        (lambda network: network.main("answer"), "is the class"),
        (lambda network: network.pair("x", "x"), "no effect of the pair"),
    ],
)
def test_what_it_does_not_know_is_refused_by_name(fitted, ask, message):
    with pytest.raises(OptionError, match=message):
        ask(fitted[0].model_)


def test_effects_that_do_not_fit_the_states_are_refused_by_name(fitted):
    network: AdditiveModel = fitted[0].model_
    with pytest.raises(DataError, match="main effect of 'x' has shape"):
        replace(network, mains=(network.mains[0][:-1], *network.mains[1:]))
    with pytest.raises(DataError, match="intercept holds a value that is not a finite number"):
        replace(network, intercept=np.array([0.0, np.nan]))


def test_a_document_whose_pairs_close_a_cycle_is_refused(fitted):
    network: AdditiveModel = fitted[0].model_
    column, main, density = network.columns[1], network.mains[1], network.densities[1]
    columns = (column, replace(column, name="b"), replace(column, name="c"), network.columns[-1])
    table = np.zeros((len(main), len(main), 2))

    def written(*pairs: tuple[int, int]) -> object:
        tables = (table,) * len(pairs)
        return effect_parts(AdditiveModel(columns, network.intercept, (main,) * 3, pairs, tables, (density,) * 3))

    assert read_effect_parts(columns, written((0, 1), (1, 2))).dag.parents == ((3,), (0, 3), (1, 3), ())
    with pytest.raises(OptionError, match="cycle"):
        read_effect_parts(columns, written((0, 1), (1, 2), (2, 0)))
