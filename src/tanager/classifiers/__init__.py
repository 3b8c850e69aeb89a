"""Layer 7: the scikit-learn face: check, encode, count, structure, parameters."""

from __future__ import annotations

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.naive_bayes import NaiveBayesClassifier
from tanager.classifiers.presets import (
    BCKGClassifier,
    HillClimbClassifier,
    KDBClassifier,
    PairwiseClassifier,
    SelectiveNaiveBayesClassifier,
    TANClassifier,
)

__all__ = [
    "BCKGClassifier",
    "BayesianNetworkClassifier",
    "HillClimbClassifier",
    "KDBClassifier",
    "NaiveBayesClassifier",
    "PairwiseClassifier",
    "SelectiveNaiveBayesClassifier",
    "TANClassifier",
]
