"""Explanations of rows and of a model, as values with `to_dict`, `to_frame` and a text; `tanager.plots` draws them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
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


@overload
def explain(model: TableClassifier | Network | AdditiveModel) -> Overall: ...


@overload
def explain(
    model: TableClassifier | Network | AdditiveModel, X: object, *, against: Category | None = None
) -> Explanation: ...


def explain(
    model: TableClassifier | Network | AdditiveModel,
    X: object = None,
    y: None = None,
    *,
    against: Category | None = None,
) -> Explanation | Overall:
    """Explain the decisions of a model: for the rows of a table, or overall.

    Parameters
    ----------
    model : fitted classifier, one that decides, or a network with a class
    X : table, optional
        Rows to explain, one by one.
    y : None
        Refused: `sklearn.inspection.permutation_importance` measures what is lost without an attribute.
    against : class, optional
        The class to compare with; by default each row's second most probable one.

    Returns
    -------
    Explanation
        For `explain(model, X)`: what each attribute, or each effect, adds to the log odds of each row.
    Overall
        For `explain(model)`: the strength of attributes, effects and edges.

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
    from tanager.errors import OptionError
    from tanager.explain.explanation import explain_rows
    from tanager.explain.overall import explain_overall
    from tanager.runtime.resources import thread_limit

    if y is not None:
        raise OptionError(
            "explain(model, X, y) is gone.",
            hint="sklearn.inspection.permutation_importance(model, X, y, scoring='neg_log_loss') replaces it.",
        )
    model = getattr(model, "to_model", lambda: model)()  # one that decides has the model within
    with thread_limit(getattr(model, "n_jobs", None)):
        return explain_overall(model) if X is None else explain_rows(model, X, against)


def __getattr__(name: str) -> object:
    if name in __all__:
        homes = (import_module(f"tanager.explain.{home}") for home in ("counterfactual", "explanation", "overall"))
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    raise AttributeError(f"module 'tanager.explain' has no attribute {name!r}")
