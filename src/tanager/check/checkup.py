"""What data checks look at (`ColumnFacts`, `TableFacts`), an issue (`Finding`), and all of a table (`Checkup`)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import compress
from textwrap import wrap
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.check.preprocessing import Drop, Recipe, Step
from tanager.html_table import html_table
from tanager.table.columns import Column, DictionaryColumn, missing_cells, occurring
from tanager.table.schema import Category, Unit, format_values

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
WIDTH = 80
NAME_WIDTH = 22
MAX_COLUMNS_PRINTED = 100
MARGIN = 8


@dataclass(frozen=True)
class Finding:
    """One issue found in a table.

    severity  "high": the model will be wrong or worthless; "medium": look at it; "low": good to know
    column    the name of the column, or None for an issue of rows
    what      the issue, in words that follow the column's name, or a sentence where there is none
    option    what fixes it, or a question to answer; "" where there is nothing to do
    row       a row that shows it, counted from 0, or None
    example   the cell of the column in that row
    share     the share of the rows that have the issue
    steps     the preprocessing that fixes it
    topic     "leak": the column may hold what is known only after the class is; "code": a number that may mean
              missing; "quantity": a class of many numbers
    offered   preprocessing that a person may choose where there are no `steps`
    """

    severity: Severity
    column: str | None
    what: str
    option: str = ""
    row: int | None = None
    example: str = ""
    share: float = 1.0
    steps: tuple[Step, ...] = ()
    topic: Literal["", "leak", "code", "quantity"] = ""
    offered: tuple[Step, ...] = ()

    def __str__(self) -> str:
        return self.what if self.column is None else f"column {self.column!r} {self.what}"

    @property
    def line(self) -> str:
        """The issue and its fix as one line."""
        end = "" if self.what.endswith("?") else "."
        return f"{self}{end}{f' Hint: {self.option}.' if self.option else ''}"

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {name: value for name, value in asdict(self).items() if name not in ("steps", "topic", "offered")}


@dataclass(frozen=True)
class ColumnFacts:
    """A column by its distinct cells.

    codes   (n_rows,) which of the distinct cells each row holds, -1 for none
    values  the distinct cells: ascending numbers, or texts and booleans
    unit    what the numbers are, or "" if there are none
    """

    name: str
    codes: NDArray[np.integer]
    values: tuple[Category, ...] | NDArray[np.generic]
    unit: Unit | Literal[""]

    @classmethod
    def of(cls, column: Column) -> ColumnFacts:
        if isinstance(column, DictionaryColumn):
            seen = occurring(column.indices, 0, len(column.dictionary))
            moved = np.append(np.where(seen, np.cumsum(seen) - 1, -1), -1).astype(np.int32)  # index -1 takes the last
            return cls(column.name, moved[column.indices], tuple(compress(column.dictionary, seen)), "")
        observed = ~missing_cells(column)
        values, places = np.unique(column.values[observed], return_inverse=True)
        codes = np.full(len(observed), -1, dtype=np.int32)
        codes[observed] = places
        return cls(column.name, codes, values, column.unit)

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @property
    def n_observed(self) -> int:
        return int(self.counts.sum())

    @property
    def missing_share(self) -> float:
        return 1 - self.n_observed / max(self.n_rows, 1)

    @property
    def distinct_share(self) -> float:
        """Distinct cells for each row whose cell is not missing."""
        return len(self.values) / max(self.n_observed, 1)

    @property
    def is_whole(self) -> bool:
        return self.unit == "number" and np.asarray(self.values).dtype.kind in "iu"

    @cached_property
    def texts(self) -> list[str]:
        """The distinct cells of a column of text; of another column none."""
        is_text = self.unit == "" and any(isinstance(value, str) for value in self.values)
        return [str(value) for value in self.values] if is_text else []

    def row_of(self, value: int) -> int:
        return int((self.codes == value).argmax())

    @property
    def first_missing(self) -> int:
        return int((self.codes < 0).argmax())

    def show(self, row: int) -> str:
        code = int(self.codes[row])
        if code < 0:
            return "nothing"
        value = self.values[code]
        return repr(value) if isinstance(value, str) else format_values([float(value)], self.unit or "number")[0]  # type: ignore[arg-type]

    def finding(
        self,
        severity: Severity,
        what: str,
        option: str = "",
        row: int = 0,
        share: float = 1.0,
        steps: tuple[Step, ...] = (),
    ) -> Finding:
        """An issue of this column, with the cell of `row` as its example."""
        return Finding(severity, self.name, what, option, row, self.show(row), float(share), steps)

    def finding_to_drop(self, severity: Severity, what: str) -> Finding:
        """An issue of this column that leaving it out fixes."""
        row = int((self.codes >= 0).argmax())
        return self.finding(severity, what, drop_option(self.name), row, steps=(Drop(self.name),))


@dataclass(frozen=True)
class TableFacts:
    """The attributes of a table, and the class, if there is one.

    leading_zeros  columns of digits, some of which begin with a zero in the file
    """

    attributes: tuple[ColumnFacts, ...]
    target: ColumnFacts | None
    n_rows: int
    leading_zeros: Sequence[str] = ()

    @property
    def columns(self) -> tuple[ColumnFacts, ...]:
        return self.attributes if self.target is None else (*self.attributes, self.target)


def drop_option(name: str) -> str:
    """The option that leaves a column out, in words."""
    return f"--drop {shlex.quote(name)} leaves it out"


def percent(share: float) -> str:
    """A share in words that are never 0 % or 100 % unless it is."""
    for digits in (0, 1):
        text = f"{100 * share:.{digits}f}"
        if float(text) not in (0.0, 100.0):
            return f"{text} %"
    return f"{100 * share:.0f} %" if share in (0.0, 1.0) else ("< 0.1 %" if share < 0.5 else "> 99.9 %")


@dataclass(frozen=True)
class ColumnSummary:
    """What a column is taken for, and why.

    kind      "numbers", "dates", "times", "durations", "categories", "class" or "nothing"
    why       its cells, in words
    distinct  how many different cells it has
    missing   share of the rows whose cell is missing
    """

    name: str
    kind: str
    why: str
    distinct: int
    missing: float

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Name, kind, distinct cells, missing values and contents, in words."""
        missing = percent(self.missing) if self.missing else "-"
        return self.name, self.kind, f"{self.distinct:,}", missing, self.why


