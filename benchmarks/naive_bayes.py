"""Naive Bayes on integer codes against scikit-learn's CategoricalNB: time, memory, and the same probabilities."""

from __future__ import annotations

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from benchmarks.timing import best_time, peak_memory, print_head, print_row
from benchmarks.workloads import random_tan
from tanager import NaiveBayesClassifier


def main() -> None:
    X, y = random_tan(1_000_000, 30, 4)
    name = "naive Bayes, 1,000,000 x 30, 4 states"
    ours = NaiveBayesClassifier(categorical_features="all").fit(X, y)
    ours.predict_proba(X)
    print_head()
    fit, _ = best_time(lambda: ours.fit(X, y))
    peer_fit, peer = best_time(lambda: CategoricalNB().fit(X, y))
    print_row(f"{name}: fit", fit, "CategoricalNB", peer_fit, "at least 3x")
    predict, probabilities = best_time(lambda: ours.predict_proba(X))
    peer_predict, peer_probabilities = best_time(lambda: peer.predict_proba(X))
    print_row(f"{name}: predict_proba", predict, "CategoricalNB", peer_predict, "at least 3x")
    for what, mine, theirs in (
        ("fit", lambda: ours.fit(X, y), lambda: CategoricalNB().fit(X, y)),
        ("predict_proba", lambda: ours.predict_proba(X), lambda: peer.predict_proba(X)),
    ):
        print(
            f"| {name}: {what}, peak memory | {peak_memory(mine):.0f} MB | CategoricalNB: {peak_memory(theirs):.0f} MB "
            "| | no more |"
        )
    largest = np.abs(probabilities - peer_probabilities).max()
    print(f"| {name}: largest difference of a probability | {largest:.1g} | | | at most 1e-12 |")


if __name__ == "__main__":
    main()
