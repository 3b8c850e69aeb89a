"""A classifier that decides by costs of mistakes or by a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.decide.decision import CostDecision, Costs, Decision, ThresholdDecision, class_code, read_costs, read_price
from tanager.errors import OptionError
from tanager.table.schema import Category
from tanager.table.training_table import read_labels, read_sample_weight


@dataclass(eq=False, repr=False)
class FixedDecisionOptions:
    """Options of `FixedDecisionClassifier`."""

    estimator: Any
    _: KW_ONLY
    costs: Costs = None
    ask: float | None = None
    threshold: float | None = None
    pos_label: Any = None


class FixedDecisionClassifier(FixedDecisionOptions, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Decide by given costs or by a given threshold; `predict_proba` stays what it is.

    Parameters
    ----------
    estimator : classifier
        Gives the probabilities.
    costs : matrix, mapping or None
        `costs[c][k]` of deciding class k where c is true, in the order of the classes; or {(c, k): cost}, where other
        mistakes cost 1. The class of least expected cost is decided for.
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
        self.decision_ = self._decide()
        return self

    def _decide(self) -> Decision:
        classes = tuple(self.classes_.tolist())
        if self.threshold is None:
            return CostDecision(classes, read_costs(self.costs, classes), read_price(self.ask))
        if self.costs is not None or self.ask is not None:
            raise OptionError("a threshold was given, and costs too; give one of them.")
        if not 0.0 <= self.threshold <= 1.0:
            raise OptionError(f"threshold={self.threshold!r} is reached by no row, or by all; expected 0 to 1.")
        return ThresholdDecision(classes, positive_label(self.pos_label, classes), float(self.threshold))

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