@dataclass(frozen=True, repr=False)
class Checkup:
    """The issues found in a table, the most severe first, and what each of its columns is.

    n_rows    of the table
    target    the name of the class, or None
    classes   the classes and their shares of the rows, in words
    columns   what each column is, in the table's order, the class last
    findings  the issues found
    sheet, header_row  where the table is in its file, if that is known; rows are counted as a spreadsheet counts them
    """

    n_rows: int
    target: str | None
    classes: str
    columns: tuple[ColumnSummary, ...]
    findings: tuple[Finding, ...]
    sheet: str | None = None
    header_row: int | None = None

    @property
    def recipe(self) -> Recipe:
        """The preprocessing that fixes the issues that need no decision of yours."""
        steps = dict.fromkeys(step for finding in self.findings for step in finding.steps)
        dropped = {step.column for step in steps if step.name == "drop"}
        return Recipe(
            tuple(step for step in steps if step.name == "drop" or step.column not in dropped), (), self.target
        )

    def of_severity(self, severity: Severity) -> tuple[Finding, ...]:
        """The issues of a severity."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "rows": self.n_rows,
            "sheet": self.sheet,
            "header_row": self.header_row,
            "class": self.target,
            "findings": [finding.to_dict() for finding in self.findings],
            "columns": [asdict(column) for column in self.columns],
            "recipe": self.recipe.to_dict(),
        }

    def __str__(self) -> str:
        issues = [line for finding in self.findings for line in _finding_lines(finding, self.example(finding))]
        return "\n".join([*wrap(self._title, WIDTH), "", *issues, *[""][: len(issues)], *_column_lines(self.columns)])

    __repr__ = __str__

    @property
    def _title(self) -> str:
        counts = [f"{len(self.of_severity(severity))} {severity}" for severity in SEVERITIES]
        issues = f"issues found: {', '.join(counts)}" if self.findings else "no issue found"
        of_class = f"; class {self.target!r}: {self.classes}" if self.target is not None else ""
        place = f"{self.place[2:]}: " if self.place else ""
        return f"{place}{self.n_rows:,} rows, {len(self.columns):,} columns{of_class}; {issues}"

    @property
    def place(self) -> str:
        """Where the table is in its file, in words that follow the file's name; "" at its beginning."""
        sheet = "" if self.sheet is None else f", sheet {self.sheet!r}"
        return f"{sheet}, header in row {self.header_row}" if sheet or (self.header_row or 1) > 1 else ""

    def example(self, finding: Finding) -> str:
        """The row that shows an issue, in words; "" if there is none."""
        if finding.row is None:
            return ""
        place = f"row {finding.row}"
        if self.header_row is not None:  # rows of a file are counted as a spreadsheet counts them, others from 0
            place = f"{'line' if self.sheet is None else 'Excel row'} {self.header_row + finding.row + 1:,}"
        return f"{place}: {finding.example}".removesuffix(": ")

    def _repr_html_(self) -> str:
        issues = [(each.severity, str(each), self.example(each), each.option) for each in self.findings]
        columns = [column.cells for column in self.columns]
        return html_table(self._title, ["", "issue", "example", "what to do"], issues) + html_table(
            "columns", ["column", "is", "distinct", "missing", "why"], columns
        )


def _finding_lines(finding: Finding, example: str) -> list[str]:
    """The issue, the row that shows it, and what fixes it, within the width of a page."""
    body = wrap(f"{finding}{f' ({example})' if example else ''}", WIDTH - MARGIN)
    fix = wrap(f"-> {finding.option}", WIDTH - MARGIN, subsequent_indent="   ") if finding.option else []
    return [f"{finding.severity if k == 0 else '':<{MARGIN}}{line}" for k, line in enumerate([*body, *fix])]


def _column_lines(columns: Sequence[ColumnSummary]) -> list[str]:
    lines = [f"{'column':<{NAME_WIDTH}} {'is':<10} {'distinct':>8} {'missing':>8}  why"]
    for column in columns[:MAX_COLUMNS_PRINTED]:
        name, kind, distinct, missing, why = column.cells
        line = f"{shorten(name):<{NAME_WIDTH}} {kind:<10} {distinct:>8} {missing:>8}  {why}"
        lines.append(shorten(line, WIDTH))
    rest = len(columns) - MAX_COLUMNS_PRINTED
    return [*lines, f"... and {rest:,} more columns"] if rest > 0 else lines


def shorten(text: str, width: int = NAME_WIDTH) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
