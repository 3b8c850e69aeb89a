"""Recipe: the preprocessing of a table, step by step, as a value that a file and a model can hold."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.check.text_values import MARKS, ORDERS, UNITS, merge_key, parse_date, parse_number
from tanager.errors import DataError
from tanager.registry import check_option, list_names, nearest_first
from tanager.table.read_columns import as_written, is_text, to_arrow


@dataclass(frozen=True)
class Step(ABC):
    """Preprocessing of the column of this name; it treats each row without the others."""

    name: ClassVar[str]
    """What a recipe file calls the step."""
    done: ClassVar[str]
    column: str

    @property
    def summary(self) -> str:
        """What the step did, before the names of columns."""
        return self.done

    @abstractmethod
    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray | None:
        """The column after the step, None if it is left out; `marks` says that "NA" and the like mean missing."""


@dataclass(frozen=True)
class Drop(Step):
    """Leave the column out."""

    name = "drop"
    done = "left out"

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> None:
        return None


@dataclass(frozen=True)
class Missing(Step):
    """Take these texts as missing values."""

    name = "missing"
    done = "missing values recognised in"
    texts: tuple[str, ...]

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        return _without_texts(cells, self.texts)


@dataclass(frozen=True)
class Merge(Step):
    """Write a cell as the one of `texts` that it is but for blanks and case; a cell of blanks is missing."""

    name = "merge"
    done = "spellings merged in"
    texts: tuple[str, ...]

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        kept = {merge_key(text): text for text in self.texts}
        return _map_texts(cells, lambda text: kept.get(merge_key(text), text.strip()) or None, pa.string())


@dataclass(frozen=True)
class Number(Step):
    """Read texts as numbers, with a unit before or after them; take those in `missing` as missing values."""

    name = "number"
    done = "numbers read in"
    thousands: str = ""
    decimal: str = "."
    missing: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        check_option("decimal", self.decimal, (".", ","))
        check_option("thousands", self.thousands, ("", ",", ".", " ", "'"))
        check_option("unit", self.unit, UNITS)
        if self.thousands == self.decimal:
            raise DataError(f"column {self.column!r}: {self.decimal!r} cannot separate thousands and decimals.")

    @property
    def summary(self) -> str:
        """Numbers that stand for missing values are named."""
        are_codes = bool(self.missing) and all(parse_number(text) is not None for text in self.missing)
        return f"{', '.join(self.missing)} taken as missing in" if are_codes else self.done

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        def parse(text: str) -> float | None:
            return parse_number(text, self.thousands, self.decimal, self.unit)

        if not _is_number(cells.type):
            cells = _map_texts(cells, _reader(self, marks, "number", parse), pa.float64())
        codes = [number for text in self.missing if (number := parse(text)) is not None]
        if not codes or not _is_number(cells.type):
            return cells
        are_missing = pc.is_in(cells.cast(pa.float64()), value_set=pa.array(codes, pa.float64()))
        return pc.if_else(are_missing, pa.scalar(None, cells.type), cells)


@dataclass(frozen=True)
class Date(Step):
    """Read texts as dates in this order, those in `missing` as missing values; with the time of day where it counts."""

    name = "date"
    done = "dates read in"
    order: str
    time: bool = False
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_option("order", self.order, ORDERS)

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        read = _reader(self, marks, f"date ({self.order})", lambda text: parse_date(text, self.order))
        return _map_texts(cells, read, pa.timestamp("s") if self.time else pa.date32())


@dataclass(frozen=True)
class Category(Step):
    """Take the cells as names, also where they look like numbers."""

    name = "category"
    done = "codes kept as names in"

    def apply(self, cells: pa.ChunkedArray, marks: bool) -> pa.ChunkedArray:
        if pa.types.is_floating(cells.type):
            return _map_distinct(cells, as_written, pa.string())
        return _as_strings(cells)


STEPS: dict[str, type[Step]] = {step.name: step for step in (Drop, Missing, Merge, Number, Date, Category)}


@dataclass(frozen=True)
class Recipe:
    """The preprocessing of a table. `check` proposes one; a model file stores its own.

    Every step treats a row without the others, so rows to predict get the codes that they would have in training.

    steps    in their order
    missing  texts that mean missing in every column of text; "" among them says that "NA" and the like do not
    target   the name of the class column, which a table to predict need not have

    >>> import pandas as pd
    >>> from tanager import check
    >>> prices = [f"{300 * k:,}" for k in range(1, 21)]
    >>> X = pd.DataFrame({"price": prices * 2, "sold": ["yes", "no", "no ", "yes"] * 10})
    >>> recipe = check(X[["price"]], X["sold"]).recipe
    >>> print(recipe)
    price: number (thousands ',', decimal '.')
    sold: merge (texts 'no')
    >>> recipe.apply(X).column("price").to_pylist()[:3]
    [300.0, 600.0, 900.0]
    """

    steps: tuple[Step, ...] = ()
    missing: tuple[str, ...] = ()
    target: str | None = None

    def __bool__(self) -> bool:
        return bool(self.steps or self.missing)

    def __str__(self) -> str:
        lines = [f"{step.column}: {step.name}{_options(step)}" for step in self.steps]
        everywhere = [f"every column: missing (texts {', '.join(map(repr, self.missing))})"] * bool(self.missing)
        return "\n".join([*everywhere, *lines]) or "nothing to do"

    @property
    def summary(self) -> str:
        """The steps in one line, grouped by what they do."""
        columns: dict[str, list[str]] = {}
        for step in self.steps:
            columns.setdefault(step.summary, []).append(step.column)
        return "; ".join(f"{done} {list_names(names, 4)}" for done, names in columns.items()) or "nothing to fix"

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that are left out."""
        return tuple(step.column for step in self.steps if step.name == Drop.name)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns whose cells are needed as they are written."""
        return tuple(dict.fromkeys(step.column for step in self.steps if step.name != Drop.name))

    @property
    def changes_cells(self) -> bool:
        """Whether more is done than to leave columns out."""
        return bool(self.texts or any(self.missing))

    def with_options(self, missing: Sequence[str], drop: Sequence[str], target: str | None) -> Recipe:
        """The recipe with more texts that mean missing, more columns to leave out, and the class of a table."""
        drops = tuple(Drop(name) for name in dict.fromkeys(drop) if name not in self.dropped)
        return Recipe((*self.steps, *drops), tuple(dict.fromkeys([*self.missing, *missing])), target)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a recipe that is for a table of other columns."""
        absent = [step.column for step in self.steps if step.column not in set(names)]
        if absent:
            raise DataError(
                f"the recipe is for other columns: the data has no {list_names(list(dict.fromkeys(absent)))}; its "
                f"columns, nearest first, are {list_names(nearest_first(absent[0], names))}.",
                hint="`tanager check --fix` writes a recipe for this table.",
            )

    def apply(self, X: Any) -> pa.Table:
        """The table after the steps: any data frame in, an Arrow table out.

        The class, and columns to leave out, may be absent; any other column of a step must be there.
        """
        table = X if isinstance(X, pa.Table) else to_arrow(X)
        may_lack = {self.target, *self.dropped}
        needed = tuple(step for step in self.steps if step.column not in may_lack)
        replace(self, steps=needed).check_columns(table.column_names)
        names, marks = table.column_names, "" not in self.missing
        texts = [text for text in self.missing if text]
        columns: list[Any] = [_without_texts(column, texts) if texts else column for column in table.columns]
        for step in self.steps:
            # By place: of two columns of one name the steps change the first, and whoever reads the table refuses both.
            place = names.index(step.column) if step.column in names else -1
            if place >= 0 and columns[place] is not None:
                columns[place] = step.apply(columns[place], marks)
        kept = [place for place, column in enumerate(columns) if column is not None]
        return pa.table([columns[place] for place in kept], names=[names[place] for place in kept])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        steps = [{"step": step.name, **asdict(step)} for step in self.steps]
        return {"class": self.target, "missing": list(self.missing), "steps": steps}

    @classmethod
    def from_dict(cls, document: object) -> Recipe:
        """The recipe in a JSON document; a DataError says what is wrong with it."""
        match document:
            case {"class": str() | None as target, "missing": list(missing), "steps": list(steps)}:
                return cls(tuple(map(_read_step, steps)), _read_texts(missing, "missing"), target)
        raise DataError("it has no class, missing and steps")


