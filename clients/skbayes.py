"""AODE and A2DE with the joint smoothing of scikit-bayes give its probabilities within 1e-12."""
# /// script
# dependencies = ["scikit-bayes"]
# ///

from dataclasses import replace
from math import prod

import numpy as np
from skbn import AnDE

from tanager import BayesianNetworkClassifier
from tanager.network import Network
from tanager.structure import AnDE as Structure

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 400)
X = (rng.random((400, 5)) < 0.3 + 0.2 * y[:, np.newaxis]).astype(int) + rng.integers(0, 2, (400, 5))


def with_joint_smoothing(member: Network, n: int) -> Network:
    """One pseudo-row in every cell of (class, superparents), as scikit-bayes has it; ours smooths table by table."""
    parents = member.dag.parents
    superparents = set.intersection(*(set(p) for p in parents[:-1] if len(p) == n + 1)) - {5}
    cells = prod(member.n_states[each] for each in superparents)
    first = next(each for each in superparents if parents[each] == (5,))
    counts = np.array([np.bincount(X[y == c, first], minlength=member.n_states[first]) for c in range(3)], dtype=float)
    tables = [*member.tables]
    for node, smoothed in ((first, counts + cells / member.n_states[first]), (5, counts.sum(axis=1)[None] + cells)):
        tables[node] = smoothed / smoothed.sum(axis=1, keepdims=True)
    return replace(member, tables=tuple(tables))


for n in (1, 2):
    ours = BayesianNetworkClassifier(Structure(n), parameters="frequency", categorical_features="all").fit(X, y)
    theirs = AnDE(n_dependence=n, categorical_features=list(range(5))).fit(X, y).predict_proba(X)
    members = [with_joint_smoothing(member, n) for member in ours.network_.members]
    network = replace(ours.network_, members=tuple(members))
    shares = np.exp(network.log_joint(X.astype(np.uint8), normalized=True))
    np.testing.assert_allclose(shares, theirs, atol=1e-12, err_msg=f"n = {n}")
