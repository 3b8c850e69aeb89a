"""TableEncoder: learn what the columns of a table hold, then turn tables into codes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Codes
from tanager.errors import DataError, DataWarning, OptionError
from tanager.registry import nearest_first
from tanager.runtime.resources import map_threads
from tanager.table.binning import fine_places, learn_column, states_of_both, write_coarse
from tanager.table.columns import (
    Column,
    NumericColumn,
    RawTable,
    code_dtype,
    encode_column,
    missing_cells,
)
from tanager.table.discretizer import Discretizer
from tanager.table.rows import EncodedBatch, Weights
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.value_counts import count_values

ROWS_WORTH_THREADS = 10_000
# More categories than this, and more than one for every two rows: the column names rows instead of grouping them.
MANY_CATEGORIES = 1_000


def learn_schema(
    table: RawTable,
    target: ColumnSchema,
    class_codes: Codes,
    weights: Weights | None,
    discretizer: Discretizer,
    categorical_features: ArrayLike | str | None = "from_dtype",
    missing_states: bool = False,
    fine: bool = False,
) -> TableSchema:
    """Categories of the categorical columns, cut points of the numeric ones, from the training rows alone.

    With `missing_states` a missing cell is a state of its own in every column that has one here. With `fine` numeric
    columns have two granularities (`fine_bins`).
    """
    chosen = choose_categorical(table, categorical_features)
    empty: list[str] = []

    def learn(position: int) -> ColumnSchema:
        column = table.columns[position]
        missing_state = missing_states and bool(missing_cells(column).any())
        counts = None
        if not chosen[position]:
            assert isinstance(column, NumericColumn)
            counts = count_values(column.values, class_codes, weights, n_classes=target.n_states)
            if counts.values.size == 0:
                empty.append(column.name)
        return learn_column(column, counts, missing_state, discretizer, target.n_states, fine)

    attributes = map_threads(learn, range(len(table.names)))
    empty += [column.name for column in attributes if column.kind == "categorical" and not column.categories]
    discretizer.check_columns(attributes)
    warn_of_useless_columns(empty, attributes, table.n_rows)
    return TableSchema(tuple(attributes), target, table.named)


def choose_categorical(table: RawTable, categorical_features: ArrayLike | str | None) -> NDArray[np.bool_]:
    """Which columns are categorical: by dtype, plus those named, numbered or masked; all of them for "all"."""
    by_dtype = np.array([not isinstance(column, NumericColumn) for column in table.columns])
    if categorical_features is None or isinstance(categorical_features, str):
        if categorical_features == "all":
            return np.ones(len(table.names), dtype=bool)
        if categorical_features not in (None, "from_dtype"):
            raise OptionError(
                f"categorical_features={categorical_features!r} is not known; expected 'from_dtype', 'all', a list of "
                "columns, or a mask."
            )
        return by_dtype
    wanted = np.atleast_1d(np.asarray(categorical_features))
    if wanted.size == 0:
        return by_dtype
    if wanted.dtype.kind == "b":
        if wanted.shape != by_dtype.shape:
            raise OptionError(
                f"categorical_features is a mask of {wanted.size}; the table has {by_dtype.size} columns."
            )
        return by_dtype | wanted
    result = by_dtype.copy()
    for entry in wanted.tolist():
        result[_position(entry, table)] = True
    return result


def _position(entry: object, table: RawTable) -> int:
    if isinstance(entry, str):
        if entry in table.names:
            return table.names.index(entry)
        nearest = ", ".join(map(repr, nearest_first(entry, table.names)[:5]))
        raise OptionError(f"categorical_features names {entry!r}, which is no column; the nearest are {nearest}.")
    if isinstance(entry, int) and 0 <= entry < len(table.names):
        return entry
    raise OptionError(f"categorical_features holds {entry!r}; expected a column name or 0 .. {len(table.names) - 1}.")


def warn_of_useless_columns(empty: Sequence[str], attributes: Sequence[ColumnSchema], n_rows: int) -> None:
    for name in empty:
        warnings.warn(f"column {name!r} holds no value; it is ignored.", DataWarning, stacklevel=4)
    for column in attributes:
        n_categories = len(column.categories)
        if n_categories > MANY_CATEGORIES and 2 * n_categories > n_rows:
            warnings.warn(
                f"column {column.name!r} has {n_categories:,} categories in {n_rows:,} rows: it names rows "
                "rather than groups them. Hint: drop it, or group its values.",
                DataWarning,
                stacklevel=4,
            )


@dataclass(frozen=True)
class TableEncoder:
    """Encodes tables by a learnt schema. A category unseen in training is missing, or an error if so asked."""

    schema: TableSchema
    unseen_is_error: bool = False

    def encode(self, table: RawTable) -> Codes:
        """Codes (n_rows, n_attributes), column-major, in the smallest unsigned dtype; missing cells as n_states."""
        shape = (table.n_rows, len(self.schema.attributes))
        codes = np.empty(shape, order="F", dtype=code_dtype(max(self.schema.n_states)))
        self.encode_into(codes, table, range(shape[1]))
        return codes

    def encode_into(self, codes: Codes, table: RawTable, places: Sequence[int]) -> None:
        """Write the codes of each attribute into the column of `codes` that is its place."""

        def encode_one(position: int) -> None:
            column, schema = table.columns[position], self.schema.attributes[position]
            column_codes = encode_column(column, schema)
            unseen = column_codes > schema.missing_code
            if self.unseen_is_error and unseen.any():
                raise _unseen(column, int(unseen.argmax()))
            codes[:, places[position]] = np.minimum(column_codes, schema.missing_code)

        list((map_threads if len(codes) >= ROWS_WORTH_THREADS else map)(encode_one, range(len(places))))


def _unseen(column: Column, row: int) -> DataError:
    value = column.values[row] if isinstance(column, NumericColumn) else column.dictionary[column.indices[row]]
    return DataError(
        f"column {column.name!r} holds {value!r} in row {row}, a category unseen in training.",
        hint="with the default of handle_unknown the cell is unknown.",
    )


def encode_rows(
    table: RawTable,
    order: Sequence[int],
    schema: TableSchema,
    class_codes: Codes,
    weights: Weights | None,
    unseen_is_error: bool = False,
) -> EncodedBatch:
    """The rows of a table; attribute k of the schema is its column order[k], at both granularities if it has two."""
    columns = schema.attributes
    n_states = states_of_both(columns, schema.target.n_states)
    codes = np.empty((table.n_rows, len(n_states) - 1), order="F", dtype=code_dtype(max(n_states)))
    TableEncoder(schema, unseen_is_error).encode_into(codes, table.select(order), fine_places(columns).tolist())
    write_coarse(codes, columns)
    # The code of a missing cell is the largest: no array of comparisons has to be made.
    incomplete = np.array([codes[:, j].max(initial=0) == n_states[j] for j in range(codes.shape[1])])
    return EncodedBatch(codes, class_codes, n_states, incomplete, weights)


def without_class(schema: TableSchema, n_rows: int) -> Codes:
    n_classes = schema.target.n_states
    return np.full(n_rows, n_classes, dtype=code_dtype(n_classes))