NOTHING_TO_DO = Recipe()


def _read_step(document: object) -> Step:
    if not isinstance(document, dict) or not isinstance(document.get("column"), str):
        raise DataError(f"a step has no column: {document!r:.80}")
    kind = STEPS[check_option("step", document.get("step"), STEPS)]
    options: dict[str, Any] = {name: value for name, value in document.items() if name != "step"}
    unknown = sorted(set(options) - {field.name for field in fields(kind)})
    if unknown:
        raise DataError(f"step {kind.name!r} of column {document['column']!r} has {list_names(unknown)}")
    for name, value in options.items():
        where = f"{name} of step {kind.name!r}"
        if name in ("texts", "missing"):
            options[name] = _read_texts(value, where)
        elif type(value) is not (bool if name == "time" else str):
            raise DataError(f"{where} is {value!r:.40}, expected {'true or false' if name == 'time' else 'a text'}")
    try:
        return kind(**options)
    except TypeError:
        raise DataError(f"step {kind.name!r} of column {document['column']!r} is not complete") from None


def _read_texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DataError(f"{where} is {value!r:.40}, expected a list of texts")
    return tuple(value)


def _options(step: Step) -> str:
    values = {name: value for name, value in asdict(step).items() if name != "column" and value not in ((), "", False)}
    words = (
        f"{name} {', '.join(map(repr, value))}" if isinstance(value, tuple | list) else f"{name} {value!r}"
        for name, value in values.items()
    )
    return f" ({', '.join(words)})" if values else ""


