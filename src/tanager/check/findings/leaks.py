"""Columns that give the class away: one attribute, or where its gaps are, nearly determines it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, Severity, drop_option, percent
from tanager.check.table_facts import TableFacts

FEWEST_MISTAKES = 20
"""Where guessing the most common class makes fewer mistakes, none is too few to say anything."""
HIGH, MEDIUM = 0.02, 0.05
"""Mistakes by one column, as a share of those made by guessing; one is always allowed."""
FEWEST_OF_A_VALUE = 3
"""A number that fewer rows hold is judged with its neighbours."""
MAX_ROWS = 200_000
BY_GAPS, BY_CELLS = "where it is missing", "alone"
MAX_CELLS = 20_000_000
"""Of a table of cells and classes; of a column that needs more only the gaps are looked at."""


def find_leaks(table: TableFacts) -> list[Finding]:
    """Columns that tell the class of a row from the other rows with the same cell, with hardly a mistake."""
    if table.target is None or len(table.target.values) < 2:
        return []
    rows = np.flatnonzero(table.labelled)
    rows = rows[:: -(-len(rows) // MAX_ROWS)]
    classes = table.target.codes[rows].astype(np.int64)
    n_classes = len(table.target.values)
    by_guessing = len(rows) - int(np.bincount(classes).max())
    if by_guessing < FEWEST_MISTAKES:
        return []
    found = []
    for column in table.attributes:
        how, n_mistakes = _best_of(column, rows, classes, n_classes)
        if n_mistakes <= max(1, MEDIUM * by_guessing):
            found.append(_finding(column, table.target, how, n_mistakes, by_guessing, len(rows)))
    return found


def _best_of(
    column: ColumnFacts, rows: NDArray[np.intp], classes: NDArray[np.int64], n_classes: int
) -> tuple[str, float]:
    """How a column tells the class best, by its gaps or by its cells, and with how many mistakes."""
    codes = column.codes[rows].astype(np.int64)
    n_codes = len(column.values) + 1
    gaps = (codes < 0).astype(np.int64)
    by_gaps = mistakes(gaps, classes, 2, n_classes, ordered=False)
    if n_codes * n_classes > MAX_CELLS:
        return BY_GAPS, by_gaps
    cells = np.where(codes < 0, n_codes - 1, codes)
    by_cells = mistakes(cells, classes, n_codes, n_classes, ordered=bool(column.unit))
    return (BY_GAPS, by_gaps) if by_gaps <= by_cells else (BY_CELLS, by_cells)


def mistakes(
    codes: NDArray[np.integer], classes: NDArray[np.integer], n_codes: int, n_classes: int, ordered: bool
) -> float:
    """Rows whose class is not the most common one among the other rows with the same code; half of those in a tie.

    Every row is judged without itself, so a code that no other row has tells nothing but the most common class of all.
    Of ordered codes one that few rows have is judged together with its two neighbours.
    """
    table = np.bincount(codes * n_classes + classes, minlength=n_codes * n_classes).reshape(n_codes, n_classes)
    judged = table
    if ordered:
        values = table[:-1]  # the last code is that of gaps
        around = values.copy()
        around[1:] += values[:-1]
        around[:-1] += values[1:]
        few = values.sum(axis=1) < FEWEST_OF_A_VALUE
        judged = np.vstack([np.where(few[:, np.newaxis], around, values), table[-1:]])
    best = judged.argmax(axis=1)
    ranked = np.sort(judged, axis=1)
    is_best = np.arange(n_classes) == best[:, np.newaxis]
    rival = np.where(is_best, ranked[:, -2:-1], ranked[:, -1:])
    wrong = np.where(judged - 1 > rival, 0.0, np.where(judged - 1 == rival, 0.5, 1.0))
    alone = judged.sum(axis=1) == 1
    wrong[alone] = np.arange(n_classes) != np.bincount(classes).argmax()
    return float((table * wrong).sum())


def _finding(
    column: ColumnFacts, target: ColumnFacts, how: str, n_mistakes: float, by_guessing: int, n_rows: int
) -> Finding:
    share = 1 - n_mistakes / n_rows
    what = f"{how} tells {target.name!r} in {percent(share)} of rows: is it known before the class is?"
    severity: Severity = "high" if n_mistakes <= max(1, HIGH * by_guessing) else "medium"
    row = int(((column.codes < 0) if how == BY_GAPS else (column.codes >= 0)).argmax())
    option = f"if not, {drop_option(column.name)}"
    return Finding(severity, column.name, what, option, row, column.show(row), share)
