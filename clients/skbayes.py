"""AODE and A2DE with the class smoothing of scikit-bayes give its probabilities within 1e-12."""
# /// script
# dependencies = ["scikit-bayes"]
# ///

from dataclasses import replace
from math import prod

import numpy as np
from skbn import AnDE

from tanager import BayesianNetworkClassifier
from tanager.structure import AnDE as Structure

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 400)
X = (rng.random((400, 5)) < 0.3 + 0.2 * y[:, np.newaxis]).astype(int) + rng.integers(0, 2, (400, 5))
for n in (1, 2):
    ours = BayesianNetworkClassifier(Structure(n), parameters="frequency", categorical_features="all").fit(X, y)
    theirs = AnDE(n_dependence=n, categorical_features=list(range(5))).fit(X, y).predict_proba(X)
    members = []
    for member in ours.network_.members:
        superparents = set.intersection(*(set(p) for p in member.dag.parents[:-1] if len(p) == n + 1)) - {5}
        smoothed = np.bincount(y) + float(prod(member.n_states[each] for each in superparents))
        members.append(replace(member, tables=(*member.tables[:-1], smoothed[np.newaxis] / smoothed.sum())))
    network = replace(ours.network_, members=tuple(members))
    shares = np.exp(network.log_joint(X.astype(np.uint8), normalized=True))
    np.testing.assert_allclose(shares, theirs, atol=1e-12, err_msg=f"n = {n}")
