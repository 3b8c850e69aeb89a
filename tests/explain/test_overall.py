"""The strength of attributes and edges: information by adding up the joint, and what held-out rows lose."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_iris

from random_networks import joint, networks, random_network
from tanager import NaiveBayesClassifier, Network, OptionError, TANClassifier, explain

IRIS = load_iris(as_frame=True)


def information_by_hand(network: Network, child: int, parent: int) -> float:
    """I(child; parent | other parents), from entropies of sums of the joint."""
    others = [node for node in network.dag.parents[child] if node != parent]

    def entropy(nodes: list[int]) -> float:
        sums: dict[tuple[int, ...], float] = {}
        for state, p in joint(network).items():
            key = tuple(state[node] for node in nodes)
            sums[key] = sums.get(key, 0.0) + p
        return -math.fsum(p * math.log(p) for p in sums.values() if p > 0)

    return entropy([*others, parent]) + entropy([*others, child]) - entropy(others) - entropy([*others, parent, child])


@settings(max_examples=30, deadline=None)
@given(networks(max_nodes=5))
def test_strengths_are_conditional_informations_of_the_joint(network):
    found = explain(network)
    target = len(network.nodes) - 1
    by_edge = {
        edge: information_by_hand(network, child, parent)
        for edge, (parent, child) in zip(network.edges, network.dag.edges, strict=True)
    }
    np.testing.assert_allclose(found.edge_strength, [by_edge[edge] for edge in found.edges], atol=1e-9)
    for node, name in enumerate(found.attributes):
        own = by_edge.get((name, network.target), by_edge.get((network.target, name), 0.0))
        assert found.strength[node] == pytest.approx(own, abs=1e-9)
    assert target == len(found.attributes)


def test_strengths_of_a_network_too_large_to_sum_are_drawn(monkeypatch):
    network = random_network(5, [3, 2, 3, 2, 3], density=0.9)
    exact = network.edge_information
    monkeypatch.setattr("tanager.network.network.EXACT_BYTES", 1)
    drawn = network.edge_information
    assert not np.array_equal(drawn, exact)
    np.testing.assert_allclose(drawn, exact, atol=5e-3)
    np.testing.assert_array_equal(drawn, network.edge_information)


def test_frames_and_dictionaries_list_the_strongest_first():
    clf = TANClassifier().fit(IRIS.data, IRIS.target)
    found = explain(clf)
    document = json.loads(json.dumps(found.to_dict()))
    names = [line["attribute"] for line in document["attributes"]]
    assert names == list(found.ranked) == found.to_frame()["attribute"].tolist()
    assert found.to_frame("polars").columns == ["attribute", "strength"]
    strengths = [edge["strength"] for edge in document["edges"]]
    assert strengths == sorted(strengths, reverse=True)
    edges = [(edge["parent"], edge["child"]) for edge in document["edges"]]
    assert len(edges) == len(clf.network_.edges)
    assert set(edges) == set(clf.network_.edges)


def test_explain_with_classes_names_what_measures_them():
    clf = NaiveBayesClassifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(OptionError, match="permutation_importance"):
        explain(clf, IRIS.data, IRIS.target)
