"""AODE against scikit-bayes' AnDE: seconds by the wall to fit and to predict, and the same probabilities on its terms.

Ours uses two threads, scikit-bayes one. Needs an idle machine.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best_time, print_head, print_row
from benchmarks.workloads import random_tan
from tanager import BayesianNetworkClassifier
from tanager.network import MixtureNetwork

ROWS_TO_COMPARE = 20_000


def main() -> None:
    X, y = random_tan(200_000, 50, 5)
    name = "AODE, 200,000 x 50, 5 states"
    ours = BayesianNetworkClassifier("aode", None, "frequency", categorical_features="all", n_jobs=2).fit(X, y)
    ours.predict_proba(X)
    print_head()
    fit, _ = best_time(lambda: ours.fit(X, y))
    predict, _ = best_time(lambda: ours.predict_proba(X))
    if find_spec("skbn") is None:
        print_row(f"{name}: fit", fit, "scikit-bayes is not installed", None)
        print_row(f"{name}: predict_proba", predict, "scikit-bayes is not installed", None)
        return
    from skbn import AnDE

    columns = list(range(X.shape[1]))
    peer = AnDE(n_dependence=1, categorical_features=columns)
    peer_fit, _ = best_time(lambda: peer.fit(X, y), 1)
    peer_predict, _ = best_time(lambda: peer.predict_proba(X), 1)
    print_row(f"{name}: fit", fit, "scikit-bayes", peer_fit)
    print_row(f"{name}: predict_proba", predict, "scikit-bayes", peer_predict)
    print_row(f"{name}: both", fit + predict, "scikit-bayes", peer_fit + peer_predict, "at least 20x")
    X, y = X[:ROWS_TO_COMPARE], y[:ROWS_TO_COMPARE]
    theirs = AnDE(n_dependence=1, categorical_features=columns).fit(X, y).predict_proba(X)
    network = with_its_class_tables(ours.fit(X, y).network_, np.bincount(y))
    largest = np.abs(np.exp(network.log_joint(X.astype(np.uint8), normalized=True)) - theirs).max()
    print(f"| AODE with its class tables: largest difference of a probability | {largest:.1g} | | | at most 1e-12 |")


def with_its_class_tables(network: MixtureNetwork, class_count: NDArray[np.int64]) -> MixtureNetwork:
    """(N_c + r) / (N + r s) in the network of a superparent of r states, as scikit-bayes smooths them together."""
    members = []
    for superparent, member in enumerate(network.members):
        smoothed = class_count + float(member.n_states[superparent])
        members.append(replace(member, tables=(*member.tables[:-1], smoothed[np.newaxis] / smoothed.sum())))
    return replace(network, members=tuple(members))


if __name__ == "__main__":
    main()
