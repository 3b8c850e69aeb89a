"""The header of a table: the row with the names of its columns, below titles and blank lines, and the delimiter."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TextIO

from tanager.errors import FileError

LONGEST_HEADER = 1 << 26
"""Characters: a compressed file may have a line of any length."""
MAX_LINES = 30
MAX_CHARACTERS = 1 << 22
"""The header is looked for in so many lines, and in no line that begins after so many characters."""
FEWEST_ROWS = 2
"""Rows of the same width that must follow a header that is not the first row."""
QUOTED = re.compile(r'"[^"]*"')
NUMBER = re.compile(r"[\s\d.,'%€$£+-]*\d[\s\d.,'%€$£+-]*\Z")


@dataclass(frozen=True)
class Header:
    """The names of the columns, the sign that separates them, the number of lines above, and its characters."""

    names: list[str]
    delimiter: str
    n_above: int = 0
    n_characters: int = 0


def find_header(
    rows: Sequence[Sequence[str]], expected: Collection[str] = (), groups: Collection[int] = ()
) -> int | None:
    """The place of the header among the first rows of a table; None if no row has a cell.

    It is the row with all the names that are expected. If there is none, it is the first row that has cells, unless
    these are fewer than half of those of the widest row: then it is the next row with more than half as many that are
    all different and no numbers, and with rows of the same width below. `groups` are rows with cells that span
    several columns: names of groups of columns, or titles.
    """
    if expected:
        wanted = set(expected)
        for place, row in enumerate(rows):
            if wanted.issubset(row):
                return place
    counts = [0 if place in groups else sum(map(bool, map(str.strip, row))) for place, row in enumerate(rows)]
    first = next((place for place, row in enumerate(rows) if any(map(str.strip, row))), None)
    if first is None or 2 * counts[first] >= max(counts) > 0:
        return first
    for place in range(first + 1, len(rows)):
        below = [row for row in rows[place + 1 :] if row]
        of_same_width = len(below) >= FEWEST_ROWS and all(len(row) == len(rows[place]) for row in below)
        if 2 * counts[place] > max(counts) and of_same_width and _are_names(rows[place]):
            return place
    return first


def _are_names(row: Sequence[str]) -> bool:
    cells = [cell.strip() for cell in row if cell.strip()]
    return len(set(cells)) == len(cells) and not any(map(NUMBER.match, cells))


def read_header(
    text: TextIO, where: str, delimiter: str | None, expected: Collection[str] = (), header_row: int | None = None
) -> Header:
    """The header of a delimited text; `header_row` is the line that is known to be it, counted from 1."""
    n_above = 0 if header_row is None else header_row - 1
    for _ in range(n_above):
        text.readline(LONGEST_HEADER)
    lines = _first_lines(text)
    first = next((place for place, line in enumerate(lines) if line.strip("\r\n")), None)
    if first is None:
        return Header([], delimiter or ",")
    if len(lines[first]) == LONGEST_HEADER:
        raise _too_long(where)
    sign = _delimiter(lines[first], "".join(lines[first + 1 : first + 2]), delimiter)
    place = first
    if header_row is None:
        place, sign = _find_line(lines, first, sign, () if delimiter == "\t" else (",", ";", "\t"), expected)
    # More lines follow only where a quoted name goes on in the next one.
    rest = chain(lines[place:], iter(partial(text.readline, LONGEST_HEADER), ""))
    try:
        with cells_up_to(LONGEST_HEADER):
            names = next(csv.reader(rest, delimiter=sign))
    except csv.Error:
        raise _too_long(where) from None
    return Header(names, sign, n_above + place, sum(map(len, lines[: place + 1])))


def _first_lines(text: TextIO) -> list[str]:
    """Lines in which the header may be; always those up to the second that is not blank."""
    lines: list[str] = []
    n_characters = n_filled = 0
    while (n_characters < MAX_CHARACTERS and len(lines) < MAX_LINES) or n_filled < 2:
        line = text.readline(LONGEST_HEADER)
        if not line or len(line) == LONGEST_HEADER:
            return [*lines, line] if line else lines
        lines.append(line)
        n_characters += len(line)
        n_filled += bool(line.strip("\r\n"))
    return lines


def _find_line(
    lines: list[str], first: int, sign: str, others: Sequence[str], expected: Collection[str]
) -> tuple[int, str]:
    """The line of the header, and the sign with which it has the most cells.

    Other signs than that of the first line are tried where the next line has another number of cells, and for a header
    below it.
    """
    best = first, sign
    width = 0
    for each in dict.fromkeys([sign, *others]):
        rows: dict[int, list[str]] = {}
        begin = 0
        try:
            reader = csv.reader(lines, delimiter=each)
            for row in reader:
                rows[begin] = row
                begin = reader.line_num
        except csv.Error:
            continue
        places, cells = list(rows), list(rows.values())
        found = find_header(cells, expected)
        if found is not None and len(cells[found]) > width and (each == sign or places[found] > first):
            best, width = (places[found], each), len(cells[found])
        top = rows.get(first, [])
        second = next((row for place, row in rows.items() if place > first and row), None)
        if each == sign and len(top) > 1 and any(top) and second and len(second) == len(top):
            break
    return best


def _delimiter(header: str, row: str, expected: str | None) -> str:
    """The expected one, or tab or comma by the header; where it has neither, a semicolon that the first row has too.

    Spreadsheets write semicolons or tabs into .csv files, while one alone in the header may be part of a name.
    """
    if expected == "\t":
        return expected
    header, row = QUOTED.sub("", header), QUOTED.sub("", row)
    if expected is not None and (expected in header or '"' in header):  # a name that is quoted over several lines
        return expected
    sure = [sign for sign in ("\t", ",") if sign in header and expected is None]
    likely = [sign for sign in ("\t", ";") if sign in header and header.count(sign) == row.count(sign)]
    return [*sure, *likely, expected or ","][0]


@contextmanager
def cells_up_to(n_characters: int) -> Iterator[None]:
    """Lift the limit of the csv module for a while."""
    limit = csv.field_size_limit(n_characters)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _too_long(where: str) -> FileError:
    return FileError(
        f"{where} has a header of more than {LONGEST_HEADER:,} characters.",
        hint="expected a header line with the column names, then the rows.",
    )
