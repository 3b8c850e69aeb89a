"""Classifiers that decide: by costs of mistakes or a threshold, given or tuned on rows held out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.decide.decision import CostDecision, Costs, Decision, ThresholdDecision, class_code, read_costs, read_price
from tanager.decide.tuning import (
    DecisionQuality,
    measure_decision,
    tune_for_costs,
    tune_for_sensitivity,
    tune_for_specificity,
)
from tanager.errors import DataError, OptionError
from tanager.metrics import Probabilities
from tanager.table.schema import Category
from tanager.table.training_table import encode_labels, read_labels, read_sample_weight

Weights = NDArray[np.float64] | None


class DecidingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator, ABC):
    """A classifier with another within: `estimator_` gives the probabilities, `decision_` makes decisions of them."""

    estimator: Any
    estimator_: Any
    decision_: Decision
    classes_: NDArray[np.generic]

    def fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier within, and find the decision."""
        weights = None if sample_weight is None else read_sample_weight(sample_weight, read_labels(y))
        self.estimator_ = clone(self.estimator).fit(X, y, **({} if weights is None else {"sample_weight": weights}))
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self.decision_ = self._decide(X, y, weights)
        return self

    @abstractmethod
    def _decide(self, X: object, y: ArrayLike, weights: Weights) -> Decision: ...

    def predict(self, X: object) -> NDArray[np.generic]:
        """The class decided for in each row; None where a person is to be asked."""
        probabilities = self.predict_proba(X)
        return self.decision_.labels(probabilities, self.classes_)

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """P(class | row), whatever is decided."""
        check_is_fitted(self)
        return cast(NDArray[np.float64], self.estimator_.predict_proba(X))

    def predict_log_proba(self, X: object) -> NDArray[np.float64]:
        """log P(class | row), whatever is decided."""
        check_is_fitted(self)
        return cast(NDArray[np.float64], self.estimator_.predict_log_proba(X))

    def to_model(self) -> TableClassifier:
        """The classifier within, which decides so too: what is saved and explained."""
        check_is_fitted(self)
        if not isinstance(self.estimator_, TableClassifier):
            within = type(self.estimator_).__name__
            raise OptionError(f"the classifier within is a {within}; only those of tanager are saved and explained.")
        model = copy(self.estimator_)
        model.decision_ = self.decision_
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "decision_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Costs by pairs of classes as a list: JSON, and so skops, has no mapping from pairs."""
        state: dict[str, Any] = dict(super().__getstate__())
        if isinstance(state["costs"], Mapping):
            state["costs_by_pair"] = list(state.pop("costs").items())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "costs_by_pair" in state:
            state["costs"] = dict(state.pop("costs_by_pair"))
        super().__setstate__(state)


@dataclass(eq=False, repr=False)
class FixedDecisionOptions:
    """Options of `FixedDecisionClassifier`."""

    estimator: Any
    _: KW_ONLY
    costs: Costs = None
    ask: float | None = None
    threshold: float | None = None
    pos_label: Any = None


class FixedDecisionClassifier(FixedDecisionOptions, DecidingClassifier):
    """Decide by given costs or by a given threshold; `predict_proba` stays what it is.

    Parameters
    ----------
    estimator : classifier
        Gives the probabilities.
    costs : matrix, mapping or None
        `costs[c][k]` of deciding class k where c is true, in the order of the classes; or {(c, k): cost}, where other
        mistakes cost 1. Decided is the class that is expected to cost least.
    ask : float or None
        The price of asking a person, who is asked where every class is expected to cost more; `predict` gives None.
    threshold : float or None
        In place of costs: `pos_label` is decided for where its probability is at least this, else the best other class.
    pos_label : class
        For a threshold; by default the second of two classes.

    Attributes
    ----------
    estimator_ : the classifier fitted
    decision_ : CostDecision or ThresholdDecision

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tanager import FixedDecisionClassifier, NaiveBayesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> y = y.map({0: "ill", 1: "healthy"})
    >>> clf = FixedDecisionClassifier(NaiveBayesClassifier(), costs={("ill", "healthy"): 10}).fit(X, y)
    >>> print(clf.decision_)
    least expected cost with ill:healthy=10 (true:decided)
    >>> bool((clf.predict(X) == "ill").sum() >= (clf.estimator_.predict(X) == "ill").sum())
    True
    """

    def _decide(self, X: object, y: ArrayLike, weights: Weights) -> Decision:
        classes = tuple(self.classes_.tolist())
        if self.threshold is None:
            return CostDecision(classes, read_costs(self.costs, classes), read_price(self.ask))
        if self.costs is not None or self.ask is not None:
            raise OptionError("a threshold was given, and costs too; give one of them.")
        if not 0.0 <= self.threshold <= 1.0:
            raise OptionError(f"threshold={self.threshold!r} is reached by no row, or by all; expected 0 to 1.")
        return ThresholdDecision(classes, positive_label(self.pos_label, classes), float(self.threshold))


