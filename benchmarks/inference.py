"""Exact inference with missing cells in a TAN of 30 attributes of 5 states, 100,000 rows, against pyAgrum row by row.

pyAgrum infers 300 of the rows; its time is scaled to all of them. A missing cell of a prediction is an unseen value.
Averages over unknown cells are timed by the processor's clock, for categories and for numbers.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best_time, peak_memory, print_head, print_row
from benchmarks.workloads import random_tan
from tanager import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.network import Network

N_ROWS, N_ATTRIBUTES, N_STATES = 100_000, 30, 5
PEER_ROWS = 300


def main() -> None:
    print_head()
    X, y = random_tan(N_ROWS, N_ATTRIBUTES, N_STATES)
    network = TANClassifier(parameters="frequency", categorical_features="all").fit(X, y).model_
    posteriors(network, X)
    counts(network, X, y)
    predictions(X, y)
    averages(X, y)
    memory(network, X)


def posteriors(network: Network, X: NDArray[np.int64]) -> None:
    codes = with_missing(X, 0.2)
    work = network.class_tree
    work.posterior(network.tables, codes)
    ours, found = best_time(lambda: work.posterior(network.tables, codes))
    name = f"P(class | cells present), {N_ROWS:,} x {N_ATTRIBUTES}, 20 % missing"
    if find_spec("pyagrum") is None:
        print_row(name, ours, "", None, "under 3 s")
        return
    start = time.perf_counter()
    peer = pyagrum_posteriors(network, codes[:PEER_ROWS])
    per_row = (time.perf_counter() - start) / PEER_ROWS
    np.testing.assert_allclose(found[:PEER_ROWS], peer, atol=1e-9)
    print_row(name, ours, "pyAgrum", per_row * N_ROWS, "under 3 s, at least 50x")


def counts(network: Network, X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    tree = JunctionTree.of(network.dag, network.n_states)
    for what, classes in (("", y), (", no class labels", np.full(N_ROWS, 2))):
        codes = with_missing(X, 0.2)
        codes[:, -1] = classes
        tree.expected_counts(network.tables, codes)
        ours, _ = best_time(lambda codes=codes: tree.expected_counts(network.tables, codes))
        print_row(f"expected counts of every family (an EM iteration){what}", ours, "", None, "under 3 s")


def predictions(X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, -1, X)
    for name, clf in (
        ("naive Bayes", NaiveBayesClassifier(categorical_features="all")),
        ("TAN", TANClassifier(parameters="frequency", categorical_features="all")),
        ("2-dependence", BayesianNetworkClassifier("kdb", None, "frequency", categorical_features="all")),
        (
            "BFS-consistent 2-graph",
            BayesianNetworkClassifier("bckg", None, "frequency", categorical_features="all"),
        ),
    ):
        clf.fit(X, y)
        clf.predict_proba(holes)
        complete, _ = best_time(lambda clf=clf: clf.predict_proba(X), n_times=7)
        ours, _ = best_time(lambda clf=clf: clf.predict_proba(holes), n_times=7)
        workload = f"predict_proba, {name}, 10 % missing: {ours / complete:.1f} times complete rows"
        print_row(workload, ours, "complete rows", complete, "at most 5 times, 0.2x")


def averages(X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    """Discriminative models, which average over the values of unknown cells; fitted to a fifth of the rows."""
    generator = np.random.default_rng(0)
    missing, numbers = generator.random(X.shape) < 0.1, X / 2 + generator.normal(size=X.shape)
    for name, clf, rows, holes in (
        ("TAN + conditional", TANClassifier(categorical_features="all"), X, np.where(missing, -1, X)),
        ("additive model", AdditiveClassifier(categorical_features="all"), X, np.where(missing, -1, X)),
        ("additive model, numbers", AdditiveClassifier(), numbers, np.where(missing, np.nan, numbers)),
    ):
        clf.fit(rows[: N_ROWS // 5], y[: N_ROWS // 5])
        clf.predict_proba(holes[:3_000])  # compiles
        clock, row = time.process_time, holes[missing.sum(axis=1) == 5][:1]
        all_rows, _ = best_time(lambda clf=clf, holes=holes: clf.predict_proba(holes), clock=clock)
        one_row, _ = best_time(lambda clf=clf, row=row: clf.predict_proba(row), 20, clock)
        print_row(f"averages, {name}, 10 % of the cells unknown", all_rows, "", None, "under 3 s")
        print_row(f"averages, {name}, one row with 5 unknown cells", one_row, "", None, "under 5 ms")


def memory(network: Network, X: NDArray[np.int64]) -> None:
    for n_rows in (N_ROWS // 2, N_ROWS):
        codes = with_missing(X[:n_rows], 0.2)
        peak = peak_memory(lambda codes=codes: network.class_tree.posterior(network.tables, codes))
        print(f"\nPeak memory for P(class | cells present) of {n_rows:,} rows: {peak:.1f} MB.")


def with_missing(X: NDArray[np.int64], share: float) -> NDArray[np.uint8]:
    """Codes of the attributes with a share of them missing, and of the class, all missing; column-major."""
    missing = np.random.default_rng(1).random(X.shape) < share
    codes = np.column_stack([np.where(missing, N_STATES, X), np.full(len(X), 2)])
    return np.asfortranarray(codes, dtype=np.uint8)


def pyagrum_posteriors(network: Network, codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """One LazyPropagation for all rows, with the evidence of one row after another."""
    import pyagrum

    target = len(network.nodes) - 1
    inference = pyagrum.LazyPropagation(pyagrum_network(network))
    inference.setTargets({target})
    found = []
    for row in codes:
        inference.setEvidence({node: int(code) for node, code in enumerate(row) if code < network.n_states[node]})
        inference.makeInference()
        found.append(inference.posterior(target).toarray())
    return np.array(found)


def pyagrum_network(network: Network) -> object:
    import pyagrum

    peer = pyagrum.BayesNet()
    for name, n_states in zip(network.nodes, network.n_states, strict=True):
        peer.add(pyagrum.LabelizedVariable(name, "", n_states))
    for parent, child in network.dag.edges:
        peer.addArc(parent, child)
    for family in network.dag.families:
        states = product(*(range(network.n_states[parent]) for parent in family.parents))
        for row, configuration in zip(network.tables[family.child], states, strict=True):
            given = {network.nodes[parent]: k for parent, k in zip(family.parents, configuration, strict=True)}
            peer.cpt(family.child)[given] = row.tolist()
    return peer


if __name__ == "__main__":
    main()
