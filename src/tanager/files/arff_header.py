"""The header of an ARFF file, and how its cells are written (Weka's format)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# No repetition gives back what it took, so that the time to read a line is in proportion to its length.
QUOTED = r"""'(?P<single>(?:[^'\\]|\\.)*+)'|"(?P<double>(?:[^"\\]|\\.)*+)\""""
ATTRIBUTE = re.compile(rf"@attribute\s++(?:{QUOTED}|(?P<bare>[^\s'\"{{][^\s{{]*+))\s*+(?P<type>\S.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*+(?:{QUOTED}|(?P<bare>(?:[^,\t'\"\s][^,\t]*+)?+))[ \r]*+(?P<end>\t *+,|,|\t|$)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
DATE_PARTS = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"
Kind = Literal["numeric", "integer", "string", "nominal", "date"]
KINDS: dict[str, Kind] = {"numeric": "numeric", "real": "numeric", "integer": "integer", "string": "string"}


class ArffError(Exception):
    """What is wrong and on which line; the reader completes it with the name of the file."""


@dataclass(frozen=True)
class Attribute:
    """A line of the header. `values` are a nominal attribute's, in order; `date_format` is in strptime's notation."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    date_format: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell without its quotes; `quoted` says whether it had them."""

    text: str
    quoted: bool


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
        found = CELL.match(line, position)
        if found is None:
            raise ArffError(f"line {number}: the quotes near {line[position : position + 20]!r} do not match")
        yield _cell(found)
        position, end = found.end(), found["end"]


def _read_attribute(words: str, number: int) -> Attribute:
    found = ATTRIBUTE.fullmatch(words)
    if found is None:
        raise ArffError(f"line {number} is not '@attribute name type'")
    name, declared = _cell(found).text, found["type"]
    kind = declared.split()[0].lower()
    if declared.startswith("{"):
        return Attribute(name, "nominal", values=_read_values(name, declared, number))
    if kind == "date":
        pattern = next(split_cells(declared[len("date") :], number)).text or DEFAULT_DATE
        return Attribute(name, "date", date_format=_date_format(pattern, number))
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


def _date_format(pattern: str, number: int) -> str:
    """A Java date pattern ("yyyy-MM-dd'T'HH:mm") in the notation of strptime."""
    result = ""
    for part in re.findall(r"'[^']*'|(?:y+|M+|d+|H+|m+|s+)|.", pattern):
        if part.startswith("'"):
            result += part[1:-1].replace("%", "%%") or "'"
        elif part in DATE_PARTS:
            if DATE_PARTS[part] in result:
                raise ArffError(f"line {number}: {part!r} stands twice in the date pattern {pattern!r}")
            result += DATE_PARTS[part]
        elif part.isalpha():
            raise ArffError(
                f"line {number}: {part!r} in the date pattern {pattern!r} is not supported; "
                f"expected {', '.join(DATE_PARTS)}"
            )
        else:
            result += part.replace("%", "%%")
    return result


def _cell(found: re.Match[str]) -> Cell:
    if found["bare"] is not None:
        return Cell(found["bare"].rstrip(" \r"), quoted=False)
    text = found["single"] if found["single"] is not None else found["double"]
    return Cell(re.sub(r"\\(.)", lambda escape: ESCAPES.get(escape[1], escape[1]), text), quoted=True)
