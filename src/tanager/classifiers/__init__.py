"""Layer 7: the scikit-learn face: check, encode, count, structure, parameters."""

from __future__ import annotations

from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.presets import (
    BCKGClassifier,
    HillClimbClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveNaiveBayesClassifier,
    TANClassifier,
)

__all__ = [
    "AdditiveClassifier",
    "BCKGClassifier",
    "BayesianNetworkClassifier",
    "HillClimbClassifier",
    "KDBClassifier",
    "NaiveBayesClassifier",
    "SelectiveNaiveBayesClassifier",
    "TANClassifier",
]
