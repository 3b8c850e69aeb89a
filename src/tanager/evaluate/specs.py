"""Classifiers from short specs such as `tan:fcll:conditional`, or by import path."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.bayesian_network import REGISTRIES, BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.table.columns import NumericColumn
from tanager.table.read_columns import read_columns

DEFAULT, ADDITIVE = "default", "additive"
PART = re.compile(r"(?P<name>[\w.-]+)(?:\((?P<options>.*)\))?")
OPTION = re.compile(r"\s*+(?P<name>\w++)\s*+=\s*+(?P<value>[^=]++)")
SPEC_HINT = (
    "a spec is structure:criterion:parameters, such as tan:bdeu(ess=5):conditional, or structure:parameters where the "
    "structure asks for no criterion, such as kdb(k=1):conditional, or additive(trees=False), or the import path of a "
    "scikit-learn classifier."
)


def parse_estimator(spec: str, wrap: Callable[[Any], BaseEstimator] | None = None) -> BaseEstimator:
    """An unfitted estimator: ours by its parts, any other by its import path.

    wrap  what lets a classifier of numeric arrays take a table; `on_table` by default
    """
    try:
        return _make_estimator(spec, on_table if wrap is None else wrap)
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


def on_table(estimator: BaseEstimator) -> Pipeline:
    """A classifier of numeric arrays, behind a preparation of tables that is learnt on the training rows alone.

    A category is a column of its own, and so is a missing one where training has some. Numbers are scaled to mean 0 and
    variance 1, and a missing number is the median, with an indicator column. A column that is empty in training stays.
    """
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    numbers = make_pipeline(imputer, StandardScaler())
    columns = make_column_transformer((categories, holds_text), (numbers, lambda cells: ~holds_text(cells)))
    return make_pipeline(FunctionTransformer(read_cells), columns, estimator)


def read_cells(X: pa.Table) -> NDArray[np.object_]:
    """(n_rows, n_attributes): numbers, NaN where they are missing, and text of categories, None where it is."""
    columns = read_columns(X).columns
    cells = np.empty((X.num_rows, len(columns)), dtype=object)
    for place, column in enumerate(columns):
        if isinstance(column, NumericColumn):
            cells[:, place] = column.values.astype(np.float64)
        else:  # the last for the index -1
            cells[:, place] = np.array([*map(str, column.dictionary), None], dtype=object)[column.indices]
    return cells


def holds_text(cells: NDArray[np.object_]) -> NDArray[np.bool_]:
    """(n_attributes,) whether a column holds categories."""
    return np.array([not all(isinstance(cell, float) for cell in column) for column in cells.T], dtype=bool)
