"""Rows that are there more than once: rows held out of training are then no longer new."""

from __future__ import annotations

import numpy as np

from tanager.check.finding import Finding, percent
from tanager.check.table_facts import TableFacts

MANY_DISTINCT = 0.5
"""A table with a column of so many distinct numbers for each row seldom has the same row twice by chance."""
WORTH_A_LOOK = 0.01


def find_repeated_rows(table: TableFacts) -> list[Finding]:
    """Rows equal in every column and the class to an earlier one."""
    groups = np.zeros(table.n_rows, dtype=np.int64)
    n_groups = 1
    # Columns with many distinct cells tell rows apart soonest.
    for column in sorted(table.columns, key=lambda each: -len(each.values)):
        size = len(column.values) + 1
        groups = np.unique(groups * size + column.codes + 1, return_inverse=True)[1]
        n_groups = int(groups.max(initial=-1)) + 1
        if n_groups == table.n_rows:
            return []
    n_repeated = table.n_rows - n_groups
    if n_repeated == 0:
        return []
    seen = np.zeros(table.n_rows, dtype=bool)
    first = np.unique(groups, return_index=True)[1]
    seen[first] = True
    row = int((~seen).argmax())
    share = n_repeated / table.n_rows
    improbable = any(column.unit and column.distinct_share > MANY_DISTINCT for column in table.attributes)
    return [
        Finding(
            "medium" if improbable and share >= WORTH_A_LOOK else "low",
            None,
            f"{n_repeated:,} of {table.n_rows:,} rows ({percent(share)}) repeat an earlier row",
            "if they are copies, leave them out: held-out rows must be new",
            row,
            f"as row {int(first[groups[row]]):,}",
            share,
        )
    ]
