"""A data file split into attributes and class, and the columns of a data file that a model needs."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tanager.check import check
from tanager.check.checkup import Checkup
from tanager.check.examine import examine
from tanager.check.preprocessing import Recipe
from tanager.classifiers.base import TableClassifier
from tanager.cli.options import Reading
from tanager.cli.output import STREAM
from tanager.errors import DataError, DataWarning, OptionError
from tanager.evaluate.cross_validate import labelled_rows
from tanager.files.paths import PIECE, open_text
from tanager.files.read_csv import HEADER_ROW, CellRules
from tanager.files.read_table import WHOLE, bytes_in_memory, open_batches, read_table, table_format
from tanager.files.read_xlsx import SHEET
from tanager.registry import list_names, nearest_first
from tanager.runtime.progress import working
from tanager.runtime.resources import available_memory
from tanager.table.read_columns import read_columns
from tanager.table.stream.source import open_stream

MAX_FINDINGS = 4
"""Issues that are named before a fit."""
MAX_ROWS_CHECKED = 65_536
"""Rows of a stream that are checked."""
LEADING_ZERO = r"^0[0-9]"
NUMBER = r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*$"


class NamedLabels(np.ndarray):
    """Class labels with the name of their column, as a data frame's column has one, and the worst issues found."""

    name: str
    issues: tuple[str, ...] = ()


def read_training_data(path: str, class_column: str, reading: Reading) -> tuple[pa.Table, NamedLabels]:
    """The attributes and the class column of a file; a warning names the worst issues found in them."""
    with working(f"Reading {path}"):
        attributes, labels = read_unchecked(path, class_column, reading, reading.preprocessing(class_column))
        labels.issues = warn_findings(attributes, labels)
    return attributes, labels


def read_unchecked(path: str, class_column: str, reading: Reading, recipe: Recipe) -> tuple[pa.Table, NamedLabels]:
    """The attributes and the class column of a file after its preprocessing."""
    return _split(_read_prepared(path, class_column, reading, recipe), class_column)


def _read_prepared(path: str, class_column: str | None, reading: Reading, recipe: Recipe) -> pa.Table:
    """The table in a file after its preprocessing, with its place in the file as metadata."""
    table = read_table(path, reading.rules(recipe, class_column))
    if class_column is None:
        _check_recipe(table.column_names, None, recipe, reading.drop or ())
    else:
        check_training_columns(table.column_names, class_column, recipe, reading.drop or ())
    if not table.num_rows:
        raise DataError(f"file {path!r} has a header and no rows.")
    return recipe.apply(table).replace_schema_metadata(table.schema.metadata)


def row_numbers(path: str, X: pa.Table) -> NDArray[np.intp]:
    """The number of each row of a table that was read: as a spreadsheet counts them, else from 0."""
    place = _place(path, X)
    return np.arange(X.num_rows) + (place["header_row"] + 1 if place else 0)


def _split(table: pa.Table, class_column: str) -> tuple[pa.Table, NamedLabels]:
    """The attributes, and the class."""
    labels = _labels(table.column(class_column), class_column).view(NamedLabels)
    labels.name = class_column
    return table.drop_columns([class_column]), labels


def check_training_columns(names: Sequence[str], class_column: str, recipe: Recipe, drop: Sequence[str]) -> list[str]:
    """The attributes that are left: there must be a class and something to tell it by. `drop` is the option --drop."""
    check_column(class_column, names, "to predict")
    _check_recipe(names, class_column, recipe, drop)
    kept = [name for name in names if name != class_column and name not in recipe.dropped]
    if not kept:
        left_out = f" and {list_names(recipe.dropped, 3)}, which are left out" if recipe.dropped else ""
        raise DataError(f"the data has no column besides the class {class_column!r}{left_out}.")
    if "" in kept:
        warnings.warn(
            "a column has no name; it is taken as an attribute like any other. Hint: --drop '' leaves it out.",
            DataWarning,
            stacklevel=2,
        )
    return kept


def _check_recipe(names: Sequence[str], class_column: str | None, recipe: Recipe, drop: Sequence[str]) -> None:
    """Refuse preprocessing of columns that are not there, and a class that is left out."""
    for name in drop:
        check_column(name, names, "to drop")
    recipe.check_columns(names)
    if class_column in recipe.dropped:
        raise OptionError(f"--drop leaves out {class_column!r}, which is the class.")


