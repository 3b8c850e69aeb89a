"""Classifiers from short specs such as `tan:fcll:conditional`, or by import path."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.metaestimators import available_if

from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.bayesian_network import REGISTRIES, BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.table.columns import NumericColumn
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.training_table import read_training
from tanager.table.value_counts import no_cuts

DEFAULT, ADDITIVE = "default", "additive"
UNCUT = Discretizer(no_cuts)
"""For classifiers that take numbers as they are."""
PART = re.compile(r"(?P<name>[\w.-]+)(?:\((?P<options>.*)\))?")
OPTION = re.compile(r"\s*+(?P<name>\w++)\s*+=\s*+(?P<value>[^=]++)")
SPEC_HINT = (
    "a spec is structure:criterion:parameters, such as tan:bdeu(ess=5):conditional, or structure:parameters where the "
    "structure asks for no criterion, such as kdb(k=1):conditional, or additive(trees=False), or the import path of a "
    "scikit-learn classifier."
)


def parse_estimator(spec: str, wrap: Callable[[Any], BaseEstimator] | None = None) -> BaseEstimator:
    """An unfitted estimator: ours by its parts, any other by its import path.

    wrap  what lets a classifier of numeric arrays take a table; `OneHotClassifier` by default
    """
    try:
        return _make_estimator(spec, OneHotClassifier if wrap is None else wrap)
    except OptionError as error:
        raise OptionError(f"classifier {spec!r}: {error}", hint=SPEC_HINT) from error


def parse_part(kind: str, text: str) -> Any:
    """A structure, a criterion or a parameter learner by its registered name, with options as in kdb(k=3)."""
    name, options = read_part(text)
    return _with_options(REGISTRIES[kind][check_option(kind, name, REGISTRIES[kind])](), name, options)


def _with_options(part: Any, name: str, options: Mapping[str, object]) -> Any:
    valid = part.get_params()
    for option in options:
        if option not in valid:
            raise OptionError(f"{name} has no option {option!r}; it has {', '.join(sorted(valid)) or 'none'}.")
    return part.set_params(**options)


def _make_estimator(spec: str, wrap: Callable[[Any], BaseEstimator]) -> BaseEstimator:
    parts = _split(spec, ":")
    if len(parts) == 1 and "." in spec.partition("(")[0]:
        return wrap(_import_estimator(spec))
    if spec == DEFAULT:
        return AdditiveClassifier()
    if parts[0].partition("(")[0] == ADDITIVE:
        return _with_options(AdditiveClassifier(), *read_part(spec))
    structure = parse_part("structure", parts[0])
    kinds = ["criterion", "parameters"] if structure.asks_criterion else ["parameters"]
    if len(parts) > 1 + len(kinds):
        raise OptionError(f"it has {len(parts)} parts; expected {':'.join(['structure', *kinds])}.")
    made = {kind: parse_part(kind, part) for kind, part in zip(kinds, parts[1:], strict=False)}
    return BayesianNetworkClassifier(structure, **made)


def _import_estimator(spec: str) -> Any:
    path, options = read_part(spec)
    module, _, name = path.rpartition(".")
    try:
        estimator = getattr(import_module(module), name)(**options)
    except (ImportError, AttributeError, TypeError) as error:
        raise OptionError(f"it cannot be imported and made: {error}.") from error
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict") and hasattr(estimator, "get_params")):
        raise OptionError(f"{path!r} is no scikit-learn classifier.")
    return estimator


def read_part(text: str) -> tuple[str, dict[str, object]]:
    """`name(option=value, ...)` -> the name and its options; a bare word is text."""
    match = PART.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"{text!r} cannot be read as a name with options.")
    options: dict[str, object] = {}
    for option in _split(match["options"] or "", ","):
        pair = OPTION.fullmatch(option)
        if option.strip() and pair is None:
            raise OptionError(f"{option.strip()!r} is not of the form option=value.")
        if pair is not None:
            value = pair["value"].strip()
            try:
                options[pair["name"]] = ast.literal_eval(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last: nested too deeply
                options[pair["name"]] = value
    return match["name"], options


def _split(text: str, separator: str) -> list[str]:
    """Split where no bracket is open."""
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == separator and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


class OneHotClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for numeric arrays on a mixed table; the preparation is learnt on the training rows alone.

    A category is a column of its own, and so is a missing one where training has some. Numbers are scaled to mean 0 and
    variance 1, and a missing number is the median, with an indicator column.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(self, X: pa.Table, y: ArrayLike) -> OneHotClassifier:
        """Learn the preparation and the classifier."""
        self._learn_schema(X, y, UNCUT)
        return self._fit(make_pipeline(self._one_hot_columns(), clone(self.estimator)), X, y)

    def predict(self, X: pa.Table) -> NDArray[np.generic]:
        """The classifier's own choice of class for each row."""
        # CatBoost gives a column.
        return np.asarray(self.classes_[np.ravel(self.estimator_.predict(self._matrix(X)))])

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_proba"))
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

    def _fit(self, estimator: Any, X: pa.Table, y: ArrayLike, **options: object) -> OneHotClassifier:
        # Numbered classes: XGBoost takes no others.
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = estimator.fit(self._matrix(X), numbers, **options)
        return self

    def _matrix(self, X: pa.Table) -> NDArray[Any]:
        """(n_rows, n_attributes): codes of categories, values of numbers; NaN for missing numbers."""
        table = read_columns(X)
        matrix = self.encoder_.encode(table).astype(np.float64)
        for position, column in enumerate(table.columns):
            if not self.categories_[position] and isinstance(column, NumericColumn):
                matrix[:, position] = column.values
        return matrix

    def _columns(self, categories: object, numbers: object) -> ColumnTransformer:
        """The transformer of each kind of column; the categories come first."""
        kinds = ("categories", categories, self.categories_), ("numbers", numbers, ~self.categories_)
        return ColumnTransformer([(name, transformer, np.flatnonzero(chosen)) for name, transformer, chosen in kinds])

    def _one_hot_columns(self) -> ColumnTransformer:
        states = np.array(self.encoder_.schema.n_states[:-1])[self.categories_]
        codes = [np.arange(n, dtype=np.float64) for n in states]
        one_hot = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)
        return self._columns(one_hot, make_pipeline(median_imputer(), StandardScaler()))


def median_imputer() -> SimpleImputer:
    """A column that is empty in training stays, so that training and test agree."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
