"""Effects: their terms add up to what is predicted, their strength is a mean over states and classes."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from explain.effect_networks import ATTRIBUTES, class_terms, effect_network, frame_of
from tanager import AdditiveClassifier, explain

IRIS = load_iris(as_frame=True)

CELLS = st.tuples(
    st.none() | st.floats(0, 10),
    st.sampled_from([None, "red", "green", "blue", "never seen"]),
    st.sampled_from([None, "no", "yes"]),
    st.none() | st.floats(0, 100),
)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.lists(CELLS, min_size=1, max_size=3))
def test_a_term_is_the_difference_of_two_entries_of_its_effect(seed, n_classes, rows):
    network = effect_network(seed, n_classes)
    found = explain(network, frame_of(rows))
    for k, cells in enumerate(rows):
        terms = class_terms(network, cells)
        sums = terms.sum(axis=0)
        favoured, against = np.argsort(-sums)[:2]
        assert (found.favoured[k], found.against[k]) == (favoured, against)
        expected = terms[:, favoured] - terms[:, against]
        np.testing.assert_allclose(
            [*found.contributions[k], found.base_rate[k] + found.baseline[k]], expected, atol=1e-12
        )
        assert found.log_odds[k] == pytest.approx(sums[favoured] - sums[against], abs=1e-9)
    assert not found.remainder.any()


def test_what_averaging_adds_is_named_in_the_rows_that_have_gaps():
    clf = AdditiveClassifier(missing="average").fit(IRIS.data, IRIS.target)
    X = IRIS.data.iloc[[0, 70]].copy()
    X.iloc[1, 2] = np.nan
    _, gappy = explain(clf, X)
    last = gappy.contributions[-1]
    assert (last.attribute, last.status) == ("unknown cells", "remainder")
    assert gappy.log_odds - gappy.base_rate - gappy.baseline - sum(
        each.log_odds for each in gappy.contributions[:-1]
    ) == pytest.approx(last.log_odds, abs=1e-9)
    assert "petal length (cm): unknown, averaged over" in str(gappy)


def test_pairs_are_named_by_both_attributes_with_coarse_states():
    network = effect_network(1)
    assert (0, 1) in network.pairs
    row = explain(network, frame_of([(3.0, "blue", None, None), (None, "never seen", "no", 20.0)]))
    pair = 4 + network.pairs.index((0, 1))
    first, second = row[0].contributions[pair], row[1].contributions[pair]
    assert first.label == "size & colour = [2, 8) & blue"
    assert second.label == "size & colour = unknown & never seen, expected effect"
    assert row[0].contributions[2].label == "on: unknown, expected effect"
    assert row[0].contributions[3].label == "age = (missing)"
    json.dumps(row.to_dict())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_strength_is_the_root_mean_square_of_the_log_odds_of_a_class_against_the_others(seed, n_classes):
    network = effect_network(seed, n_classes)
    squares = np.zeros(4 + len(network.pairs))

    def mean_square(effect) -> float:
        others = [[effect[d] for d in range(n_classes) if d != c] for c in range(n_classes)]
        return sum((effect[c] - sum(others[c]) / (n_classes - 1)) ** 2 for c in range(n_classes)) / n_classes

    for i, main in enumerate(network.mains):
        squares[i] = sum(p * mean_square(main[state]) for state, p in enumerate(network.densities[i]))
    for k, (i, j) in enumerate(network.pairs, 4):
        fine = product(enumerate(network.densities[i]), enumerate(network.densities[j]))
        for (x, p), (z, q) in fine:
            cell = ATTRIBUTES[i].coarse_codes[x], ATTRIBUTES[j].coarse_codes[z]
            squares[k] += p * q * mean_square(network.tables[k - 4][cell])
    overall = explain(network)
    np.testing.assert_allclose(overall.strength, np.sqrt(squares), rtol=1e-10)
    names = [*network.nodes[:4], *(f"{network.nodes[i]} & {network.nodes[j]}" for i, j in network.pairs)]
    assert overall.terms == tuple(names)
    by_edge = {frozenset(edge): nats for edge, nats in zip(overall.edges, overall.edge_strength, strict=True)}
    for name, square in zip(names, squares, strict=True):
        ends = frozenset(name.split(" & ")) if "&" in name else frozenset((name, "y"))
        assert by_edge[ends] == pytest.approx(math.sqrt(square))
