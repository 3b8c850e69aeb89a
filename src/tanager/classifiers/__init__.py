"""The scikit-learn estimators, and studies of a table: read, encode, count, learn the structure and the parameters."""

from __future__ import annotations

from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.clustering import NaiveBayesClusterer
from tanager.classifiers.presets import (
    BCKGClassifier,
    HillClimbClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveNaiveBayesClassifier,
    TANClassifier,
)
from tanager.classifiers.studies import information, structure_score

__all__ = [
    "AdditiveClassifier",
    "BCKGClassifier",
    "BayesianNetworkClassifier",
    "HillClimbClassifier",
    "KDBClassifier",
    "NaiveBayesClassifier",
    "NaiveBayesClusterer",
    "SelectiveNaiveBayesClassifier",
    "TANClassifier",
    "information",
    "structure_score",
]
