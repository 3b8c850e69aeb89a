"""What the cells of a text file mean: which are missing, and which columns are text or numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tanager.check.text_values import MARKS
from tanager.errors import DataWarning
from tanager.registry import list_names
from tanager.table.read_columns import replace_columns

MARKS_HINT = "--missing names such texts, --missing '' switches this off"
MAX_COLUMNS_NAMED = 5
DECIMAL = r"^\s*[+-]?\d+(,\d+)?\s*$"


@dataclass(frozen=True)
class CellRules:
    """What the cells of a text file mean.

    missing   texts that are missing in every column, besides the empty one
    marks     whether the texts in `MARKS` are missing in CSV columns without other text, with a warning
    texts     columns of text, whatever it looks like
    numbers   columns without text, even where there is nothing but marks
    """

    missing: Sequence[str] = ()
    marks: bool = False
    texts: Sequence[str] = ()
    numbers: Sequence[str] = ()

    @classmethod
    def given(cls, missing: Sequence[str], texts: Sequence[str] = (), numbers: Sequence[str] = ()) -> CellRules:
        """The rules of a command; an empty text among those that mean missing says that marks are texts."""
        return cls([text for text in missing if text], "" not in missing, texts, numbers)

    def conversion(self, decimal: str = ".") -> pyarrow.csv.ConvertOptions:
        """How pyarrow reads the cells, marks as text."""
        return pyarrow.csv.ConvertOptions(
            null_values=["", *self.missing],
            strings_can_be_null=True,
            column_types={name: pa.string() for name in self.texts},
            decimal_point=decimal,
        )

    def marked_conversion(self, columns: Sequence[str] = (), decimal: str = ".") -> pyarrow.csv.ConvertOptions:
        """How pyarrow reads these columns, or all, marks as missing; in a column of text every cell stays text."""
        return pyarrow.csv.ConvertOptions(
            null_values=["", *self.missing, *MARKS],
            strings_can_be_null=False,
            column_types={name: pa.string() for name in self.texts},
            include_columns=columns,
            decimal_point=decimal,
        )


PLAIN = CellRules()


def recognise_marks(table: pa.Table, cells: CellRules, read_again: Callable[[list[str]], pa.Table]) -> pa.Table:
    """The table with the marks taken as missing in columns of numbers, dates, times or booleans, and a warning.

    A column is one of these if `read_again`, which gives columns with the marks as empty cells, finds no text in it.
    A column of nothing but marks stays text, except in `cells.numbers`.
    """
    names, known_texts, known_numbers = table.column_names, set(cells.texts), set(cells.numbers)
    marked = [
        place
        for place, (name, column) in enumerate(zip(names, table.columns, strict=True))
        if name not in known_texts and pa.types.is_string(column.type) and pc.any(_is_mark(column)).as_py()
    ]
    if not marked:
        return table
    again = read_again([names[place] for place in marked])
    taken = {
        place: column
        for place, column in zip(marked, again.columns, strict=True)
        if not pa.types.is_string(column.type) and (names[place] in known_numbers or not pa.types.is_null(column.type))
    }
    if taken:
        texts = pa.chunked_array([chunk for place in taken for chunk in table.column(place).chunks], pa.string())
        counts = pc.value_counts(texts.filter(_is_mark(texts)))
        words = {entry["values"]: entry["counts"] for entry in counts.to_pylist()}
        _warn_counted([names[place] for place in taken], words)
    return replace_columns(table, taken)


def warn_recognised(names: Sequence[str]) -> None:
    """Say which columns have marks where nobody counts them: in a file that is read batch by batch."""
    warnings.warn(
        f"{_columns(names)}: texts such as 'NA' are taken as missing; {MARKS_HINT}.", DataWarning, stacklevel=2
    )


def decimal_commas(table: pa.Table, cells: CellRules) -> list[str]:
    """The columns of text that hold numbers with a decimal comma, and nothing else but marks."""
    found, known_texts = [], set(cells.texts)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in known_texts or not pa.types.is_string(column.type):
            continue
        texts = column.drop_null()
        texts = texts.filter(pc.invert(_is_mark(texts))) if cells.marks else texts
        has_comma = pc.any(pc.match_substring(texts, ",")).as_py()
        if has_comma and pc.all(pc.match_substring_regex(texts, DECIMAL)).as_py():
            found.append(name)
    return found


def warn_decimal_commas(where: str, names: Sequence[str]) -> None:
    """Say that numbers were read with a decimal comma."""
    warnings.warn(f"{where}: numbers have a decimal comma in {_columns(names)}.", DataWarning, stacklevel=2)


def _is_mark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which cells hold a mark."""
    return pc.is_in(column, value_set=pa.array(MARKS))


def _warn_counted(names: Sequence[str], counts: dict[str, int]) -> None:
    texts = ", ".join(
        f"{text!r} in {n:,} {'row' if len(names) == 1 else 'cell'}{'s'[: n != 1]}" for text, n in counts.items()
    )
    verb = "are" if len(counts) > 1 else "is"
    warnings.warn(f"{_columns(names)}: {texts} {verb} taken as missing; {MARKS_HINT}.", DataWarning, stacklevel=2)


def _columns(names: Sequence[str]) -> str:
    return f"column{'s'[: len(names) != 1]} {list_names(names, MAX_COLUMNS_NAMED)}"