def check_column(name: str, names: Sequence[str], purpose: str) -> str:
    """The name, if a column has it."""
    if name not in names:
        nearest = list_names(nearest_first(name, names))
        raise DataError(f"the data has no column {name!r} {purpose}; its columns, nearest first, are {nearest}.")
    return name


def warn_findings(attributes: pa.Table, labels: NamedLabels) -> tuple[str, ...]:
    """Warn of the worst issues of a table, in a few lines, and return them all."""
    checkup = check(attributes, labels)
    if checkup.columns[-1].distinct < 2:
        return ()  # whoever learns from it says so
    worst = checkup.of_severity("high")
    for finding in worst[:MAX_FINDINGS]:
        warnings.warn(finding.line, DataWarning, stacklevel=2)
    if len(worst) > MAX_FINDINGS:
        words = f"{len(worst) - MAX_FINDINGS} more such findings. Hint: tanager check shows them."
        warnings.warn(words, DataWarning, stacklevel=2)
    return tuple(finding.line for finding in worst)


def check_file(path: str, class_column: str | None, reading: Reading, recipe: Recipe) -> tuple[Checkup, pa.Table]:
    """The table in a file after its preprocessing, and its checkup."""
    table = _read_prepared(path, class_column, reading, recipe)
    zeros = _leading_zeros(path, table, reading.rules(recipe, class_column))
    y = None if class_column is None else table.column(class_column)
    X = table if class_column is None else table.drop_columns([class_column])
    return replace(examine(read_columns(X), y, zeros, class_column), **_place(path, table)), table


def _place(path: str, table: pa.Table) -> dict[str, Any]:
    """Sheet and row of the header, where rows of the table follow one by one in the file."""
    metadata = table.schema.metadata or {}
    row, sheet = metadata.get(HEADER_ROW.encode()), metadata.get(SHEET.encode())
    if row is None or path == STREAM:
        return {}
    if sheet is None:
        with open_text(Path(path)) as stream:
            n_lines = sum(piece.count(b"\n") for piece in iter(lambda: stream.read(PIECE), b""))
        if n_lines - int(row) not in (table.num_rows - 1, table.num_rows):
            return {}  # there are blank lines, or cells of several lines
    return {"sheet": None if sheet is None else sheet.decode(), "header_row": int(row)}


def _leading_zeros(path: str, table: pa.Table, rules: CellRules) -> list[str]:
    """The columns of whole numbers of which some begin with a zero in the file; a number forgets that."""
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole or path == STREAM:
        return []
    as_written = read_table(path, replace(rules, texts=whole))
    return [
        name
        for name in whole
        if pa.types.is_string(as_written.column(name).type)
        and pc.any(pc.match_substring_regex(as_written.column(name), LEADING_ZERO)).as_py()
    ]


def open_training_data(path: str, class_column: str, reading: Reading) -> tuple[list[str], object, Callable[[], int]]:
    """The attributes' names, the table as `fit` takes it batch by batch, and how many rows were read.

    A warning names the worst issues of the first batch: to check all would take another pass.
    """
    recipe = reading.preprocessing(class_column)
    names, source = open_batches(path, reading.rules(recipe, class_column))
    attributes = check_training_columns(names, class_column, recipe, reading.drop or ())
    columns = [*attributes, class_column]
    batches = source if isinstance(source, Iterator) else open_stream(source, columns).plain_tables()
    first = next(batches, None)
    if first is not None:
        warn_findings(*_split(recipe.apply(first.slice(0, MAX_ROWS_CHECKED)), class_column))
        batches = chain([first], batches)
    if not isinstance(source, Iterator) and not recipe.changes_cells:
        source = source.replace_schema(pa.schema([source.schema.field(name) for name in columns]))
        return attributes, source, source.count_rows
    counts: list[int] = []

    def counted() -> Iterator[pa.Table]:
        for batch in batches:
            counts.append(batch.num_rows)
            yield recipe.apply(batch).select(columns)

    return attributes, counted(), lambda: sum(counts)


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
    return table_format(path) not in WHOLE and 2 * bytes_in_memory(path) > available_memory()


