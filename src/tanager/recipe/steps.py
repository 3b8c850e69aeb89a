"""The steps of a recipe: each mends one column, and treats a row whatever the others hold."""

from __future__ import annotations

import datetime
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.errors import DataError
from tanager.recipe.texts import MARKS, ORDERS, merge_key, parse_date, parse_number
from tanager.registry import check_option
from tanager.table.read_columns import as_written


@dataclass(frozen=True)
class Step(ABC):
    """Something to do to the column of this name."""

    name: ClassVar[str]
    """What a recipe file calls the step."""
    column: str

    @abstractmethod
    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray | None:
        """The column mended, or None if it is left out; `marks` says that "NA" and the like mean missing."""


@dataclass(frozen=True)
class Drop(Step):
    """Leave the column out."""

    name = "drop"

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> None:
        return None


@dataclass(frozen=True)
class Missing(Step):
    """Take these texts as missing cells."""

    name = "missing"
    texts: tuple[str, ...]

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        return without_texts(cells, self.texts)


@dataclass(frozen=True)
class Merge(Step):
    """Write a cell as the one of `texts` that it is but for blanks and case; a cell of blanks is missing."""

    name = "merge"
    texts: tuple[str, ...]

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        kept = {merge_key(text): text for text in self.texts}

        def merged(text: str) -> str | None:
            return kept.get(merge_key(text), text.strip()) or None

        return map_texts(cells, merged, pa.string())


@dataclass(frozen=True)
class Number(Step):
    """Read texts as numbers, those in `missing` as missing cells."""

    name = "number"
    thousands: str = ""
    decimal: str = "."
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_option("decimal", self.decimal, (".", ","))
        check_option("thousands", self.thousands, ("", ",", ".", " ", "'"))
        if self.thousands == self.decimal:
            raise DataError(f"column {self.column!r}: {self.decimal!r} cannot separate thousands and decimals.")

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        def parse(text: str) -> float | None:
            return parse_number(text, self.thousands, self.decimal)

        return parse_texts(self.column, cells, parse, pa.float64(), _missing(self.missing, marks), "number")


@dataclass(frozen=True)
class Date(Step):
    """Read texts as dates in this order, those in `missing` as missing cells; with the time of day where it counts."""

    name = "date"
    order: str
    time: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_option("order", self.order, ORDERS)

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        def parse(text: str) -> datetime.datetime | None:
            return parse_date(text, self.order)

        kind = pa.timestamp("s") if self.time else pa.date32()
        return parse_texts(self.column, cells, parse, kind, _missing(self.missing, marks), f"date ({self.order})")


@dataclass(frozen=True)
class Category(Step):
    """Take the cells as names, also where they look like numbers."""

    name = "category"

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        if pa.types.is_floating(cells.type):
            return _map_distinct(cells, as_written, pa.string())
        return _texts(cells) if is_text(cells.type) else cells.cast(pa.string())


STEPS: dict[str, type[Step]] = {step.name: step for step in (Drop, Missing, Merge, Number, Date, Category)}


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, coded or not."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value))


def without_texts(cells: pa.ChunkedArray, texts: Sequence[str]) -> pa.ChunkedArray:
    """The column with these texts as missing cells; categories keep their order."""
    if not is_text(cells.type):
        return cells
    as_text = _texts(cells)
    cells = cells if pa.types.is_dictionary(cells.type) else as_text
    are_missing = pc.is_in(as_text, value_set=pa.array(texts, pa.string()))
    if not pc.any(are_missing).as_py():
        return cells
    rows = pa.array(np.arange(len(cells)))
    return cells.take(pc.if_else(are_missing, pa.scalar(None, rows.type), rows))


def parse_texts(
    name: str,
    cells: pa.ChunkedArray,
    parse: Callable[[str], object],
    kind: pa.DataType,
    missing: frozenset[str],
    what: str,
) -> pa.ChunkedArray:
    """The column of what `parse` makes of its texts; a text it cannot read, and that is not missing, is an error."""

    def read(text: str) -> object:
        value = None if text.strip() in missing else parse(text)
        if value is None and text.strip() not in missing:
            raise DataError(
                f"column {name!r} holds {text!r}; by the recipe it is a {what}.",
                hint=f"--missing {shlex.quote(text)} if this stands for a missing cell.",
            )
        return value

    return map_texts(cells, read, kind)


def map_texts(cells: pa.ChunkedArray, change: Callable[[str], object], kind: pa.DataType) -> pa.ChunkedArray:
    """The column with every text changed, its distinct texts one by one; a column of another type stays as it is."""
    if pa.types.is_null(cells.type):
        return cells.cast(kind)
    if not is_text(cells.type):
        return cells
    return _map_distinct(_texts(cells), change, kind)


def _map_distinct(cells: pa.ChunkedArray, change: Callable[[Any], object], kind: pa.DataType) -> pa.ChunkedArray:
    encoded = pa.chunked_array(cells.chunks, cells.type).combine_chunks().dictionary_encode()
    changed = pa.array([change(value) for value in encoded.dictionary.to_pylist()], kind)
    return pa.chunked_array([changed.take(encoded.indices)], kind)


def _texts(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return cells.cast(pa.string())


def _missing(texts: Sequence[str], marks: bool) -> frozenset[str]:
    return frozenset(["", *(text.strip() for text in texts), *(MARKS if marks else ())])
