"""Explanations of rows and of a model, as values with `to_dict`, `to_frame` and a text; `tanager.plots` draws them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tanager.additive.model import AdditiveModel
    from tanager.classifiers.base import TableClassifier
    from tanager.explain.counterfactual import Change, Counterfactuals, counterfactuals
    from tanager.explain.explanation import Contribution, Explanation, RowExplanation
    from tanager.explain.overall import Overall
    from tanager.network.network import Network
    from tanager.table.schema import Category

__all__ = [
    "Change",
    "Contribution",
    "Counterfactuals",
    "Explanation",
    "Overall",
    "RowExplanation",
    "counterfactuals",
    "explain",
]

_HOMES = {
    "Change": "tanager.explain.counterfactual",
    "Counterfactuals": "tanager.explain.counterfactual",
    "counterfactuals": "tanager.explain.counterfactual",
    "Contribution": "tanager.explain.explanation",
    "Explanation": "tanager.explain.explanation",
    "Overall": "tanager.explain.overall",
    "RowExplanation": "tanager.explain.explanation",
}


@overload
def explain(model: TableClassifier | Network | AdditiveModel) -> Overall: ...


@overload
def explain(
    model: TableClassifier | Network | AdditiveModel, X: object, *, against: Category | None = None
) -> Explanation: ...


@overload
def explain(model: TableClassifier, X: object, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Overall: ...


def explain(
    model: TableClassifier | Network | AdditiveModel,
    X: object = None,
    y: ArrayLike | None = None,
    *,
    against: Category | None = None,
    sample_weight: ArrayLike | None = None,
) -> Explanation | Overall:
    """Explain the decisions of a model: for the rows of a table, or overall.

    Parameters
    ----------
    model : fitted classifier, one that decides, or a network with a class
    X : table, optional
        Rows to explain, one by one.
    y : array of classes, optional
        With y, the result has how much the log-loss on these rows rises without each attribute, or without each effect
        of an additive model. Use rows that the model was not fitted to.
    against : class, optional
        The class to compare with; by default each row's second most probable one.
    sample_weight : array, optional
        Weights of the rows, with y.

    Returns
    -------
    Explanation
        For `explain(model, X)`: what each attribute, or each effect, adds to the log odds of each row.
    Overall
        For `explain(model)` and `explain(model, X, y)`: the strength of attributes, effects and edges.

    Examples
    --------
    >>> from tanager import NaiveBayesClassifier, explain
    >>> X = [["sunny", "hot"], ["rainy", "mild"], ["sunny", "mild"], ["rainy", "hot"]]
    >>> clf = NaiveBayesClassifier().fit(X, ["out", "in", "out", "in"])
    >>> print(explain(clf, [["sunny", None]]))
    row 0: out (P 0.7500) against in (P 0.2500), log odds +1.0986
       0.0000  base rate of class
      +1.0986  x0 = sunny
       0.0000  x1: unknown, summed out
    >>> explain(clf).strength.round(4).tolist()
    [0.1308, 0.0]
    """
    # Imported here: `tanager` imports this function when it is itself imported, and must stay light.
    from tanager.explain.explanation import explain_rows
    from tanager.explain.overall import explain_overall
    from tanager.runtime.resources import thread_limit

    model = getattr(model, "to_model", lambda: model)()  # one that decides has the model within
    with thread_limit(getattr(model, "n_jobs", None)):
        if y is None and X is not None:
            return explain_rows(model, X, against)
        return explain_overall(model, X, y, sample_weight)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tanager.explain' has no attribute {name!r}")