def _reader(step: Number | Date, marks: bool, noun: str, parse: Callable[[str], object]) -> Callable[[str], object]:
    """The function of a text that `parse`s it; a text it cannot read, and that is not missing, is an error."""
    missing = {"", *(text.strip() for text in step.missing), *(MARKS if marks else ())}

    def read(text: str) -> object:
        if text.strip() in missing:
            return None
        if (value := parse(text)) is None:
            raise DataError(
                f"column {step.column!r} holds {text!r}; by the recipe it is a {noun}.",
                hint=f"--missing {shlex.quote(text)} if this stands for a missing cell.",
            )
        return value

    return read


def _holds_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, coded or not."""
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _without_texts(cells: pa.ChunkedArray, texts: Sequence[str]) -> pa.ChunkedArray:
    """The column with these texts as missing values; categories keep their order."""
    if not _holds_text(cells.type):
        return cells
    strings = _as_strings(cells)
    cells = cells if pa.types.is_dictionary(cells.type) else strings
    are_missing = pc.is_in(strings, value_set=pa.array(texts, pa.string()))
    if not pc.any(are_missing).as_py():
        return cells
    rows = pa.array(np.arange(len(cells)))
    return cells.take(pc.if_else(are_missing, pa.scalar(None, rows.type), rows))


def _map_texts(cells: pa.ChunkedArray, change: Callable[[str], object], kind: pa.DataType) -> pa.ChunkedArray:
    """The column with every text changed, its distinct texts one by one; a column of another type stays as it is."""
    if pa.types.is_null(cells.type):
        return cells.cast(kind)
    return _map_distinct(_as_strings(cells), change, kind) if _holds_text(cells.type) else cells


def _map_distinct(cells: pa.ChunkedArray, change: Callable[[Any], object], kind: pa.DataType) -> pa.ChunkedArray:
    encoded = pa.chunked_array(cells.chunks, cells.type).combine_chunks().dictionary_encode()
    changed = pa.array([change(value) for value in encoded.dictionary.to_pylist()], kind)
    return pa.chunked_array([changed.take(encoded.indices)], kind)


def _as_strings(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return cells.cast(pa.string())
