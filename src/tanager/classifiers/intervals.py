"""The posterior of a fitted classifier, learnt from its training rows by one of the methods of `prepare_intervals`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tanager.classifiers.coded_table import CodedTable, add_hidden_codes, code_table, read_labelled
from tanager.classifiers.learning import Learnt
from tanager.counts.family import Family
from tanager.errors import DataError, OptionError
from tanager.missing.average import choose_rule
from tanager.network.network import Network
from tanager.parameters import Frequency
from tanager.table.read_columns import is_stream
from tanager.table.rows import EncodedBatch
from tanager.table.training_table import TrainingTable, weigh_classes
from tanager.uncertainty.dirichlet import DirichletPosterior, dirichlet_posterior
from tanager.uncertainty.posterior import AnyPosterior, BootstrapPosterior, draw_weights
from tanager.uncertainty.reference import ReferencePosterior, TrainingRows, reference_posterior

if TYPE_CHECKING:
    from tanager.classifiers.base import TableClassifier
    from tanager.classifiers.bayesian_network import BayesianNetworkClassifier

FOR_ANY_LEARNER = "method='reference' and method='bootstrap' are for every learner."


@dataclass(frozen=True)
class Preparation:
    """A fitted classifier and its training rows."""

    clf: TableClassifier
    training: TrainingTable

    @classmethod
    def of(cls, clf: TableClassifier, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> Preparation:
        if is_stream(X):
            raise DataError("intervals and stability need the training rows in memory, and X comes batch by batch.")
        return cls(clf, weigh_classes(read_labelled(clf, X, y, sample_weight), clf.class_weight))

    def learn(self, method: str, n_draws: int, seed: int) -> AnyPosterior:
        """By a method of `prepare_intervals`; "auto" asks the parameter learner."""
        closed_form = self.clf._own_posterior()
        if method == "auto":
            method = "dirichlet" if closed_form == "dirichlet" and self._has_family_tables else "reference"
        elif method == "dirichlet" and (method != closed_form or not self._has_family_tables):
            what = " ".join(repr(clone(self.clf)).split())
            raise OptionError(f"method={method!r} is not defined for {what}.", hint=FOR_ANY_LEARNER)
        match method:
            case "dirichlet":
                return self._dirichlet()
            case "bootstrap":
                return BootstrapPosterior(
                    tuple(
                        choose_rule(learnt.model, learnt.imputation, self.clf.missing)
                        for learnt in self.refits(n_draws, seed)
                    )
                )
        return self._reference()

    @property
    def _has_family_tables(self) -> bool:
        """Whether there is a table for every family, of columns that are all in the data."""
        network = self.clf.model_
        return network.kind == "tables" and len(network.columns) - 1 == self.clf.n_features_in_

    def rows(self) -> TrainingRows:
        """As the network's codes, in the order of the table's columns."""
        clf, training = self.clf, self.training
        codes = add_hidden_codes(clf.encoder_.encode(training.table), clf.model_.n_states)
        weights = np.ones(len(codes)) if training.weights is None else training.weights
        return TrainingRows(codes, training.class_codes.astype(np.int64), weights, len(clf.classes_))

    def table(self) -> CodedTable:
        """As a learner is given them, by the categories and cut points of the classifier."""
        schema = self.clf.encoder_.schema
        return code_table(self.training, schema, schema.learning_order, self.clf._row_needs().unlabelled)

    def _reference(self) -> ReferencePosterior:
        clf, n_attributes = self.clf, self.clf.n_features_in_
        pairs = clf.model_.pairs if clf.model_.kind == "effects" else ()
        columns = clf.model_.columns[:n_attributes]
        order = clf.encoder_.schema.learning_order
        strength = clf.feature_importances_
        return reference_posterior(columns, order, strength, pairs, self.rows(), clf.missing_rule_)

    def _dirichlet(self) -> DirichletPosterior:
        network = cast(Network, self.clf.model_)
        learner = cast(Frequency, cast("BayesianNetworkClassifier", self.clf)._learner().parameters)
        table = code_table(self.training, self.clf.encoder_.schema, tuple(range(len(network.columns) - 1)))
        counts = table.counts(self.clf._count_engine())
        families = [Family(node, parents) for node, parents in enumerate(network.dag.parents)]
        counted = [np.asarray(counts.table(family), dtype=np.float64) for family in families]
        return dirichlet_posterior(network, counted, [learner.pseudo_rows(counts, family) for family in families])

    def refits(self, n_draws: int, seed: int) -> list[Learnt]:
        """The model learnt again from rows of random weights (`draw_weights`), structure and strengths chosen again."""
        clf, table, rng = self.clf, self.table(), np.random.default_rng(seed)
        rows = cast(EncodedBatch, table.rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in the fit, which has given them
            drawn = (replace(table, rows=draw_weights(rows, rng)) for _ in range(n_draws))
            return [clf._learn_model(each, clf._count_engine()) for each in drawn]
