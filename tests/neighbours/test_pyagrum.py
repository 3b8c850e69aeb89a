"""Posteriors of every node, and P(evidence), are those of pyAgrum on networks of growing size."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

from quiet_pyagrum import gum
from tanager.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


def random_local_network(n_nodes: int, rng: np.random.Generator) -> Network:
    """Two to four states; up to three parents among the four nodes before, so that cliques stay small."""
    n_states = rng.integers(2, 5, n_nodes).tolist()
    before = [np.arange(max(0, node - 4), node) for node in range(n_nodes)]
    dag = Dag(tuple(tuple(rng.permutation(near)[: rng.integers(0, 4)].tolist()) for near in before))
    tables = tuple(rng.dirichlet(np.ones(r), size=rows) for rows, r in (f.shape(n_states) for f in dag.families))
    columns = (ColumnSchema(f"n{k}", "categorical", tuple(map(str, range(r)))) for k, r in enumerate(n_states))
    return Network(tuple(columns), dag, tables, f"n{n_nodes - 1}")


def in_pyagrum(network: Network) -> gum.BayesNet:
    peer = gum.BayesNet()
    for name, r in zip(network.nodes, network.n_states, strict=True):
        peer.add(gum.LabelizedVariable(name, "", r))
    for parent, child in network.dag.edges:
        peer.addArc(parent, child)
    for family, table in zip(network.dag.families, network.tables, strict=True):
        configurations = product(*(range(network.n_states[node]) for node in family.parents))
        for states, row in zip(configurations, table, strict=True):
            given = {network.nodes[p]: k for p, k in zip(family.parents, states, strict=True)}
            peer.cpt(family.child)[given] = row.tolist()
    return peer


@pytest.mark.parametrize("n_nodes", [5, 20, 80])
def test_posteriors_are_those_of_pyagrum(n_nodes):
    rng = np.random.default_rng(n_nodes)
    network = random_local_network(n_nodes, rng)
    peer = in_pyagrum(network)
    observed = {network.nodes[node]: network.n_states[node] for node in rng.permutation(n_nodes)[: n_nodes // 3]}
    rows = pd.DataFrame({name: rng.integers(0, r, 4) for name, r in observed.items()}).astype(str)
    found = network.posterior(rows, [name for name in network.nodes if name not in observed])
    for number, row in enumerate(rows.to_dict("records")):
        inference = gum.LazyPropagation(peer)
        inference.setEvidence({name: int(state) for name, state in row.items()})
        inference.makeInference()
        assert math.log(inference.evidenceProbability()) == pytest.approx(network.log_evidence(row), rel=1e-9)
        for name, shares in found.items():
            np.testing.assert_allclose(shares[number], inference.posterior(name).toarray(), atol=1e-9)