@dataclass(eq=False, repr=False)
class TunedDecisionOptions:
    """Options of `TunedDecisionClassifierCV`."""

    estimator: Any
    _: KW_ONLY
    costs: Costs = None
    sensitivity: float | None = None
    specificity: float | None = None
    pos_label: Any = None
    cv: Any = 5


class TunedDecisionClassifierCV(TunedDecisionOptions, DecidingClassifier):
    """A threshold tuned on the probabilities of rows by models of other rows; `predict_proba` stays what it is.

    Parameters
    ----------
    estimator : classifier
        Gives the probabilities.
    costs : matrix, mapping or None
        The threshold is the one whose decisions on rows held out cost least; see `FixedDecisionClassifier`.
    sensitivity, specificity : float or None
        In place of costs: the highest threshold with at least this sensitivity, or the lowest with this specificity.
    pos_label : class
        That the threshold is for; by default the second of two classes.
    cv : int or splitter of scikit-learn
        How rows are held out.

    Attributes
    ----------
    estimator_ : the classifier, fitted to all rows
    decision_ : ThresholdDecision
    quality_ : DecisionQuality
        What the decision costs on the rows held out, beside the most probable class, everyone and no one. The threshold
        was tuned on these rows, so that new ones will cost a little more.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tanager import NaiveBayesClassifier, TunedDecisionClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> y = y.map({0: "ill", 1: "healthy"})
    >>> clf = TunedDecisionClassifierCV(NaiveBayesClassifier(), sensitivity=0.99, pos_label="ill").fit(X, y)
    >>> found = clf.predict(X)[y == "ill"] == "ill"
    >>> bool(found.mean() > 0.98), clf.quality_.rules[2].rule
    (True, 'everyone ill')
    """

    quality_: DecisionQuality

    def _decide(self, X: object, y: ArrayLike, weights: Weights) -> Decision:
        goals = [name for name in ("costs", "sensitivity", "specificity") if getattr(self, name) is not None]
        if len(goals) != 1:
            raise OptionError(
                f"a threshold is tuned for one of costs, sensitivity and specificity; given were {goals or 'none'}."
            )
        classes = tuple(self.classes_.tolist())
        positive = positive_label(self.pos_label, classes)
        costs = None if self.costs is None else read_costs(self.costs, classes)
        labels = read_labels(y)
        probabilities = out_of_fold(self.estimator, X, labels, weights, self.classes_, self.cv)
        truth = encode_labels(labels, self.classes_)[1]
        code = class_code(positive, classes, "pos_label")
        if costs is not None:
            threshold = tune_for_costs(probabilities, truth, code, costs, weights)
        elif self.sensitivity is not None:
            threshold = tune_for_sensitivity(probabilities, truth, code, self.sensitivity, weights)
        else:
            assert self.specificity is not None
            threshold = tune_for_specificity(probabilities, truth, code, self.specificity, weights)
        decision = ThresholdDecision(classes, positive, threshold, costs)
        self.quality_ = measure_decision(decision, probabilities, truth, weights)
        return decision


def positive_label(pos_label: Any, classes: tuple[Category, ...]) -> Category:
    """The class that a threshold is for."""
    if pos_label is None:
        if len(classes) != 2:
            raise OptionError(
                f"there are {len(classes)} classes, so pos_label has to say which of them the threshold is for.",
                hint=f"pos_label={classes[-1]!r}.",
            )
        return classes[1]
    return classes[class_code(pos_label, classes, "pos_label")]


def out_of_fold(
    clf: Any, X: Any, y: NDArray[np.generic], weights: NDArray[np.float64] | None, classes: NDArray[np.generic], cv: Any
) -> Probabilities:
    """(n_rows, n_classes) by clones of a classifier, each fitted without the rows that it judges."""
    probabilities = np.full((len(y), len(classes)), np.nan)
    for train, test in check_cv(cv, y, classifier=True).split(X, y):
        options = {} if weights is None else {"sample_weight": weights[train]}
        fitted = clone(clf).fit(_safe_indexing(X, train), y[train], **options)
        if len(fitted.classes_) < len(classes):
            raise DataError(
                f"a fold has rows of {len(fitted.classes_)} of the {len(classes)} classes only.",
                hint="use fewer folds, or leave out classes of few rows.",
            )
        probabilities[test] = fitted.predict_proba(_safe_indexing(X, test))
    if np.isnan(probabilities).any():
        raise DataError("cv leaves some rows out of every fold; each has to be judged once.")
    return probabilities
