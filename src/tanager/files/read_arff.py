"""ARFF, Weka's format -> table: the header by hand, the rows through pyarrow. Sparse rows are refused."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tanager.errors import FileError
from tanager.files.compressed import open_text
from tanager.files.paths import reason

# No repetition gives back what it took, so that the time to read a line is in proportion to its length.
QUOTED = r"""'(?P<single>(?:[^'\\]|\\.)*+)'|"(?P<double>(?:[^"\\]|\\.)*+)\""""
ATTRIBUTE = re.compile(rf"@attribute\s++(?:{QUOTED}|(?P<bare>[^\s'\"{{][^\s{{]*+))\s*+(?P<type>\S.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*+(?:{QUOTED}|(?P<bare>(?:[^,\t'\"\s][^,\t]*+)?+))[ \r]*+(?P<end>\t *+,|,|\t|$)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
DATES = {
    "yyyy-MM-dd": "%Y-%m-%d",
    "yyyy-MM-dd'T'HH:mm:ss": "%Y-%m-%dT%H:%M:%S",
    "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%M:%S",
}
"""Patterns of dates, Weka's own among them, in the notation of strptime."""
DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"
Kind = Literal["numeric", "integer", "string", "nominal", "date"]
KINDS: dict[str, Kind] = {"numeric": "numeric", "real": "numeric", "integer": "integer", "string": "string"}
DATA = re.compile(rb"^[ \t]*@data\b[^\n]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
BLANK_OR_COMMENT = re.compile(rb"^[ \t\r]*(?:%.*)?(?:\n|\Z)", re.MULTILINE)
NUMBERS = ("numeric", "integer")
LONGEST_ROW = 1 << 26


class ArffError(Exception):
    """A fault and its line; the reader adds the name of the file."""


@dataclass(frozen=True)
class Attribute:
    """A line of the header. `values` are a nominal attribute's, in order; `date_format` is in strptime's notation."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    date_format: str = ""


class Cell(NamedTuple):
    """A cell without its quotes; `quoted` says whether it had them."""

    text: str
    quoted: bool


def read_arff(file: Path, missing_values: Sequence[str]) -> pa.Table:
    """Nominal attributes become dictionary columns with the declared values in the declared order."""
    try:
        with open_text(file) as stream:
            data = stream.read().removeprefix(b"\xef\xbb\xbf")
        return _parse(data, ["?", "", *missing_values])
    except (EOFError, OSError, zlib.error) as error:
        raise FileError(f"cannot read {str(file)!r}: {reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"file {str(file)!r} is not UTF-8 text.", hint="save it with the encoding UTF-8.") from error
    except ArffError as error:
        raise FileError(f"file {str(file)!r} cannot be read as ARFF: {error}.") from error


def _parse(data: bytes, missing: list[str]) -> pa.Table:
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")  # line ends of old
    start = DATA.search(data)
    if start is None:
        raise ArffError("there is no line '@data'" if data.strip() else "it is empty")
    attributes = read_header(data[: start.start()].decode())
    body = data[start.end() :]
    rows = BLANK_OR_COMMENT.sub(b"", body)
    if rows.lstrip().startswith(b"{"):
        raise ArffError("its rows are sparse ({index value, ...}), which is not supported; convert it to dense rows")
    try:
        columns = _read_rows(rows, attributes, missing) if rows else [pa.nulls(0, pa.string()) for _ in attributes]
        return pa.table(
            [_convert(column, attribute) for column, attribute in zip(columns, attributes, strict=True)],
            names=[attribute.name for attribute in attributes],
        )
    except (pa.ArrowInvalid, ArffError) as error:
        first_line = data.count(b"\n", 0, start.end()) + 1
        _raise_fault(body.decode(), first_line, attributes, missing)
        raise ArffError(reason(error)) from error


def _as_csv(line: str) -> str:
    """A line without blanks around cells, with one kind of quote and no escapes."""
    if not any(mark in line for mark in ("'", '"', "\t")):
        return ",".join(map(str.strip, line.split(",")))
    # A quoted cell stays quoted, so that '?' in quotes is text.
    return ",".join(
        '"' + cell.text.replace('"', '""') + '"' if cell.quoted else cell.text for cell in split_cells(line, 0)
    )


def _read_rows(rows: bytes, attributes: Sequence[Attribute], missing: list[str]) -> list[pa.Array]:
    """The columns, as floats where the attribute is a number and as text elsewhere."""
    content = "\n".join(map(_as_csv, rows.decode().removesuffix("\n").split("\n"))).encode()
    names = [str(position) for position in range(len(attributes))]
    types = [pa.float64() if attribute.kind in NUMBERS else pa.string() for attribute in attributes]
    table = pyarrow.csv.read_csv(
        io.BytesIO(content),
        read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=min(len(content) + 1, LONGEST_ROW)),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict(zip(names, types, strict=True)),
            null_values=missing,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [column.combine_chunks() for column in table.columns]


def _convert(column: pa.Array, attribute: Attribute) -> pa.Array:
    """The column in the type its attribute declares; ArrowInvalid where a cell does not fit."""
    if attribute.kind == "integer":
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # Weka takes any number here
            return column
    if attribute.kind == "nominal":
        values = pa.array(attribute.values)
        codes = pc.index_in(column, value_set=values)
        if codes.null_count > column.null_count:
            raise pa.ArrowInvalid(f"attribute {attribute.name!r} has a value it does not declare")
        return pa.DictionaryArray.from_arrays(codes, values)
    if attribute.kind == "date":
        moments = pc.strptime(column, format=attribute.date_format, unit="us")
        return moments if "%H" in attribute.date_format else moments.cast(pa.date32())
    return column


def _raise_fault(body: str, first_line: int, attributes: Sequence[Attribute], missing: Sequence[str]) -> None:
    """Raise an error that names the first line that does not fit the header."""
    declared = [frozenset(attribute.values) for attribute in attributes]
    for number, line in enumerate(body.split("\n"), start=first_line):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        cells = list(split_cells(line, number))
        if len(cells) != len(attributes):
            raise ArffError(f"line {number} has {len(cells)} cell(s), expected {len(attributes)} as in the header")
        for cell, attribute, values in zip(cells, attributes, declared, strict=True):
            if (cell.quoted or cell.text not in missing) and not _fits(cell.text, attribute, values):
                raise ArffError(
                    f"line {number}: {cell.text!r} is not a value of attribute {attribute.name!r} ({attribute.kind})"
                )


def _fits(text: str, attribute: Attribute, values: Collection[str]) -> bool:
    try:
        if attribute.kind in NUMBERS:
            float(text)
        elif attribute.kind == "date":
            datetime.strptime(text, attribute.date_format)
    except ValueError:
        return False
    return attribute.kind != "nominal" or text in values


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
    if kind == "date":
        pattern = next(split_cells(declared[len("date") :], number)).text or DEFAULT_DATE
        if pattern not in DATES:
            raise ArffError(f"line {number}: the date pattern {pattern!r} is not one of {', '.join(DATES)}")
        return Attribute(name, "date", date_format=DATES[pattern])
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
