"""What every `fit` does first: check X, y and weights, and agree on columns, classes and rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from tanager.arrays import Codes
from tanager.errors import DataError, DataTypeError, DataWarning, OptionError
from tanager.registry import nearest_first
from tanager.table.columns import RawTable, code_dtype
from tanager.table.read_columns import check_unicode, holds_nothing, read_columns, refuse_mask
from tanager.table.rows import Weights
from tanager.table.schema import ColumnSchema

ClassWeight = Mapping[Any, float] | str | None
"""The weight of each class that is named, 1 for the others; "balanced"; None for one."""

CLASS_NAME = "class"
ROWS_COUNTED = (1e-6, 2.0**53)
"""The least and the most that weights may sum to: beyond it a float does not change when one is added."""
LEAST_WEIGHT = 1e-100
USUAL_MEANS = (0.1, 10.0)
"""Between these is the mean of weights that say how many rows a row stands for."""
LEARNS_WITHOUT_CLASS = "Hint: structure 'tan' with parameters 'em' learns from them in fit."


@dataclass(frozen=True)
class UnlabelledRows:
    """Rows whose class is missing, and their weights (None for all ones)."""

    table: RawTable
    weights: Weights | None


@dataclass(frozen=True)
class TrainingTable:
    """Rows to learn from: the columns, the classes with their codes, and the weights (None for all ones).

    Rows whose class is missing are set apart as `unlabelled`. The weights are already multiplied by the `factors` of
    the classes, if there are any.
    """

    table: RawTable
    target: ColumnSchema
    classes: NDArray[np.generic]
    class_codes: Codes
    weights: Weights | None
    unlabelled: UnlabelledRows | None = None
    factors: Weights | None = None


def read_training(
    X: object, y: ArrayLike | None, sample_weight: ArrayLike | None, unlabelled: bool = False
) -> TrainingTable:
    """Check and read a whole training set, whose rows say what the classes are."""
    rows = read_rows(X, y, sample_weight, unlabelled=unlabelled)
    check_two_classes(rows.classes, rows.table.n_rows)
    if rows.weights is not None:
        warn_of_weights(float(rows.weights.sum()), rows.table.n_rows, stacklevel=6)
    return rows


def check_two_classes(classes: NDArray[np.generic], n_rows: int, name: str = "") -> None:
    """Refuse a table, of so many rows with a class, without two classes to tell apart; `name` is the class column's."""
    if len(classes) < 2:
        held = f"one class, {classes.tolist()[0]!r}," if len(classes) else "no class"
        if len(classes) and not str(classes[0]).strip():
            held = "nothing but blanks"
        where = "1 sample" if n_rows == 1 else f"{n_rows:,} rows"
        column = f"the class column {name!r}" if name else "the class column"
        raise DataError(f"{column} holds {held} in {where}; at least two are needed.")


def read_rows(
    X: object,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    classes: NDArray[np.generic] | None = None,
    unlabelled: bool = False,
) -> TrainingTable:
    """Check and read rows of a table, read or not; those of weight zero are left out, as if they were not there.

    With `unlabelled` the class may be missing in some rows; otherwise that is an error.
    """
    table = X if isinstance(X, RawTable) else read_columns(X)
    labels = read_labels(y)
    check_consistent_length(labels, range(table.n_rows))
    weights = None
    if sample_weight is not None:
        weights = read_sample_weight(sample_weight, labels)
        check_total(float(weights.sum()))
        kept = weights > 0
        if not kept.any():
            raise DataError("every row has weight zero, so there is nothing to learn from.")
        if not kept.all():
            table, labels, weights = table.take(kept), labels[kept], weights[kept]
    apart = None
    missing = missing_labels(labels)
    if missing.any():
        check_missing(missing, unlabelled)
        apart = UnlabelledRows(table.take(missing), None if weights is None else weights[missing])
        table, labels = table.take(~missing), _narrow(labels[~missing])
        weights = None if weights is None else weights[~missing]
    check_labels(labels)
    classes, class_codes = encode_labels(labels, classes)
    target = ColumnSchema(target_name(y, table.names), "categorical", tuple(classes.tolist()))
    return TrainingTable(table, target, classes, class_codes, weights, apart)


def read_sample_weight(sample_weight: ArrayLike, rows: Any) -> Weights:
    """The weight of each of the rows, a number from zero up; one that is missing or masked is refused."""
    refuse_mask(sample_weight, "sample_weight")
    try:
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    except ValueError as error:
        raise DataError(f"the weights of the rows cannot be used: {error}") from None
    check_least(weights)
    return weights


