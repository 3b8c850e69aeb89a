"""A comparison: the measures of several classifiers on the same folds of one table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, clone

from tanager.arrays import RowNumbers
from tanager.classifiers.base import TableClassifier
from tanager.errors import OptionError
from tanager.evaluate.cross_validate import Labels, judge_fold, stratified_folds
from tanager.evaluate.specs import parse_estimator
from tanager.metrics import measure
from tanager.runtime.progress import Update


class FoldMeasures(NamedTuple):
    """Of one fold; NaN where the classifier gives no probabilities. Seconds are of processor time."""

    error: float
    log_loss: float
    brier: float
    auc: float
    fit_seconds: float


def name_classifiers(specs: Sequence[str]) -> dict[str, BaseEstimator]:
    """Classifiers under the names they have in tables, `NAME=SPEC` giving another name."""
    named = [split_name(spec) for spec in specs]
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"classifier {name!r} is named twice.", hint="NAME=SPEC gives it another name.")
    return {name: parse_estimator(spec) for name, spec in named}


def split_name(text: str) -> tuple[str, str]:
    """The name and the spec of `NAME=SPEC`; a spec alone is its own name."""
    label, _, rest = text.partition("=") if re.match(r"[^(:]+=", text) else (text, "", text)
    return label.strip(), rest.strip()


def compare(
    classifiers: Mapping[str, Any],
    X: pa.Table,
    y: Labels,
    cv: int = 5,
    random_state: int = 0,
    update: Update | None = None,
) -> tuple[dict[str, list[FoldMeasures]], dict[str, str]]:
    """The measures of each classifier fold by fold, and of those that failed the reason.

    All have the same `cv` stratified folds and the same seed; everything is learnt from the training part of a fold.
    """
    splits = stratified_folds(y, cv, random_state)
    measured: dict[str, list[FoldMeasures]] = {}
    failures: dict[str, str] = {}
    for number, (name, clf) in enumerate(classifiers.items()):
        if update is not None:
            update(name, number, len(classifiers))
        seeded = {option: random_state for option in clf.get_params() if option.split("__")[-1] == "random_state"}
        seeded_clf = clone(clf).set_params(**seeded)
        try:
            # Numbered classes for those of other libraries: XGBoost takes no names.
            labels = y if isinstance(clf, TableClassifier) else np.unique(y, return_inverse=True)[1]
            measured[name] = [_measure(seeded_clf, X, labels, train, test) for train, test in splits]
        except Exception as error:  # one that fails does not stop the others
            failures[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return measured, failures


def _measure(clf: Any, X: pa.Table, y: Labels, train: RowNumbers, test: RowNumbers) -> FoldMeasures:
    classes, codes = np.unique(y, return_inverse=True)
    fold = judge_fold(clf, X, y, train, test, classes)
    if fold.answer is not None:
        return FoldMeasures(float(np.mean(fold.answer != y[test])), np.nan, np.nan, np.nan, fold.fit_seconds)
    measures = measure(fold.probabilities, codes[test])
    return FoldMeasures(1.0 - measures.accuracy, measures.log_loss, measures.brier, measures.auc, fold.fit_seconds)
