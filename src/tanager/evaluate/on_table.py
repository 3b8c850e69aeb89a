"""OnTable: any scikit-learn classifier on a mixed table with gaps, each kind of classifier with what it needs."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.metaestimators import available_if

from tanager.registry import check_option
from tanager.table.columns import NumericColumn
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.training_table import read_training
from tanager.table.value_counts import ValueCounts

PREPARATIONS = ("one-hot", "native", "text", "filled", "bins", "binned-one-hot")


class OnTable(ClassifierMixin, BaseEstimator):
    """A classifier for numeric arrays behind a preparation learnt on the training rows alone.

    preparation
        "one-hot"         a category each its column, a missing cell one too where training has some; numbers scaled
                          to mean 0 and variance 1, a gap the median with an indicator column
        "native"          categories as codes that the classifier is told are categories; gaps stay NaN
        "text"            as "native", but the code of a category, or of a missing one, is text
        "filled"          as "native", but a gap of a number is the median with an indicator column
        "bins"            every attribute as a code: numbers in MDLP bins as ours, a gap a state of its own, a category
                          unseen in training one more
        "binned-one-hot"  the codes of "bins", each its column
    """

    def __init__(self, estimator: BaseEstimator, preparation: str = "one-hot") -> None:
        self.estimator = estimator
        self.preparation = preparation

    def fit(self, X: pa.Table, y: ArrayLike) -> Self:
        """Learn the preparation and the classifier."""
        check_option("preparation", self.preparation, PREPARATIONS)
        binned = self.preparation in ("bins", "binned-one-hot")
        training = read_training(X, y, None)
        discretizer = choose_discretizer("mdlp") if binned else _one_bin
        schema = learn_schema(training.table, training.target, training.class_codes, None, discretizer, gap_states=True)
        self.encoder_ = TableEncoder(schema)
        self.categories_ = np.array([binned or column.kind == "categorical" for column in schema.attributes])
        estimator, matrix = clone(self.estimator), self._matrix(X)
        options: dict[str, object] = {}
        if self.preparation in ("native", "text"):
            options = tell_categories(estimator, self.categories_)
        elif self.preparation == "filled":
            columns = self._columns("passthrough", _fill())
            categories = np.arange(columns.fit_transform(matrix).shape[1]) < self.categories_.sum()
            options = {f"classifier__{name}": told for name, told in tell_categories(estimator, categories).items()}
            estimator = Pipeline([("columns", columns), ("classifier", estimator)])
        elif self.preparation == "bins":
            tell_bins(estimator, schema.n_states[:-1])
        else:
            columns = self._columns(self._one_hot(schema.n_states[:-1]), make_pipeline(_fill(), StandardScaler()))
            estimator = make_pipeline(columns, estimator)
        # Numbered classes: XGBoost takes no others.
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = estimator.fit(matrix, numbers, **options)
        return self

    def predict(self, X: pa.Table) -> NDArray[np.generic]:
        """The classifier's own choice of class for each row."""
        # CatBoost gives a column.
        return np.asarray(self.classes_[np.ravel(self.estimator_.predict(self._matrix(X)))])

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_proba"))
    def predict_proba(self, X: pa.Table) -> NDArray[np.float64]:
        """P(class | row), where the classifier gives it."""
        return np.asarray(self.estimator_.predict_proba(self._matrix(X)))

    def _matrix(self, X: pa.Table) -> NDArray[Any]:
        """(n_rows, n_attributes): codes of categories, values of numbers; NaN for gaps of numbers."""
        table = read_columns(X)
        matrix = self.encoder_.encode(table).astype(np.float64)
        for position, column in enumerate(table.columns):
            if not self.categories_[position] and isinstance(column, NumericColumn):
                matrix[:, position] = column.values
        if self.preparation == "text" and self.categories_.any():
            codes = matrix[:, self.categories_].astype(np.intp).astype(str)
            matrix = matrix.astype(object)
            matrix[:, self.categories_] = codes
        if self.preparation in ("native", "filled"):
            for position, schema in enumerate(self.encoder_.schema.attributes):
                if self.categories_[position]:
                    cells = matrix[:, position]
                    cells[cells >= min(schema.gap_code, schema.missing_code)] = np.nan
        return matrix

    def _columns(self, categories: object, numbers: object) -> ColumnTransformer:
        """What becomes of each kind of column; the categories come first."""
        return ColumnTransformer(
            [
                ("categories", categories, np.flatnonzero(self.categories_)),
                ("numbers", numbers, np.flatnonzero(~self.categories_)),
            ]
        )

    def _one_hot(self, n_states: tuple[int, ...]) -> OneHotEncoder:
        return OneHotEncoder(
            categories=[np.arange(n_states[each], dtype=np.float64) for each in np.flatnonzero(self.categories_)],
            handle_unknown="ignore",
            sparse_output=False,
        )


def _fill() -> SimpleImputer:
    # A column that is empty in training stays, so that training and test agree.
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def tell_bins(estimator: Any, n_states: tuple[int, ...]) -> None:
    """Tell a classifier how many codes there are (scikit-learn's CategoricalNB), and that all are (scikit-bayes)."""
    options = estimator.get_params()
    if "min_categories" in options:
        estimator.set_params(min_categories=[n + 1 for n in n_states])
    if "categorical_features" in options:
        estimator.set_params(categorical_features=list(range(len(n_states))))


def tell_categories(estimator: Any, categories: NDArray[np.bool_]) -> dict[str, object]:
    """Tell a classifier which columns hold categories, in its own way; what its `fit` must be told."""
    options, of_fit = estimator.get_params(), signature(estimator.fit).parameters
    if "cat_features" in of_fit:  # CatBoost, ChimeraBoost
        return {"cat_features": np.flatnonzero(categories).tolist()}
    if "cat_indicator" in of_fit:  # pytabkit
        return {"cat_indicator": categories.tolist()}
    if "enable_categorical" in options:  # XGBoost
        estimator.set_params(enable_categorical=True, feature_types=["c" if each else "q" for each in categories])
    elif "feature_types" in options:  # interpret
        estimator.set_params(feature_types=["nominal" if each else "continuous" for each in categories])
    elif "categorical_features" in options:  # scikit-learn's gradient boosting
        estimator.set_params(categorical_features=categories)
    else:  # LightGBM, also within a search
        return {"categorical_feature": np.flatnonzero(categories).tolist()}
    return {}


def _one_bin(counts: ValueCounts, n_classes: int) -> NDArray[np.float64]:
    """For classifiers that take numbers as they are."""
    return np.empty(0)