def check_least(weights: Weights) -> None:
    """Refuse a row that counts for so little that one over it is no number."""
    least = weights.min(initial=np.inf, where=weights > 0)
    if least < LEAST_WEIGHT:
        raise DataError(
            f"a row has weight {least:g}; expected 0, or at least {LEAST_WEIGHT:g}.", hint="weight 0 leaves a row out."
        )


def check_total(weight: float) -> None:
    """Refuse rows that together count for next to nothing, or for more rows than can be counted one by one."""
    least, most = ROWS_COUNTED
    if weight and not least <= weight <= most:
        raise DataError(
            f"the weights of the rows sum to {weight:.3g}; expected {least:g} to {most:.3g}.",
            hint="scale them, so that they say how many rows each stands for.",
        )


def warn_of_weights(weight: float, n_rows: int, stacklevel: int = 3) -> None:
    """Warn of weights, of so many rows together, whose mean is so far from one that they hardly count rows."""
    mean = weight / max(n_rows, 1)
    least, most = USUAL_MEANS
    if n_rows and not least <= mean <= most:
        warnings.warn(
            f"the mean weight of a row is {mean:.3g}. In networks and in intervals a weight of w counts as w rows: "
            f"these {n_rows:,} rows as {weight:,.6g}. The probabilities of an additive model do not change if all "
            "weights are multiplied by a number. Hint: if weights only say how much a row matters, divide them by "
            "their mean.",
            DataWarning,
            stacklevel=stacklevel,
        )


def warn_left_out(rows: TrainingTable) -> None:
    """Say how many rows are not learnt from because their class is missing."""
    if rows.unlabelled is not None:
        n_apart = rows.unlabelled.table.n_rows
        say_left_out(n_apart, rows.table.n_rows + n_apart, hint=LEARNS_WITHOUT_CLASS, stacklevel=4)


def say_left_out(n_apart: int, n_rows: int, of: str = "", hint: str = "", stacklevel: int = 3) -> None:
    """Warn that so many of so many rows have no class; `of` names the table where there are several."""
    if n_apart:
        rows = f"{n_apart:,} of {n_rows:,} rows" + (f" of {of}" if of else "")
        text = f"the class is missing in {rows}; they are left out."
        warnings.warn(f"{text} {hint}".rstrip(), DataWarning, stacklevel=stacklevel)


def check_has_column(names: Iterable[object], name: str, what: str) -> None:
    """Refuse the name of no column, and list the columns with names like it."""
    if name not in names:
        nearest = ", ".join(map(repr, nearest_first(name, map(str, names))[:10]))
        raise DataError(f"the table has no column {name!r} {what}; its columns, nearest first, are {nearest}.")


def target_name(y: object, taken: tuple[str, ...]) -> str:
    """The class column's own name where it has one (a Series), else "class"; never that of an attribute."""
    given_name = getattr(y, "name", None)
    name = given_name if isinstance(given_name, str) and given_name else CLASS_NAME
    check_unicode(name, "the class column has the name")
    while name in taken:
        name += "_"
    return name


def read_labels(y: ArrayLike | None) -> NDArray[np.generic]:
    if y is None:
        raise DataError("a classifier requires y to be passed, but the target y is None.")
    refuse_mask(y, "the class column")
    if isinstance(y, pa.ChunkedArray):  # of a dictionary, whose nulls NumPy would take for its last entry
        y = y.combine_chunks()
    if isinstance(y, list | tuple) and any(isinstance(label, str) for label in y):
        y = np.array(y, dtype=object)  # as it is: NumPy would make a text of whatever stands beside one
    try:
        labels: NDArray[np.generic] = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        raise DataError(str(error)) from None
    return labels


def check_missing(missing: NDArray[np.bool_], allowed: bool) -> None:
    """Refuse rows without a class where they are not `allowed`, and tables that have no others."""
    if not allowed:
        raise DataError(
            f"the class column is missing in {int(missing.sum())} rows, the first of them row {int(missing.argmax())}: "
            "Input y contains NaN.",
            hint="drop these rows, or give them a class.",
        )
    if missing.all():
        raise DataError(f"the class column is missing in {len(missing)} rows, all there are: Input y contains NaN.")


