"""ARFF, Weka's format -> table. Sparse rows are refused."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tanager.errors import FileError
from tanager.files.paths import open_text, reason

# No repetition gives back what it took, so that the time to read a line is in proportion to its length.
QUOTED = r"""'(?P<single>(?:[^'\\]|\\.)*+)'|"(?P<double>(?:[^"\\]|\\.)*+)\""""
ATTRIBUTE = re.compile(rf"@attribute\s++(?:{QUOTED}|(?P<bare>[^\s'\"{{][^\s{{]*+))\s*+(?P<type>\S.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*+(?:{QUOTED}|(?P<bare>(?:[^,\t'\"\s][^,\t]*+)?+))[ \r]*+(?P<end>\t *+,|,|\t|$)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
DATE = "yyyy-MM-dd"
Kind = Literal["numeric", "integer", "string", "nominal", "date", "datetime"]
KINDS: dict[str, Kind] = {"numeric": "numeric", "real": "numeric", "integer": "integer", "string": "string"}
DATA = re.compile(r"^[ \t]*@data\b[^\n]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)


class ArffError(Exception):
    """A fault and its line; the reader adds the name of the file."""


@dataclass(frozen=True)
class Attribute:
    """A line of the header. `values` are a nominal attribute's, in order."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()


class Cell(NamedTuple):
    """A cell without its quotes; `quoted` says whether it had them."""

    text: str
    quoted: bool


def read_arff(file: Path, missing_values: Sequence[str]) -> pa.Table:
    """Nominal attributes become dictionary columns with the declared values in the declared order."""
    try:
        with open_text(file) as stream:
            text = stream.read().decode("utf-8-sig")
        return _parse(text, {"?", "", *missing_values})
    except (EOFError, OSError, zlib.error) as error:
        raise FileError(f"cannot read {str(file)!r}: {reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"file {str(file)!r} is not UTF-8 text.", hint="save it with the encoding UTF-8.") from error
    except ArffError as error:
        raise FileError(f"file {str(file)!r} cannot be read as ARFF: {error}.") from error


def _parse(text: str, missing: Collection[str]) -> pa.Table:
    if "\n" not in text:
        text = text.replace("\r", "\n")  # line ends of old
    start = DATA.search(text)
    if start is None:
        raise ArffError("there is no line '@data'" if text.strip() else "it is empty")
    attributes = read_header(text[: start.start()])
    lines, rows = _read_rows(text[start.end() :], text.count("\n", 0, start.end()) + 1, len(attributes), missing)
    columns = zip(*rows, strict=True) if rows else [()] * len(attributes)
    return pa.table(
        [_column(cells, lines, attribute) for cells, attribute in zip(columns, attributes, strict=True)],
        names=[attribute.name for attribute in attributes],
    )


def _read_rows(
    body: str, first: int, n_columns: int, missing: Collection[str]
) -> tuple[list[int], list[list[str | None]]]:
    """The lines with a row, the first line having this number, and their cells."""
    lines, rows = [], []
    for number, line in enumerate(body.split("\n"), start=first):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        if line.lstrip().startswith("{"):
            raise ArffError("its rows are sparse ({index value, ...}); convert it to dense rows")
        cells = _texts(line, number, missing)
        if len(cells) != n_columns:
            raise ArffError(f"line {number} has {len(cells)} cell(s), expected {n_columns} as in the header")
        lines.append(number)
        rows.append(cells)
    return lines, rows


def _texts(line: str, number: int, missing: Collection[str]) -> list[str | None]:
    """The cells of a line, None for those that are missing; a cell in quotes never is."""
    if any(mark in line for mark in ("'", '"', "\t")):
        cells = split_cells(line, number)
        return [None if cell.text in missing and not cell.quoted else cell.text for cell in cells]
    return [None if text in missing else text for text in map(str.strip, line.split(","))]


def _column(cells: Sequence[str | None], lines: Sequence[int], attribute: Attribute) -> pa.Array:
    """The column in the type its attribute declares; an error names the first line with a cell that does not fit."""
    try:
        return _convert(pa.array(cells, pa.string()), attribute)
    except pa.ArrowInvalid:
        for number, cell in zip(lines, cells, strict=True):
            try:
                _convert(pa.array([cell], pa.string()), attribute)
            except pa.ArrowInvalid:
                where = f"attribute {attribute.name!r} ({attribute.kind})"
                raise ArffError(f"line {number}: {cell!r} is not a value of {where}") from None
        raise


def _convert(column: pa.Array, attribute: Attribute) -> pa.Array:
    """ArrowInvalid where a cell does not fit."""
    if attribute.kind == "nominal":
        values = pa.array(attribute.values)
        codes = pc.index_in(column, value_set=values)
        if codes.null_count > column.null_count:
            raise pa.ArrowInvalid("not a value that is declared")
        return pa.DictionaryArray.from_arrays(codes, values)
    if attribute.kind in ("date", "datetime"):
        return column.cast(pa.date32() if attribute.kind == "date" else pa.timestamp("us"))
    if attribute.kind == "string":
        return column
    numbers = column.cast(pa.float64())
    if attribute.kind == "integer":
        with suppress(pa.ArrowInvalid):  # Weka takes any number
            return numbers.cast(pa.int64())
    return numbers


def read_header(header: str) -> list[Attribute]:
    """The attributes declared above the line '@data'."""
    attributes = []
    for number, line in enumerate(header.split("\n"), start=1):
        words = line.strip()
        if words.lower().startswith("@attribute"):
            attributes.append(_read_attribute(words, number))
        elif words and not words.startswith("%") and not words.lower().startswith("@relation"):
            raise ArffError(f"line {number} of the header is neither @relation, @attribute nor a comment")
    if not attributes:
        raise ArffError("its header has no line '@attribute'")
    return attributes


def split_cells(line: str, number: int) -> Iterator[Cell]:
    r"""The cells of line `number`, separated by commas or tabs; inside quotes \ takes the next character as it is."""
    position, end = 0, ","
    while end:
        match = CELL.match(line, position)
        if match is None:
            raise ArffError(f"line {number}: the quotes near {line[position : position + 20]!r} do not match")
        yield _cell(match)
        position, end = match.end(), match["end"]


def _read_attribute(words: str, number: int) -> Attribute:
    match = ATTRIBUTE.fullmatch(words)
    if match is None:
        raise ArffError(f"line {number} is not '@attribute name type'")
    name, declared = _cell(match).text, match["type"]
    kind = declared.split()[0].lower()
    if declared.startswith("{"):
        return Attribute(name, "nominal", values=_read_values(name, declared, number))
    if kind == "date":  # Weka's own pattern has a time
        pattern = next(split_cells(declared[len("date") :], number)).text or f"{DATE}'T'HH:mm:ss"
        if not pattern.startswith(DATE):
            raise ArffError(f"line {number}: the date pattern {pattern!r} does not begin with {DATE}")
        return Attribute(name, "date" if pattern == DATE else "datetime")
    if kind in KINDS:
        return Attribute(name, KINDS[kind])
    raise ArffError(
        f"line {number}: attribute {name!r} has type {declared!r}, expected numeric, real, integer, string, date "
        "or {value, ...}"
    )


def _read_values(name: str, declared: str, number: int) -> tuple[str, ...]:
    if not declared.endswith("}"):
        raise ArffError(f"line {number}: the values of attribute {name!r} have no closing brace")
    cells = list(split_cells(declared[1:-1].rstrip(), number))
    values = tuple(cell.text for cell in cells)
    if any(not cell.text and not cell.quoted for cell in cells) or len(set(values)) < len(values):
        raise ArffError(f"line {number}: a value of attribute {name!r} is empty or repeated")
    return values


def _cell(match: re.Match[str]) -> Cell:
    if match["bare"] is not None:
        return Cell(match["bare"].rstrip(" \r"), quoted=False)
    text = match["single"] if match["single"] is not None else match["double"]
    return Cell(re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), text), quoted=True)
