"""Data sets to compare on: a folder with a manifest, a folder of table files, sets of OpenML by name."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.errors import DataError, FileError, OptionError
from tanager.files.paths import check_readable, reason
from tanager.files.read_csv import CellRules
from tanager.files.read_table import read_table
from tanager.registry import nearest_first
from tanager.table.training_table import say_left_out

Labels = NDArray[np.generic]

MANIFEST = "manifest.json"
OPENML = "openml:"
TABLES = ("csv", "tsv", "parquet", "arff")
MAX_NAMES = 10


@dataclass(frozen=True)
class SetDescription:
    """What is known of a data set before it is read: enough to plan its folds.

    n_train  the first so many rows are its own training part; None if it brings no split
    n_rows   as far as known without reading; 0 if not
    groups   names of collections it belongs to
    """

    name: str
    n_rows: int = 0
    n_train: int | None = None
    groups: tuple[str, ...] = ()


class DataSet(SetDescription, ABC):
    """A named table with a class column, read when it is needed."""

    @abstractmethod
    def read(self) -> tuple[pa.Table, Labels]:
        """Attributes and classes (as text)."""

    def files(self) -> tuple[Path, ...]:
        """What is read."""
        return ()


@dataclass(frozen=True, kw_only=True)
class FileSet(DataSet):
    """A file; `categories` are the columns read as text even where they hold digits, `marks` those of `CellRules`."""

    path: Path
    class_column: str = "class"
    categories: frozenset[str] = field(default_factory=frozenset)
    marks: bool = False

    def read(self) -> tuple[pa.Table, Labels]:
        table = read_table(self.path, CellRules(marks=self.marks, texts=[*self.categories, self.class_column]))
        X, y = split_class(table, self.class_column, self.name)
        if self.n_train is not None and len(y) < table.num_rows:
            n_apart = table.num_rows - len(y)
            raise DataError(f"{n_apart:,} rows of {self.name!r} have no class, but its own split counts them.")
        return X, y

    def files(self) -> tuple[Path, ...]:
        return (self.path,)


@dataclass(frozen=True)
class OpenMLSet(DataSet):
    """A set of openml.org, downloaded once by scikit-learn and kept in its cache."""

    version: int = 1

    def read(self) -> tuple[pa.Table, Labels]:
        from sklearn.datasets import fetch_openml

        try:
            bunch: Any = fetch_openml(
                self.name.removeprefix(OPENML), version=self.version, as_frame=False, parser="liac-arff"
            )
        except Exception as error:
            raise DataError(f"cannot get the set {self.name!r} from OpenML: {reason(error)}.") from error
        columns = []
        for position, name in enumerate(bunch.feature_names):
            values = np.asarray(bunch.data[:, position], dtype=np.float64)
            kinds = bunch.categories.get(name) if bunch.categories else None
            if kinds is None:
                columns.append(pa.array(values, from_pandas=True))
            else:
                columns.append(pa.array([None if np.isnan(v) else str(kinds[int(v)]) for v in values], pa.string()))
        return pa.table(columns, names=list(bunch.feature_names)), np.asarray(bunch.target).astype(str)


def split_class(table: pa.Table, class_column: str, name: str) -> tuple[pa.Table, Labels]:
    """Attributes and class of the rows that have one; a table without that column is refused with the nearest ones."""
    if class_column not in table.column_names:
        nearest = ", ".join(map(repr, nearest_first(class_column, table.column_names)[:MAX_NAMES]))
        raise DataError(
            f"the set {name!r} has no class column {class_column!r}; its columns, nearest first, are {nearest}.",
            hint="name the class column with --class.",
        )
    labels = table.column(class_column)
    if labels.null_count:
        say_left_out(labels.null_count, len(labels), of=f"the set {name!r}")
        table = table.filter(labels.is_valid())
        labels = table.column(class_column)
    return table.drop_columns([class_column]), labels.cast(pa.string()).to_numpy().astype(str)


def find_data_sets(folder: Path, class_column: str = "class") -> list[DataSet]:
    """The sets of a folder: those its manifest names, else every table file in it; or the one set that a file is."""
    if folder.is_file():
        return [FileSet(name=_stem(folder), path=folder, class_column=class_column, marks=True)]
    if not folder.is_dir():
        raise FileError(
            f"there is no folder {str(folder)!r} with data sets.",
            hint=f"name it with --data or TANAGER_DATA: a table, a folder with a {MANIFEST}, or one of .csv and .arff.",
        )
    if (folder / MANIFEST).exists():
        return read_manifest(folder)
    files = sorted(path for path in folder.iterdir() if path.is_file() and _is_table(path))
    if not files:
        raise FileError(f"the folder {str(folder)!r} holds neither a {MANIFEST} nor a table file.")
    return [FileSet(name=_stem(path), path=path, class_column=class_column, marks=True) for path in files]


def folder_of_table(path: Path) -> str:
    """A name for the results of a single table, by what is in it."""
    return f"{_stem(path)}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"


def read_manifest(folder: Path) -> list[DataSet]:
    """The sets that manifest.json describes; all its files must be there."""
    path = check_readable(folder / MANIFEST)
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        sets: list[DataSet] = [
            FileSet(
                name=entry["name"],
                n_rows=entry["rows"],
                n_train=entry["split"]["train"] if entry.get("split") else None,
                groups=tuple(entry.get("group", ())),
                path=folder / entry["file"],
                categories=frozenset(name for name, kind in entry["kinds"].items() if kind == "categorical"),
            )
            for entry in entries
            if entry["classes"] > 1
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{str(path)!r} is not a manifest of data sets ({type(error).__name__}: {error}); expected a list of "
            "objects with name, file, rows, classes and kinds."
        ) from error
    for data_set in sets:
        if isinstance(data_set, FileSet) and not data_set.path.is_file():
            raise FileError(
                f"the manifest {str(path)!r} names the set {data_set.name!r}, but its file {data_set.path.name!r} "
                "is not there."
            )
    return sets


def choose(
    sets: Sequence[DataSet], names: Collection[str] | None = None, groups: Iterable[str] | None = None
) -> list[DataSet]:
    """The sets of those names, in that order, or of those groups; `openml:NAME` is a set of OpenML."""
    chosen = list(sets)
    if groups is not None:
        known = sorted({group for data_set in sets for group in data_set.groups})
        for group in groups:
            if group not in known:
                raise OptionError(f"there is no group {group!r} of data sets; there are {', '.join(known) or 'none'}.")
        chosen = [data_set for data_set in sets if {*groups} & {*data_set.groups}]
    if names is None:
        return chosen
    by_name = {data_set.name: data_set for data_set in chosen}
    result: list[DataSet] = []
    for name in names:
        if name.startswith(OPENML):
            result.append(OpenMLSet(name))
        elif name in by_name:
            result.append(by_name[name])
        else:
            nearest = ", ".join(map(repr, nearest_first(name, by_name)[:5]))
            raise OptionError(f"there is no data set {name!r}; the nearest are {nearest}.")
    return result


def _is_table(path: Path) -> bool:
    stem = path.name.lower().removesuffix(".gz")
    return any(stem.endswith(f".{kind}") for kind in TABLES)


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
