"""P(class | row) of every row by a model of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from tanager.errors import DataError
from tanager.metrics import Probabilities


def out_of_fold(
    clf: Any, X: Any, y: NDArray[np.generic], weights: NDArray[np.float64] | None, classes: NDArray[np.generic], cv: Any
) -> Probabilities:
    """(n_rows, n_classes) by clones of a classifier, each fitted without the rows that it judges."""
    found = np.full((len(y), len(classes)), np.nan)
    for train, test in check_cv(cv, y, classifier=True).split(X, y):
        options = {} if weights is None else {"sample_weight": weights[train]}
        fitted = clone(clf).fit(_safe_indexing(X, train), y[train], **options)
        if len(fitted.classes_) < len(classes):
            raise DataError(
                f"a fold has rows of {len(fitted.classes_)} of the {len(classes)} classes only.",
                hint="use fewer folds, or leave out classes of few rows.",
            )
        found[test] = fitted.predict_proba(_safe_indexing(X, test))
    if np.isnan(found).any():
        raise DataError("cv leaves some rows out of every fold; each has to be judged once.")
    return found
