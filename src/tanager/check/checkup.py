"""Checkup: what the doctor found, as a value that prints, draws and shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from tanager.check.describe import ColumnSummary
from tanager.check.finding import SEVERITIES, Finding, Severity, percent
from tanager.recipe.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 80
NAME_WIDTH = 22
MAX_COLUMNS_PRINTED = 100
MARGIN = 8


@dataclass(frozen=True)
class Checkup:
    """What may be wrong with a table, the worst first, and what each of its columns is.

    n_rows    of the table
    target    the name of the class, or None
    classes   the classes and their shares of the rows, in words
    columns   what each column is, in the table's order, the class last
    findings  what may be wrong
    """

    n_rows: int
    target: str | None
    classes: str
    columns: tuple[ColumnSummary, ...]
    findings: tuple[Finding, ...]

    @property
    def recipe(self) -> Recipe:
        """What mends the findings that can be mended without a decision of yours."""
        dropped = {step.column for finding in self.findings for step in finding.steps if step.name == "drop"}
        steps = [
            step
            for finding in self.findings
            for step in finding.steps
            if step.name == "drop" or step.column not in dropped
        ]
        return Recipe(tuple(dict.fromkeys(steps)), (), self.target)

    def of_severity(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of a severity."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "rows": self.n_rows,
            "class": self.target,
            "findings": [finding.to_dict() for finding in self.findings],
            "columns": [column.to_dict() for column in self.columns],
            "recipe": self.recipe.to_dict(),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of each column that is missing, coloured by the worst finding about it."""
        from tanager.plots.checkup import plot_checkup

        return plot_checkup(self, ax)

    def __str__(self) -> str:
        lines = [*wrap(self._title, WIDTH), ""]
        for finding in self.findings:
            lines += _finding_lines(finding)
        lines += ["", *_column_lines(self.columns)] if self.findings else _column_lines(self.columns)
        return "\n".join(lines)

    @property
    def _title(self) -> str:
        counts = [f"{len(self.of_severity(severity))} {severity}" for severity in SEVERITIES]
        found = f"findings: {', '.join(counts)}" if self.findings else "nothing found"
        of_class = f"; class {self.target!r}: {self.classes}" if self.target is not None else ""
        return f"{self.n_rows:,} rows, {len(self.columns):,} columns{of_class}; {found}"

    def _repr_html_(self) -> str:
        from tanager.check.html import checkup_html

        return checkup_html(self, self._title)


def _finding_lines(finding: Finding) -> list[str]:
    """The finding, the row that shows it, and what mends it, within the width of a page."""
    shown = f" (row {finding.row}: {finding.example})" if finding.row is not None and finding.example else ""
    body = wrap(f"{finding}{shown}", WIDTH - MARGIN)
    remedy = wrap(f"-> {finding.option}", WIDTH - MARGIN, subsequent_indent="   ") if finding.option else []
    return [f"{finding.severity if k == 0 else '':<{MARGIN}}{line}" for k, line in enumerate([*body, *remedy])]


def _column_lines(columns: Sequence[ColumnSummary]) -> list[str]:
    lines = [f"{'column':<{NAME_WIDTH}} {'is':<10} {'distinct':>8} {'missing':>8}  why"]
    for column in columns[:MAX_COLUMNS_PRINTED]:
        name = column.name if len(column.name) <= NAME_WIDTH else column.name[: NAME_WIDTH - 1] + "…"
        gaps = percent(column.gap_share) if column.gap_share else "-"
        line = f"{name:<{NAME_WIDTH}} {column.kind:<10} {column.n_distinct:>8,} {gaps:>8}  {column.why}"
        lines.append(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…")
    rest = len(columns) - MAX_COLUMNS_PRINTED
    return [*lines, f"... and {rest:,} more columns"] if rest > 0 else lines
