"""A data file split into attributes and class, and the columns of a data file that a model needs."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.cli.streams import STREAM
from tanager.errors import DataError, DataWarning, OptionError
from tanager.files.read_csv import CellRules
from tanager.files.read_table import bytes_in_memory, open_batches, read_table, table_format
from tanager.memory import available_memory
from tanager.registry import list_names, nearest_first

FEWEST_NUMBERED = 10
"""In fewer rows a column may hold consecutive numbers by chance."""
NUMBER = r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*$"


class NamedLabels(np.ndarray):
    """Class labels with the name of their column, as a data frame's column has one."""

    name: str


@dataclass(frozen=True)
class Reading:
    """How to read a file with the class column: the texts that mean missing, and the columns to leave out."""

    missing: Sequence[str] = ()
    drop: Sequence[str] = ()

    @property
    def cells(self) -> CellRules:
        return CellRules(self.missing, recognises_marks(self.missing))


def read_training_data(path: str, class_column: str, reading: Reading) -> tuple[pa.Table, NamedLabels]:
    """The attributes and the class column of a file."""
    table = read_table(path, reading.cells)
    kept = check_training_columns(table.column_names, class_column, reading.drop)
    labels = _labels(table.column(class_column), class_column).view(NamedLabels)
    labels.name = class_column
    attributes = table.select(kept)
    _warn_numbering(attributes)
    return attributes, labels


def recognises_marks(missing: Sequence[str]) -> bool:
    """An empty text among those that mean missing says that only the named ones do."""
    return "" not in missing


def check_training_columns(names: Sequence[str], class_column: str, drop: Sequence[str]) -> list[str]:
    """The attributes that are left: there must be a class and something to tell it by."""
    check_column(class_column, names, "to predict")
    for name in drop:
        check_column(name, names, "to drop")
    if class_column in drop:
        raise OptionError(f"--drop leaves out {class_column!r}, which is the class.")
    kept = [name for name in names if name != class_column and name not in drop]
    if not kept:
        raise DataError(
            f"the data has no column besides the class {class_column!r}{' and those to drop' * bool(drop)}."
        )
    if "" in kept:
        warnings.warn(
            "a column has no name; it is taken as an attribute like any other. Hint: --drop '' leaves it out.",
            DataWarning,
            stacklevel=2,
        )
    return kept


def check_column(name: str, names: Sequence[str], purpose: str) -> str:
    """The name, if a column has it."""
    if name not in names:
        nearest = list_names(nearest_first(name, names))
        raise DataError(f"the data has no column {name!r} {purpose}; its columns, nearest first, are {nearest}.")
    return name


def _warn_numbering(attributes: pa.Table) -> None:
    """An integer column whose values are distinct and consecutive tells nothing of rows to come."""
    n_rows = attributes.num_rows
    if n_rows < FEWEST_NUMBERED:
        return
    for name, column in zip(attributes.column_names, attributes.columns, strict=True):
        if not pa.types.is_integer(column.type) or column.null_count:
            continue
        ends = pc.min_max(column).as_py()
        if ends["max"] - ends["min"] == n_rows - 1 and pc.count_distinct(column).as_py() == n_rows:
            warnings.warn(
                f"column {name!r} numbers the rows. Hint: --drop {shlex.quote(name)} leaves it out.",
                DataWarning,
                stacklevel=2,
            )


class CountedBatches:
    """Batches, and how many rows went by."""

    def __init__(self, batches: Iterator[pa.Table]) -> None:
        self._batches = batches
        self.n_rows = 0

    def __iter__(self) -> CountedBatches:
        return self

    def __next__(self) -> pa.Table:
        batch = next(self._batches)
        self.n_rows += batch.num_rows
        return batch


def open_training_data(path: str, class_column: str, reading: Reading) -> tuple[list[str], object, Callable[[], int]]:
    """The attributes' names, the table as `fit` takes it batch by batch, and how many rows were read."""
    names, source = open_batches(path, reading.cells)
    attributes = check_training_columns(names, class_column, reading.drop)
    kept = [*attributes, class_column]
    if isinstance(source, Iterator):
        counted = CountedBatches(batch.select(kept) for batch in source)
        return attributes, counted, lambda: counted.n_rows
    if reading.drop:
        source = source.replace_schema(pa.schema([source.schema.field(name) for name in kept]))
    return attributes, source, source.count_rows


