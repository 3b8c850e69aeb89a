"""The partitions of a Dask data frame or a folder of Parquet files: read, summarised and coded on the workers.

`PartitionStatistics` of all partitions are merged; what columns hold follows from them; then each partition is coded.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import dask.dataframe as dd
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.errors import DataError, DataTypeError, TanagerError
from tanager.table.binning import ColumnStatistics, states_of_both
from tanager.table.encoder import choose_categorical, encode_rows, without_class
from tanager.table.read_columns import check_names, read_columns
from tanager.table.rows import EncodedBatch, join_blocks
from tanager.table.schema import TableSchema
from tanager.table.stream.reader import LearntColumns, ReadOptions, Roles, check_roles, learn_columns
from tanager.table.training_table import (
    TrainingTable,
    UnlabelledRows,
    read_rows,
    read_sample_weight,
)


@dataclass(frozen=True)
class Partitions:
    """What a table is made of.

    frames  delayed pandas frames
    reader  how they are read
    like    a frame of the attributes without rows
    """

    frames: list[Any]
    reader: Reader
    like: Any


def find_partitions(X: object, y: object, sample_weight: object = None) -> Partitions:
    """The partitions of a Dask data frame or a Parquet folder X; the class and the weights of rows are columns of X."""
    table, roles = read_source(X), check_roles(y, sample_weight)
    like = table._meta[roles.attributes(tuple(table.columns))]
    names = tuple(map(str, like.columns))
    check_names(names)
    return Partitions(table.to_delayed(), Reader(names, roles), like)


def read_source(X: object) -> Any:
    """A Dask data frame, or the one that a path to Parquet files stands for."""
    if isinstance(X, dd.DataFrame):
        return X
    if isinstance(X, str | os.PathLike):
        return dd.read_parquet(os.fspath(X))
    raise DataTypeError(
        f"X is a {type(X).__name__}; expected a Dask data frame or the path of a folder of Parquet files.",
        hint="dask.dataframe.from_pandas(X, npartitions=...) makes one; the classifiers of tanager take others.",
    )


@dataclass(frozen=True)
class Reader:
    """How a partition is read: the names of the attributes, and of the columns of classes and weights."""

    names: tuple[str, ...]
    roles: Roles

    def read(
        self, frame: Any, number: int, classes: NDArray[np.generic] | None = None
    ) -> tuple[TrainingTable | None, UnlabelledRows | None]:
        """The rows of a partition that have a class, and those that have none; None where there are none."""
        with naming(number):
            self._check(frame)
            weights = None
            if self.roles.weight is not None:  # rows of weight zero may be all there are
                frame = frame[frame[self.roles.weight].to_numpy() != 0]
                weights = frame[self.roles.weight]
            if not len(frame):
                return None, None
            labels = frame[self.roles.target]
            table = read_columns(frame)
            table = table.select([table.names.index(name) for name in self.names])
            if labels.isna().all():
                if weights is not None:
                    weights = read_sample_weight(weights, labels)
                return None, UnlabelledRows(table, weights)
            rows = read_rows(table, labels, weights, classes, unlabelled=True)
            return rows, rows.unlabelled

    def _check(self, frame: Any) -> None:
        expected = {*self.names, self.roles.target, *([self.roles.weight] if self.roles.weight else ())}
        wrong = sorted(expected.symmetric_difference(map(str, frame.columns)))
        if wrong:
            what = "there is no column" if wrong[0] in expected else "there is another column"
            raise DataError(f"{what} {wrong[0]!r}, unlike in the data frame.")


@contextmanager
def naming(number: int) -> Iterator[None]:
    """An error in a partition begins with its number."""
    try:
        yield
    except TanagerError as error:
        raise type(error)(f"partition {number}: {error}") from error


def summarize_partition(frame: Any, number: int, reader: Reader, categorical_features: ArrayLike | str | None) -> bytes:
    """Statistics of a partition. Packed, for Dask would send each of their hundreds of small arrays by itself."""
    table, unlabelled = reader.read(frame, number)
    n_unlabelled = 0 if unlabelled is None else unlabelled.table.n_rows
    if table is None:
        return _pack(PartitionStatistics(np.empty(0), 0, (), n_unlabelled, np.empty(0)))
    by_row = table.class_codes, table.weights, len(table.classes)
    chosen = zip(table.table.columns, choose_categorical(table.table, categorical_features).tolist(), strict=True)
    columns = tuple(ColumnStatistics.of(column, is_category, *by_row) for column, is_category in chosen)
    class_rows = np.bincount(table.class_codes, table.weights, minlength=len(table.classes))
    return _pack(PartitionStatistics(table.classes, table.table.n_rows, columns, n_unlabelled, class_rows))


def _pack(statistics: PartitionStatistics) -> bytes:
    return pickle.dumps(statistics, pickle.HIGHEST_PROTOCOL)


@dataclass(frozen=True)
class PartitionStatistics:
    """Statistics of the rows with a class of one or several partitions.

    classes       ascending
    n_rows        how many have a class
    columns       statistics of each attribute; empty if no row has a class
    n_unlabelled  how many rows have no class
    class_rows    (n_classes,) how many rows each class has, or their weights
    """

    classes: NDArray[np.generic]
    n_rows: int
    columns: tuple[ColumnStatistics, ...]
    n_unlabelled: int
    class_rows: NDArray[Any]


def merge_packed(parts: Sequence[bytes]) -> bytes:
    """Statistics of the rows of all, packed as those of the parts are."""
    return _pack(reduce(_merge, map(pickle.loads, parts)))


def _merge(one: PartitionStatistics, other: PartitionStatistics) -> PartitionStatistics:
    n_unlabelled = one.n_unlabelled + other.n_unlabelled
    if not one.columns or not other.columns:
        return replace(one if one.columns else other, n_unlabelled=n_unlabelled)
    one, other = _with_classes(one, other.classes), _with_classes(other, one.classes)
    columns = tuple(left.merge(right) for left, right in zip(one.columns, other.columns, strict=True))
    class_rows = one.class_rows + other.class_rows
    return PartitionStatistics(one.classes, one.n_rows + other.n_rows, columns, n_unlabelled, class_rows)


def _with_classes(part: PartitionStatistics, more: NDArray[np.generic]) -> PartitionStatistics:
    """The same with these classes too."""
    if np.array_equal(part.classes, more):
        return part
    if (part.classes.dtype.kind in "OUST") != (more.dtype.kind in "OUST"):
        raise DataError(
            f"the class column holds {part.classes.tolist()[0]!r} in one partition and {more.tolist()[0]!r} in "
            "another; expected one type."
        )
    classes = np.unique(np.concatenate([part.classes, more]))
    place = np.searchsorted(classes, part.classes)

    def moved(by_class: NDArray[Any]) -> NDArray[Any]:
        return np.bincount(place, by_class, minlength=len(classes))

    columns = []
    for column in part.columns:
        counts = replace(column.counts, classes=place[column.counts.classes])
        columns.append(replace(column, counts=counts, missing=moved(column.missing)))
    return replace(part, classes=classes, columns=tuple(columns), class_rows=moved(part.class_rows))


def learn_packed(packed: bytes, options: ReadOptions) -> tuple[LearntColumns, PartitionStatistics]:
    """What the columns hold, and the statistics of all rows less their columns, which may be as long as the table."""
    statistics: PartitionStatistics = pickle.loads(packed)
    counted = statistics.classes, statistics.class_rows, statistics.n_rows
    learnt = learn_columns(statistics.columns, lambda column: column, *counted, options)
    return learnt, replace(statistics, columns=())


def encode_partition(
    frame: Any,
    number: int,
    reader: Reader,
    schema: TableSchema,
    order: tuple[int, ...],
    classes: NDArray[np.generic],
    keep_unlabelled: bool,
) -> EncodedBatch:
    """The rows with a class, then those without if they are to be kept, whose class code says missing.

    `schema` has the attributes in the order of the rows, each of which is the column `order` of the table.
    """
    table, unlabelled = reader.read(frame, number, classes)
    blocks = []
    if table is not None:
        try:
            rows = table.class_codes, table.weights
            blocks.append(encode_rows(table.table, order, schema, *rows, unseen_is_error=True))
        except DataError as error:  # a category unseen in the summaries
            what = str(error).partition("\nHint")[0]  # ours is another
            raise DataError(
                f"partition {number} is not what it was when its columns were looked at: {what}",
                hint="persist the data frame before fit if it cannot be computed twice alike.",
            ) from error
    if keep_unlabelled and unlabelled is not None:
        with naming(number):
            no_class = without_class(schema, unlabelled.table.n_rows)
            blocks.append(encode_rows(unlabelled.table, order, schema, no_class, unlabelled.weights))
    return join_blocks(blocks, states_of_both(schema.attributes, len(classes)))
