"""Checkup: the issues found in a table, as a value that prints and shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap

from tanager.check.facts import SEVERITIES, Finding, Severity, percent
from tanager.check.preprocessing import Recipe
from tanager.html_table import html_table

WIDTH = 80
NAME_WIDTH = 22
MAX_COLUMNS_PRINTED = 100
MARGIN = 8


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
        lines = [*wrap(self._title, WIDTH), ""]
        for finding in self.findings:
            lines += _finding_lines(finding, self.example(finding))
        return "\n".join([*lines, *([""] if self.findings else []), *_column_lines(self.columns)])

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
        earlier = "" if finding.as_row is None else f"as {self._row_name(finding.as_row)}"
        return f"{self._row_name(finding.row)}: {earlier or finding.example}".removesuffix(": ")

    def _row_name(self, row: int) -> str:
        """Rows of a file are counted as a spreadsheet counts them, others from 0."""
        if self.header_row is None:
            return f"row {row}"
        return f"{'line' if self.sheet is None else 'Excel row'} {self.header_row + row + 1:,}"

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
        line = f"{_shorten(name):<{NAME_WIDTH}} {kind:<10} {distinct:>8} {missing:>8}  {why}"
        lines.append(_shorten(line, WIDTH))
    rest = len(columns) - MAX_COLUMNS_PRINTED
    return [*lines, f"... and {rest:,} more columns"] if rest > 0 else lines


def _shorten(text: str, width: int = NAME_WIDTH) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