def streams(path: str, asked: bool | None) -> bool:
    """Whether a file is to be read batch by batch: as asked, else where it would take half of the memory there is."""
    if path == STREAM:
        if asked:
            raise OptionError("--stream needs a file; standard input is read as a whole.")
        return False
    if asked is not None:
        return asked
    if Path(path).is_dir():
        return True
    return table_format(path) != "arff" and 2 * bytes_in_memory(path) > available_memory()


def read_rows(
    path: str, clf: BayesianNetworkClassifier, missing: Sequence[str] | None, keep: Sequence[str] = ()
) -> tuple[pa.Table, NDArray[np.generic] | None]:
    """The columns a model needs, by name and in its order, from a file that may have others; and the class, if any.

    After these come the columns to keep, as text where the model does not need them.
    """
    table = read_table(path, _cells(clf, missing or (), keep))
    needed = _check_columns(table.column_names, clf, keep)
    target = clf.encoder_.schema.target.name
    classes = np.array(table.column(target).to_pylist()) if target in table.column_names else None
    return _check_numbers(table.select(needed), clf), classes


def read_row_batches(
    path: str, clf: BayesianNetworkClassifier, missing: Sequence[str] | None, keep: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """As `read_rows`, batch by batch."""
    from tanager.table.stream.source import open_stream

    names, source = open_batches(path, _cells(clf, missing or (), keep))
    needed = _check_columns(names, clf, keep)
    for batch in open_stream(source, needed).select(needed):
        assert isinstance(batch, pa.Table)
        yield _check_numbers(batch, clf)


def _cells(clf: BayesianNetworkClassifier, missing: Sequence[str], keep: Sequence[str] = ()) -> CellRules:
    """A text column may hold only digits in a small file, and a column of numbers only marks of missing cells."""
    columns = (*clf.encoder_.schema.attributes, clf.encoder_.schema.target)
    texts = [column.name for column in columns if any(isinstance(state, str) for state in column.categories)]
    numbers = [column.name for column in columns if column.name not in texts]
    texts += [name for name in keep if name not in numbers]
    return CellRules(missing, recognises_marks(missing), texts, numbers)


def _check_numbers(rows: pa.Table, clf: BayesianNetworkClassifier) -> pa.Table:
    """The rows, if no column of numbers holds words: one may stand for a missing cell, which the model cannot know."""
    for column in clf.encoder_.schema.attributes:
        cells = rows.column(column.name)
        if column.kind == "numeric" and pa.types.is_string(cells.type):
            words = cells.filter(pc.invert(pc.match_substring_regex(cells, NUMBER)))
            word = (words if len(words) else cells.drop_null())[0].as_py()
            raise DataError(
                f"column {column.name!r} holds text ({word!r}); it was numeric when the model was fitted.",
                hint=f"--missing {shlex.quote(word)} if this stands for a missing cell: a model does not remember "
                "what --missing named.",
            )
    return rows


def _check_columns(names: Sequence[str], clf: BayesianNetworkClassifier, keep: Sequence[str] = ()) -> list[str]:
    """The columns a model needs and those to keep, if they are among the names."""
    schema = clf.encoder_.schema
    if not schema.named:
        raise DataError(
            "the model was fitted to an array without column names, so its columns cannot be found in a file.",
            hint="fit it to a table with names, or predict from Python.",
        )
    needed = [column.name for column in schema.attributes]
    absent = [name for name in needed if name not in set(names)]
    if absent:
        found = nearest_first(absent[0], names)
        raise DataError(
            f"the data lacks {len(absent)} of the {len(needed)} columns the model needs: {list_names(absent)}; "
            f"its columns are {list_names(found)}."
        )
    return [*needed, *(check_column(name, names, "to keep") for name in keep if name not in needed)]


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
