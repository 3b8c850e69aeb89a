"""AODE against scikit-bayes' AnDE: time to fit and to predict, and the same probabilities as smoothing vanishes."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from benchmarks.timing import best_time, print_head, print_row
from benchmarks.workloads import random_tan
from tanager import BayesianNetworkClassifier
from tanager.parameters import Frequency

ROWS_TO_COMPARE = 20_000
HARDLY_SMOOTHED = 1e-9


def main() -> None:
    X, y = random_tan(200_000, 50, 5)
    name = "AODE, 200,000 x 50, 5 states"
    ours = BayesianNetworkClassifier("aode", None, "frequency", categorical_features="all").fit(X, y)
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
    theirs = AnDE(n_dependence=1, alpha=HARDLY_SMOOTHED, categorical_features=columns).fit(X, y).predict_proba(X)
    ours.set_params(parameters=Frequency(alpha=HARDLY_SMOOTHED)).fit(X, y)
    largest = np.abs(ours.predict_proba(X) - theirs).max()
    print(f"| AODE, hardly smoothed: largest difference of a probability | {largest:.1g} | | | at most 1e-6 |")


if __name__ == "__main__":
    main()
