"""A data file split into attributes and class, and the columns of a data file that a model needs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.errors import DataError, DataWarning
from tanager.files.read_table import read_table
from tanager.registry import nearest_first

MOST_NAMES = 10


class NamedLabels(np.ndarray):
    """Class labels with the name of their column, as a data frame's column has one."""

    name: str


def read_training_data(path: str, class_column: str, missing: Sequence[str] | None) -> tuple[pa.Table, NamedLabels]:
    """The attributes and the class column of a file."""
    table = read_table(path, missing_values=missing or ())
    if class_column not in table.column_names:
        raise DataError(
            f"the data has no column {class_column!r} to predict; "
            f"its columns, nearest first, are {_list(nearest_first(class_column, table.column_names))}."
        )
    if table.num_columns == 1:
        raise DataError(f"the data has no column besides the class {class_column!r}.")
    if "" in table.column_names:
        warnings.warn(
            "a column has no name; it is taken as an attribute like any other. Hint: drop it if it numbers the rows.",
            DataWarning,
            stacklevel=2,
        )
    labels = _labels(table.column(class_column), class_column).view(NamedLabels)
    labels.name = class_column
    return table.drop_columns([class_column]), labels


def read_rows(
    path: str, clf: BayesianNetworkClassifier, missing: Sequence[str] | None
) -> tuple[pa.Table, NDArray[np.generic] | None]:
    """The columns a model needs, by name and in its order, from a file that may have others; and the class, if any."""
    schema = clf.encoder_.schema
    if not schema.named:
        raise DataError(
            "the model was fitted to an array without column names, so its columns cannot be found in a file.",
            hint="fit it to a table with names, or predict from Python.",
        )
    # A text column may hold only digits in a small file, and would be read as numbers.
    columns = (*schema.attributes, schema.target)
    texts = [column.name for column in columns if any(isinstance(state, str) for state in column.categories)]
    table = read_table(path, missing_values=missing or (), text_columns=texts)
    needed = [column.name for column in schema.attributes]
    absent = [name for name in needed if name not in set(table.column_names)]
    if absent:
        found = nearest_first(absent[0], table.column_names)
        raise DataError(
            f"the data lacks {len(absent)} of the {len(needed)} columns the model needs: {_list(absent)}; "
            f"its columns are {_list(found)}."
        )
    target = schema.target.name
    classes = np.array(table.column(target).to_pylist()) if target in table.column_names else None
    return table.select(needed), classes


def _labels(column: pa.ChunkedArray, name: str) -> NDArray[np.generic]:
    """The classes as an array of integers, booleans, whole floats or text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = kind.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            raise DataError(
                f"the class column {name!r} holds {kind} cells; expected text, numbers, booleans or dates."
            ) from None
    labels: NDArray[np.generic] = column.to_numpy()
    if pa.types.is_floating(kind):
        fractions = np.flatnonzero(np.isfinite(labels) & (labels != np.rint(labels)))
        if len(fractions):
            raise DataError(
                f"the class column {name!r} holds {labels[fractions[0]]} in row {fractions[0]}; "
                "expected classes, not a quantity."
            )
    return labels


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more
