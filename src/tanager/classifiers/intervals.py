"""The posterior of a fitted classifier, learnt from its training rows by one of the methods of `prepare_intervals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.coded_table import add_hidden_codes, check_columns, code_table
from tanager.errors import DataError, OptionError
from tanager.network.network import Network
from tanager.parameters import Frequency
from tanager.registry import check_option
from tanager.table.read_columns import is_stream
from tanager.table.training_table import TrainingTable, read_rows, warn_left_out, weigh_classes
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.posterior import AnyPosterior
from tanager.uncertainty.reference import ReferencePosterior, TrainingRows, reference_posterior

if TYPE_CHECKING:
    from tanager.classifiers.base import TableClassifier
    from tanager.classifiers.bayesian_network import BayesianNetworkClassifier

METHODS = ("auto", "reference", "dirichlet")


def read_training_rows(clf: TableClassifier, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingTable:
    """The rows that a classifier was fitted to, which have to be in memory, weighted as in the fit."""
    if is_stream(X):
        raise DataError("intervals and stability need the training rows in memory, and X comes batch by batch.")
    check_is_fitted(clf)
    rows = read_rows(X, y, sample_weight, clf.classes_, unlabelled=True)
    check_columns(clf, X, rows.table, reset=False)
    warn_left_out(rows)
    return weigh_classes(rows, clf.class_weight)


def learn_posterior(
    clf: TableClassifier, X: object, y: ArrayLike, sample_weight: ArrayLike | None, method: str
) -> AnyPosterior:
    """By a method of `prepare_intervals`; "auto" is "dirichlet" where the tables have it, else "reference"."""
    if method == "bootstrap":
        raise OptionError("method='bootstrap' is gone: its intervals were too narrow.", hint="use method='reference'.")
    check_option("method", method, METHODS)
    network = clf.model_
    # A table for every family, of columns that are all in the data.
    has_tables = network.kind == "tables" and len(network.columns) - 1 == clf.n_features_in_
    closed_form = has_tables and clf._own_posterior() == "dirichlet"
    if method == "dirichlet" and not closed_form:
        what = " ".join(repr(clone(clf)).split())
        raise OptionError(
            f"method='dirichlet' is not defined for {what}.", hint="method='reference' is for every learner."
        )
    training = read_training_rows(clf, X, y, sample_weight)
    if closed_form and method != "reference":
        return _dirichlet(cast("BayesianNetworkClassifier", clf), training)
    return _reference(clf, training)


def _reference(clf: TableClassifier, training: TrainingTable) -> ReferencePosterior:
    pairs = clf.model_.pairs if clf.model_.kind == "effects" else ()
    columns = clf.model_.columns[: clf.n_features_in_]
    codes = add_hidden_codes(clf.encoder_.encode(training.table), clf.model_.n_states)
    weights = np.ones(len(codes)) if training.weights is None else training.weights
    rows = TrainingRows(codes, training.class_codes.astype(np.int64), weights, len(clf.classes_))
    order = clf.encoder_.schema.learning_order
    return reference_posterior(columns, order, clf.feature_importances_, pairs, rows, clf.missing_rule_)


def _dirichlet(clf: BayesianNetworkClassifier, training: TrainingTable) -> DirichletPosterior:
    network = cast(Network, clf.model_)
    learner = cast(Frequency, clf._learner().parameters)
    table = code_table(training, clf.encoder_.schema, tuple(range(len(network.columns) - 1)))
    counts = table.counts(clf._count_engine())
    rows = []
    for family in network.dag.families:
        counted = np.asarray(counts.table(family), dtype=np.float64).reshape(family.shape(network.n_states))
        rows.append(counted + learner.pseudo_rows(counts, family))
    return DirichletPosterior(network, tuple(rows))
