"""`score` names two things: the structure score an estimator is built with, and scikit-learn's method `score(X, y)`."""

from __future__ import annotations

from types import MethodType
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin


class ScoreOption:
    """Assigning `estimator.score` sets the option; reading it gives the method, as scikit-learn expects.

    The option is read through `get_params()["score"]`.
    """

    def __get__(self, estimator: object | None, owner: type | None = None) -> Any:
        return ClassifierMixin.score if estimator is None else MethodType(ClassifierMixin.score, estimator)

    def __set__(self, estimator: object, option: object) -> None:
        estimator.__dict__["score"] = option


class TwoScores(BaseEstimator):
    """An estimator with the option `score` beside the method."""

    score = ScoreOption()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name, nested ones as `part__option`."""
        params: dict[str, Any] = super().get_params(deep)
        if "score" in params:
            option = params["score"] = self.__dict__["score"]
            if deep and hasattr(option, "get_params"):
                params.update((f"score__{name}", value) for name, value in option.get_params().items())
        return params
