"""Sufficient reasons against every completion of the row and every set of attributes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.forests import fixes_the_class, frame, random_forest
from tanager import BCKGClassifier, DataError, NaiveBayesClassifier, OptionError
from tanager.explain import sufficient, sufficient_reason
from tanager.network.network import Network
from tanager.structure.dag import Dag


def drawn_row(network, seed: int) -> list[int]:
    """A row the network gives a positive probability."""
    labels = network.sample(1, seed)
    return [network.states[name].index(labels[name][0]) for name in network.nodes[:-1]]


def reason_of(network, row):
    found = sufficient_reason(network, pd.DataFrame(frame(network, [row])))[0]
    chosen = {network.number(name) for name, _ in found.attributes}
    return found, chosen, network.states[network.target].index(found.predicted)


def smallest_by_trying(network, row, predicted) -> int:
    n = len(row)
    return next(
        size
        for size in range(n + 1)
        if any(fixes_the_class(network, row, set(chosen), predicted) for chosen in combinations(range(n), size))
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.integers(2, 4),
    st.booleans(),
    st.booleans(),
)
def test_a_reason_fixes_the_class_and_no_smaller_set_does(seed, attributes, n_classes, linked, zeros):
    network = random_forest(seed, [*attributes, n_classes], linked, zeros)
    row = drawn_row(network, seed)
    found, chosen, predicted = reason_of(network, row)
    assert fixes_the_class(network, row, chosen, predicted)
    assert found.smallest
    assert len(chosen) == smallest_by_trying(network, row, predicted)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.booleans())
def test_without_the_search_nothing_of_a_reason_can_be_left_out(seed, n_classes, linked):
    network = random_forest(seed, [2, 3, 2, 2, 3, n_classes], linked)
    row = drawn_row(network, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sufficient, "SETS_SEARCHED", 0)
        found, chosen, predicted = reason_of(network, row)
    assert fixes_the_class(network, row, chosen, predicted)
    for node in chosen:
        assert not fixes_the_class(network, row, chosen - {node}, predicted)
    if found.smallest:
        assert len(chosen) == smallest_by_trying(network, row, predicted)


def test_the_search_finds_what_greed_misses():
    # Greed reduces a set; some rows have a smaller one that is not inside it.
    better = 0
    for seed in range(60):
        network = random_forest(seed, [3, 3, 3, 3, 3, 3, 3])
        row = drawn_row(network, seed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sufficient, "SETS_SEARCHED", 0)
            greedy = reason_of(network, row)[1]
        searched = reason_of(network, row)[1]
        assert len(searched) <= len(greedy)
        better += len(searched) < len(greedy)
    assert better > 0


def test_missing_cells_of_naive_bayes_take_no_part():
    network = random_forest(7, [3, 3, 2, 2], linked=False)
    row = [0, 1, 0]
    whole = Network(
        (*network.columns[1:],),
        Dag.augmented_naive_bayes([(), ()]),
        network.tables[1:],
        network.target,
    )
    found = sufficient_reason(network, pd.DataFrame(frame(network, [[None, 1, 0]])))[0]
    expected = sufficient_reason(whole, pd.DataFrame(frame(whole, [row[1:]])))[0]
    assert found.attributes == expected.attributes
    assert found.predicted == expected.predicted


def test_a_missing_cell_that_others_depend_on_is_refused_in_a_tree():
    network = random_forest(2, [2, 2, 2, 2])
    assert network.parents["n1"] == ("n0", "n3")
    with pytest.raises(DataError, match="'n0' is missing, and 'n1' depends on it"):
        sufficient_reason(network, pd.DataFrame(frame(network, [[None, 1, 0]])))
    leaf = next(n for n in (2, 1) if not any(n in parents for parents in network.dag.parents))
    row = [0, 1, 0]
    row[leaf] = None
    assert network.nodes[leaf] not in dict(
        sufficient_reason(network, pd.DataFrame(frame(network, [row])))[0].attributes
    )


def test_two_attribute_parents_and_a_class_with_parents_are_refused():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 3))
    clf = BCKGClassifier(criterion="ll", categorical_features="all").fit(X, X.sum(axis=1) % 2)
    with pytest.raises(OptionError, match="has 2 attribute parents"):
        sufficient_reason(clf, X[:1])
    network = random_forest(0, [2, 2])
    turned = Network(
        network.columns, Dag(((), (0,))), (np.array([[0.5, 0.5]]), np.array([[0.1, 0.9], [0.8, 0.2]])), "n1"
    )
    with pytest.raises(OptionError, match="class without parents"):
        sufficient_reason(turned, pd.DataFrame({"n0": ["s0"]}))


def test_a_reason_in_words():
    X = [["a", 1.0], ["a", 1.5], ["b", 7.0], ["b", 8.0]] * 5
    clf = NaiveBayesClassifier().fit(X, [0, 0, 1, 1] * 5)
    found = sufficient_reason(clf, [["b", 7.5]])[0]
    assert len(found.attributes) == 2
    assert (
        str(found) == ("row 0: class is 1 because x0 = b and x1 >= 4.25, whatever the other 0 attributes are")
        or str(found) == "row 0: class is 1 because x1 >= 4.25 and x0 = b, whatever the other 0 attributes are"
    )
    assert found.to_dict()["attributes"] == {"x0": "b", "x1": ">= 4.25"}


def test_a_class_that_needs_no_reason():
    clf = NaiveBayesClassifier().fit([["a"], ["b"]] * 2 + [["a"], ["b"]] * 20, [1] * 4 + [0] * 40)
    assert str(sufficient_reason(clf, [["a"]])[0]) == "row 0: class is 0, whatever the 1 attributes are"


def test_a_gap_that_the_model_leaves_out_is_refused():
    clf = NaiveBayesClassifier(missing="skip").fit([["a", "b"], ["b", "a"]] * 3, [0, 1] * 3)
    with pytest.raises(OptionError, match="row 1 has a missing cell, 'x1'"):
        sufficient_reason(clf, [["a", "b"], ["a", None]])
