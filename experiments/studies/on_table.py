"""OnTable: any scikit-learn classifier on a mixed table with gaps, each kind of classifier with what it needs."""

from __future__ import annotations

from inspect import signature
from typing import Any

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
from tanager.table.discretizer import Discretizer, choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.training_table import read_training
from tanager.table.value_counts import no_cuts

PREPARATIONS = ("one-hot", "native", "text", "filled", "bins", "binned-one-hot")
UNCUT = Discretizer(no_cuts)
"""For classifiers that take numbers as they are."""


class OnTable(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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

    def fit(self, X: pa.Table, y: ArrayLike) -> OnTable:
        """Learn the preparation and the classifier."""
        check_option("preparation", self.preparation, PREPARATIONS)
        binned = self.preparation in ("bins", "binned-one-hot")
        self._learn_schema(X, y, choose_discretizer("mdlp") if binned else UNCUT)
        self.categories_ |= binned
        estimator, options = clone(self.estimator), {}
        if self.preparation in ("native", "text"):
            options = tell_categories(estimator, self.categories_)
        elif self.preparation == "filled":
            columns = self._columns("passthrough", median_imputer())
            categories = np.arange(columns.fit_transform(self._matrix(X)).shape[1]) < self.categories_.sum()
            options = {f"classifier__{name}": told for name, told in tell_categories(estimator, categories).items()}
            estimator = Pipeline([("columns", columns), ("classifier", estimator)])
        elif self.preparation == "bins":
            tell_bins(estimator, self.encoder_.schema.n_states[:-1])
        else:
            estimator = make_pipeline(self._one_hot_columns(), estimator)
        # Numbered classes: XGBoost takes no others.
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = estimator.fit(self._matrix(X), numbers, **options)
        return self

    def predict(self, X: pa.Table) -> NDArray[np.generic]:
        """The classifier's own choice of class for each row."""
        # CatBoost gives a column.
        return np.asarray(self.classes_[np.ravel(self.estimator_.predict(self._matrix(X)))])

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: pa.Table) -> NDArray[np.float64]:
        """P(class | row), where the classifier gives it."""
        return np.asarray(self.estimator_.predict_proba(self._matrix(X)))

    def _learn_schema(self, X: pa.Table, y: ArrayLike, discretizer: Any) -> None:
        training = read_training(X, y, None)
        schema = learn_schema(
            training.table, training.target, training.class_codes, None, discretizer, missing_states=True
        )
        self.encoder_ = TableEncoder(schema)
        self.categories_ = np.array([column.kind == "categorical" for column in schema.attributes])

    def _columns(self, categories: object, numbers: object) -> ColumnTransformer:
        """The transformer of each kind of column; the categories come first."""
        kinds = ("categories", categories, self.categories_), ("numbers", numbers, ~self.categories_)
        return ColumnTransformer([(name, transformer, np.flatnonzero(chosen)) for name, transformer, chosen in kinds])

    def _one_hot_columns(self) -> ColumnTransformer:
        states = np.array(self.encoder_.schema.n_states[:-1])[self.categories_]
        codes = [np.arange(n, dtype=np.float64) for n in states]
        one_hot = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)
        return self._columns(one_hot, make_pipeline(median_imputer(), StandardScaler()))

    def _matrix(self, X: pa.Table) -> NDArray[Any]:
        """(n_rows, n_attributes): codes of categories, values of numbers; NaN for missing numbers."""
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
                    cells[cells >= min(schema.empty_code, schema.missing_code)] = np.nan
        return matrix


def median_imputer() -> SimpleImputer:
    """A column that is empty in training stays, so that training and test agree."""
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
