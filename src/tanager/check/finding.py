"""Finding: one thing that may be wrong with a table, and the option that mends it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from tanager.recipe.steps import Step

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


@dataclass(frozen=True)
class Finding:
    """One thing that may be wrong with a table.

    severity  "high": the model will be wrong or worthless; "medium": look at it; "low": good to know
    column    the name of the column, or None for something about rows
    what      what was found, in words that follow the column's name
    option    what mends it, or what to ask; "" where there is nothing to do
    row       a row that shows it, counted from 0, or None
    example   what that row holds there
    share     the share of the rows that it is about
    steps     what a recipe does about it
    """

    severity: Severity
    column: str | None
    what: str
    option: str = ""
    row: int | None = None
    example: str = ""
    share: float = 1.0
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        subject = "" if self.column is None else f"column {self.column!r} "
        return f"{subject}{self.what}"

    @property
    def line(self) -> str:
        """The finding and its remedy as one line."""
        end = "" if self.what.endswith("?") else "."
        return f"{self}{end}{f' Hint: {self.option}.' if self.option else ''}"

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "severity": self.severity,
            "column": self.column,
            "what": self.what,
            "option": self.option,
            "row": self.row,
            "example": self.example,
            "share": self.share,
        }


def drop_option(name: str) -> str:
    """What leaves a column out."""
    return f"--drop {shlex.quote(name)} leaves it out"


def percent(share: float) -> str:
    """A share in words that are never 0 % or 100 % unless it is."""
    for digits in (0, 1):
        text = f"{100 * share:.{digits}f}"
        if float(text) not in (0.0, 100.0):
            return f"{text} %"
    return f"{100 * share:.0f} %" if share in (0.0, 1.0) else ("< 0.1 %" if share < 0.5 else "> 99.9 %")
