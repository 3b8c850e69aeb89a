"""Sets of classes that hold the true one as often as asked for: of a model that keeps its quality, or of any."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.wrapping import WrappingClassifier
from tanager.errors import DataError, OptionError
from tanager.metrics.basic import Probabilities
from tanager.metrics.conformal import ConformalSets, KnownRows, check_level, make_sets
from tanager.metrics.quality import Quality
from tanager.registry import check_option
from tanager.table.training_table import check_labels, check_missing, encode_labels, missing_labels, read_labels


def conformal_sets(
    clf: TableClassifier, X: object, level: float = 0.95, *, quality: Quality | None = None
) -> ConformalSets:
    """The sets of classes of new rows, from the probabilities out of fold that a model keeps.

    The known rows are those that `cross_validate_model` has judged by models of other rows; the new rows are judged by
    the model of all rows. That is no theorem, since the known rows were judged by other models, of fewer rows: on a
    table like that learnt from sets tend to be a little too large. `ConformalClassifier` has the guarantees.

    Parameters
    ----------
    clf : classifier
        Fitted.
    X : table
        The rows to judge.
    level : float
        Share of the rows of every class whose set is to hold it.
    quality : Quality, optional
        As `cross_validate_model` gives it; by default the one that the model keeps.

    Returns
    -------
    ConformalSets
        The p-value of every class in every row, and the sets at the level.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, conformal_sets, cross_validate_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = TANClassifier(criterion="bic", parameters="frequency").fit(X, y)
    >>> sets = conformal_sets(clf, X, 0.9, quality=cross_validate_model(clf, X, y))
    >>> sets.labels[0], sets.p_values.shape
    ((0,), (150, 3))
    """
    check_is_fitted(clf)
    return make_sets([kept_rows(clf, quality)], [clf.predict_proba(X)], clf.classes_, check_level(level))


def kept_rows(clf: TableClassifier, quality: Quality | None = None) -> KnownRows:
    """The rows that models of other rows have judged; an error where a model keeps none."""
    kept = clf.quality_ if quality is None else quality
    if kept is None:
        raise OptionError(
            "the model keeps no probabilities of rows that it has not learnt from, which sets are made by.",
            hint="fit without --no-validate and --stream; in Python give quality=cross_validate_model(clf, X, y).",
        )
    if kept.classes.tolist() != clf.classes_.tolist():
        raise OptionError("the quality is of a model of other classes than this one.")
    # Rows that were dealt to folds several times are known once. Without weights `class_count_` are rows.
    judged = kept.confusion.sum(axis=1)
    repeats = np.maximum(1.0, judged / np.maximum(clf.class_count_, 1.0))
    return KnownRows.of(kept.predictions.probabilities, kept.predictions.class_codes, repeats)


@dataclass(eq=False, repr=False)
class ConformalOptions:
    """Options of `ConformalClassifier`."""

    estimator: Any
    _: KW_ONLY
    level: float = 0.95
    method: str = "cross"
    folds: int = 5
    random_state: int | None = 0


class ConformalClassifier(ConformalOptions, WrappingClassifier):
    """A classifier whose answers are sets: the classes that a row may have.

    `predict_set` holds the true class of at least the share `level` of the rows of every class, in the mean over
    tables, if the rows learnt from and the new ones are drawn alike. `predict` and `predict_proba` are those of the
    classifier within.

    Parameters
    ----------
    estimator : classifier
        Of Tanager or any other of scikit-learn's kind.
    level : float
        Share of the rows of every class whose set holds it: 1 - alpha.
    method : {"cross", "split"}
        "split" holds one of the folds out and compares new rows with it: at least 1 - alpha. "cross" holds every fold
        out once, compares with all rows, and fits the classifier within to all of them: about 1 - alpha, and at least
        1 - 2 alpha but for a term that vanishes with the rows of a fold (Vovk 2015; Barber et al. 2021).
    folds : int
        Parts that the rows of every class are dealt to.
    random_state : int or None
        For the folds.

    Attributes
    ----------
    estimator_ : the classifier within: of all rows, or with "split" of those not held out
    estimators_ : the classifiers new rows are compared by
    known_ : what each of them said of the rows it had not learnt from
    classes_ : the labels, ascending

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import ConformalClassifier, TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = ConformalClassifier(TANClassifier(criterion="bic", parameters="frequency"), level=0.9).fit(X, y)
    >>> print(clf.predict_set(X[:100]).labels[0])
    (0,)
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the classifiers of the folds, keep what they say of the rows held out, and fit the classifier within."""
        check_level(self.level)
        check_option("method", self.method, ["cross", "split"])
        labels = read_labels(y)
        missing = missing_labels(labels)
        if missing.any():
            check_missing(missing, allowed=False)
        check_labels(labels)
        (X,) = indexable(X)
        check_consistent_length(X, labels)
        self.classes_, codes = encode_labels(labels)
        part = self._deal(codes)
        self.estimators_, self.known_ = [], []
        for fold in range(self.folds if self.method == "cross" else 1):
            train, held_out = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
            fitted = clone(self.estimator).fit(_safe_indexing(X, train), labels[train])
            said = self._probabilities(fitted, _safe_indexing(X, held_out))
            self.estimators_.append(fitted)
            self.known_.append(KnownRows.of(said, codes[held_out]))
        self.estimator_ = self.estimators_[0] if self.method == "split" else clone(self.estimator).fit(X, labels)
        return self

    def _deal(self, codes: Codes) -> NDArray[np.intp]:
        """(n_rows,) the fold of each row; the rows of every class are dealt evenly."""
        if self.folds < 2:
            raise OptionError(f"folds={self.folds!r} leaves nothing to compare with; expected at least 2.")
        if len(self.classes_) < 2 or np.bincount(codes).max() < self.folds:
            raise DataError(
                f"{len(codes):,} rows of {len(self.classes_)} classes cannot be dealt to {self.folds} folds.",
                hint="use fewer folds; two classes are needed.",
            )
        generator = np.random.default_rng(self.random_state)
        part = np.empty(len(codes), dtype=np.intp)
        for code in range(len(self.classes_)):
            rows = np.flatnonzero(codes == code)
            part[generator.permutation(rows)] = np.arange(len(rows)) % self.folds
        return part

    def _probabilities(self, fitted: Any, X: Any) -> Probabilities:
        """P(class | row) of all classes; 0 of one that the rows of a fold do not have."""
        found = fitted.predict_proba(X)
        said = np.zeros((len(found), len(self.classes_)))
        said[:, np.searchsorted(self.classes_, fitted.classes_)] = found
        return said

    def predict_set(self, X: object, level: float | None = None) -> ConformalSets:
        """The sets of the rows of X, at the `level` of the classifier or another."""
        check_is_fitted(self)
        said = [self._probabilities(fitted, X) for fitted in self.estimators_]
        return make_sets(self.known_, said, self.classes_, self.level if level is None else level)

    def predict(self, X: object) -> NDArray[np.generic]:
        """The class that the classifier within predicts."""
        check_is_fitted(self)
        labels: NDArray[np.generic] = self.estimator_.predict(X)
        return labels

    def predict_proba(self, X: object) -> Probabilities:
        """P(class | row) of the classifier within."""
        check_is_fitted(self)
        return self._probabilities(self.estimator_, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")
