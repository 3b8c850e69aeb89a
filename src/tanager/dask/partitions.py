"""Partitions: a Dask data frame, or a folder of Parquet files, with its class column, one pandas frame at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import dask.dataframe as dd

from tanager.dask.reader import Reader
from tanager.errors import DataError, DataTypeError
from tanager.registry import nearest_first
from tanager.table.class_weights import Weighting
from tanager.table.read_columns import check_unique
from tanager.table.training_table import target_name


@dataclass(frozen=True)
class Partitions:
    """What a table is made of.

    frames  delayed pandas frames; the class column is one of their columns, or comes apart
    labels  delayed class columns, or None for each if the class is a column of the frame
    reader  how they are read
    like    a frame of the attributes without rows
    target  name of the class column in the model
    """

    frames: list[Any]
    labels: list[Any]
    reader: Reader
    like: Any
    target: str


def find_partitions(
    X: object, y: object, sample_weight: object = None, class_weight: Weighting | None = None
) -> Partitions:
    """The partitions of a Dask data frame or a Parquet folder X, and of y: a Dask series, or the name of a column.

    Row weights are a column of X.
    """
    table = read_source(X)
    if isinstance(y, str):
        _check_column(table, y, "to predict")
        like, target = table._meta.drop(columns=y), y
        labels = [None] * table.npartitions
    elif isinstance(y, dd.Series):
        if y.npartitions != table.npartitions:
            raise DataError(
                f"X has {table.npartitions} partitions and y has {y.npartitions}; row by row they cannot be matched.",
                hint="take y from the same data frame as X, or put it into X and name it.",
            )
        like, labels = table._meta, y.to_delayed()
        target = target_name(y, tuple(map(str, table.columns)))
    else:
        raise DataTypeError(f"y is a {type(y).__name__}; expected a Dask series or the name of the class column.")
    if sample_weight is not None:
        if not isinstance(sample_weight, str):
            raise DataTypeError(
                f"sample_weight is a {type(sample_weight).__name__}; expected the name of a column of X.",
                hint="X.assign(weight=...) adds one.",
            )
        _check_column(like, sample_weight, "of row weights")
        like = like.drop(columns=sample_weight)
    names = tuple(map(str, like.columns))
    check_unique(names)
    if not names:
        raise DataError("the table has no column besides the class and the weights.")
    reader = Reader(names, target if isinstance(y, str) else None, sample_weight, class_weight)
    return Partitions(table.to_delayed(), labels, reader, like, target)


def _check_column(table: Any, name: str, what: str) -> None:
    if name not in table.columns:
        nearest = ", ".join(map(repr, nearest_first(name, map(str, table.columns))[:10]))
        raise DataError(f"the table has no column {name!r} {what}; its columns, nearest first, are {nearest}.")


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