def read_rows(
    path: str, clf: TableClassifier, missing: Sequence[str] | None, keep: Sequence[str] = ()
) -> tuple[pa.Table, NDArray[np.generic] | None]:
    """The columns a model needs, by name and in its order, from a file that may have others; and the class, if any.

    The recipe that the model remembers is applied, with the texts in `missing` too. After these come the columns to
    keep, as they are, and as text where the model does not need them.
    """
    with working(f"Reading {path}"):
        recipe = _recipe(clf, missing or ())
        table = read_table(path, _cells(clf, recipe, keep))
        needed, kept = _check_columns(table.column_names, clf, keep)
        target = clf.encoder_.schema.target.name
        rows = recipe.apply(table.select([*needed, *([target] if target in table.column_names else [])]))
        classes = np.array(rows.column(target).to_pylist()) if target in rows.column_names else None
        X = _with_columns(_check_numbers(rows.select(needed), clf), table.select(kept))
        return X.replace_schema_metadata(table.schema.metadata), classes


def read_labelled_rows(
    path: str, clf: TableClassifier, missing: Sequence[str] | None
) -> tuple[pa.Table, NDArray[np.generic] | None]:
    """As `read_rows`; where the file has the class column, only the rows that have a class."""
    X, y = read_rows(path, clf, missing)
    if y is None:
        return X, None
    y, labelled = labelled_rows(X, y, clf.classes_)
    return X.take(labelled), y


def read_row_batches(
    path: str, clf: TableClassifier, missing: Sequence[str] | None, keep: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """As `read_rows`, batch by batch."""
    recipe = _recipe(clf, missing or ())
    names, source = open_batches(path, _cells(clf, recipe, keep))
    needed, kept = _check_columns(names, clf, keep)
    for batch in open_stream(source, [*needed, *kept]).select([*needed, *kept]):
        assert isinstance(batch, pa.Table)
        yield _with_columns(_check_numbers(recipe.apply(batch.select(needed)), clf), batch.select(kept))


def _with_columns(rows: pa.Table, more: pa.Table) -> pa.Table:
    return pa.table([*rows.columns, *more.columns], [*rows.column_names, *more.column_names])


def _recipe(clf: TableClassifier, missing: Sequence[str]) -> Recipe:
    """What the model remembers, and more texts that mean missing."""
    return clf.recipe_.with_options(missing, (), clf.encoder_.schema.target.name)


def _cells(clf: TableClassifier, recipe: Recipe, keep: Sequence[str] = ()) -> CellRules:
    """A text column may hold only digits in a small file, and a column of numbers only marks of missing cells."""
    columns = (*clf.encoder_.schema.attributes, clf.encoder_.schema.target)
    texts = [column.name for column in columns if any(isinstance(state, str) for state in column.categories)]
    texts += [name for name in recipe.texts if name not in texts]
    numbers = [column.name for column in columns if column.name not in texts]
    texts += [name for name in keep if name not in numbers and name not in texts]
    expected = [column.name for column in clf.encoder_.schema.attributes]
    return CellRules.given(recipe.missing, texts, numbers=numbers, expected=expected)


def _check_numbers(rows: pa.Table, clf: TableClassifier) -> pa.Table:
    """The rows, if no column of numbers holds words: one may stand for a missing cell, which the model cannot know."""
    for column in clf.encoder_.schema.attributes:
        cells = rows.column(column.name)
        if column.kind == "numeric" and pa.types.is_string(cells.type) and cells.null_count < len(cells):
            words = cells.filter(pc.invert(pc.match_substring_regex(cells, NUMBER)))
            word = (words if len(words) else cells.drop_null())[0].as_py()
            raise DataError(
                f"column {column.name!r} holds text ({word!r}); it was numeric when the model was fitted.",
                hint=f"--missing {shlex.quote(word)} if this stands for a missing cell.",
            )
    return rows


def _check_columns(names: Sequence[str], clf: TableClassifier, keep: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns a model needs, and those to keep besides, if they are among the names."""
    schema = clf.encoder_.schema
    if not schema.named:
        raise DataError(
            "the model was fitted to an array without column names, so its columns cannot be found in a file.",
            hint="fit it to a table with names, or predict from Python.",
        )
    needed = [column.name for column in schema.attributes]
    absent = [name for name in needed if name not in set(names)]
    if absent:
        nearest = nearest_first(absent[0], names)
        raise DataError(
            f"the data lacks {len(absent)} of the {len(needed)} columns the model needs: {list_names(absent)}; "
            f"its columns are {list_names(nearest)}."
        )
    return needed, [check_column(name, names, "to keep") for name in keep if name not in needed]


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