def _narrow(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    """Objects of one type as an array of that type, which they would have been in without the missing ones."""
    if labels.dtype.kind == "O" and len({type(label) for label in labels}) == 1:
        narrowed = np.array(labels.tolist())
        return narrowed if narrowed.dtype.kind in "biufU" else labels
    return labels


def check_labels(labels: NDArray[np.generic]) -> None:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("Input y contains infinity or a value too large for dtype('float64').")
    if labels.dtype.kind not in "iub":  # whole numbers are always classes
        try:
            check_classification_targets(labels)
        except TypeError:
            kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
            raise DataTypeError(
                f"the class column holds labels of types {kinds}; expected one type: text, numbers or booleans."
            ) from None
        except ValueError as error:
            raise DataError(f"the class column cannot be used: {error}") from None


def encode_labels(
    labels: NDArray[np.generic], classes: NDArray[np.generic] | None = None
) -> tuple[NDArray[np.generic], Codes]:
    """The classes, ascending or as given, and each row's position among them; a label outside those is refused."""
    try:
        labels_held, positions = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataError(f"the class column mixes labels of types {', '.join(kinds)}; expected one type.") from None
    for label in labels_held.tolist() if labels_held.dtype.kind in "OU" else ():
        check_unicode(str(label), "the class column holds the label")
    codes: Codes = positions.astype(code_dtype(len(labels_held)))
    if classes is not None:
        outside = np.setdiff1d(labels_held, classes)
        if len(outside):
            raise DataError(
                f"y holds the class {outside.tolist()[0]!r}, which is not among the classes {classes.tolist()}."
            )
        order = np.argsort(classes)  # another library's may be in any order
        places = order[np.searchsorted(classes, labels_held, sorter=order)]
        labels_held, codes = classes, places.astype(code_dtype(len(classes)))[codes]
    return labels_held, codes


def missing_labels(labels: NDArray[np.generic]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "O":
        return np.array([holds_nothing(label) for label in labels], dtype=bool)
    return np.isnan(labels) if labels.dtype.kind in "fmM" else np.zeros(len(labels), dtype=bool)


def weigh_classes(rows: TrainingTable, class_weight: ClassWeight) -> TrainingTable:
    """A whole training set, the weight of each row times the factor of its class."""
    if class_weight is None:
        return rows
    totals = np.bincount(rows.class_codes, rows.weights, minlength=len(rows.classes))
    factors = class_factors(class_weight, rows.classes, totals)
    of_rows = np.ones(len(rows.class_codes)) if rows.weights is None else rows.weights
    return replace(rows, weights=of_rows * factors[rows.class_codes], factors=factors)


def class_factors(class_weight: ClassWeight, classes: NDArray[np.generic], totals: NDArray[Any]) -> Weights:
    """(n_classes,) what the weights of the rows of each class are multiplied by; they sum to `totals`.

    A factor is proportional to the weight given for the class, 1 where none is; with "balanced" to 1 / its total. All
    rows together keep their weight, so class c of K has the factor n / (K n_c) if balanced.
    """
    if check_class_weight(class_weight) is None:
        return np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        _check_classes(class_weight, classes.tolist())
        factors = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
    else:
        factors = 1.0 / np.where(totals > 0, totals, np.inf)
    weight = float(factors @ totals)
    return factors * (totals.sum() / weight) if weight else factors


def check_class_weight(class_weight: object) -> ClassWeight:
    """None, "balanced" or a weight above zero for each class that a mapping names; anything else is refused."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    if not isinstance(class_weight, Mapping):
        raise OptionError(
            f"class_weight={class_weight!r} is not valid; expected None, 'balanced' or the weights of classes.",
            hint="class_weight={'ill': 10, 'healthy': 1}.",
        )
    for label, weight in class_weight.items():
        if not isinstance(weight, Real) or not isfinite(weight) or weight <= 0:
            raise OptionError(
                f"class_weight gives {label!r} the weight {weight!r}; expected a number above zero.",
                hint="leave the rows of a class out of the table if they are not to count.",
            )
    return class_weight


def _check_classes(weighting: Mapping[Any, float], classes: list[Any]) -> None:
    """Refuse, as scikit-learn does, a weight of what is no class while a class has none: one is misspelt."""
    unknown = [label for label in weighting if label not in classes]
    if unknown and any(label not in weighting for label in classes):
        raise OptionError(
            f"class_weight names the class {unknown[0]!r}, which the table does not have; its classes are {classes}."
        )
