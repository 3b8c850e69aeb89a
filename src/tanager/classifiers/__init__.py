"""The scikit-learn estimators, and studies of a table: read, encode, count, learn the structure and the parameters."""

from __future__ import annotations

from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.clustering import NaiveBayesClusterer
from tanager.classifiers.presets import NaiveBayesClassifier, TANClassifier
from tanager.classifiers.studies import information, structure_score

__all__ = [
    "AdditiveClassifier",
    "BayesianNetworkClassifier",
    "NaiveBayesClassifier",
    "NaiveBayesClusterer",
    "TANClassifier",
    "information",
    "structure_score",
]
