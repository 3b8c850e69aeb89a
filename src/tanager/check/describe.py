"""What a column is, and why: its kind, its distinct cells, its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding
from tanager.table.schema import format_values

KINDS = {"date": "dates", "datetime": "times", "duration": "durations", "number": "numbers"}
LONGEST_EXAMPLE = 24


@dataclass(frozen=True)
class ColumnSummary:
    """What a column is taken for, and why.

    kind       "numbers", "dates", "times", "durations", "categories", "class" or "nothing"
    why        what its cells are, in words
    n_distinct different cells
    gap_share  share of the rows that hold nothing
    severity   of the worst finding about it, or ""
    """

    name: str
    kind: str
    why: str
    n_distinct: int
    gap_share: float
    severity: str

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "why": self.why,
            "distinct": self.n_distinct,
            "missing": self.gap_share,
        }


def describe_column(column: ColumnFacts, is_class: bool, findings: Sequence[Finding]) -> ColumnSummary:
    """The summary of a column; `findings` are those of the table, the worst first."""
    kind = "class" if is_class else _kind(column)
    severity = next((finding.severity for finding in findings if finding.column == column.name), "")
    return ColumnSummary(column.name, kind, _why(column), len(column.values), column.gap_share, severity)


def _kind(column: ColumnFacts) -> str:
    if not len(column.values):
        return "nothing"
    return KINDS.get(column.unit, "categories")


def _why(column: ColumnFacts) -> str:
    if not len(column.values):
        return "no cell holds anything"
    if column.unit:
        values = np.asarray(column.values)
        ends = format_values([values[0].item(), values[-1].item()], column.unit)  # type: ignore[arg-type]
        whole = "whole numbers" if values.dtype.kind in "iu" and column.unit == "number" else KINDS[column.unit]
        return f"{whole} from {ends[0]} to {ends[1]}" if len(values) > 1 else f"{whole}, all the same"
    kind = "text" if column.is_text else "true or false"
    if len(column.values) == column.n_filled > 1:
        return f"{kind}, all different"
    usual = str(column.values[int(column.counts.argmax())])
    short = usual if len(usual) <= LONGEST_EXAMPLE else usual[: LONGEST_EXAMPLE - 1] + "…"
    return f"{kind}, mostly {short!r}" if len(column.values) > 1 else f"{kind}, always {short!r}"
