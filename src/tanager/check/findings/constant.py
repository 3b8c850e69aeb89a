"""Columns that say nothing, or what another column says already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, drop_option
from tanager.check.table_facts import TableFacts
from tanager.recipe.steps import Drop

FEWEST_RARE_ROWS = 10
"""Columns with fewer rows outside their most common cell may be alike by chance."""
MANY = 0.5


def find_constant(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column without any cell, or with the same in every row."""
    if column is table.target or len(column.values) > 1 or (len(column.values) == 1 and column.gap_share > 0):
        return None
    if len(column.values) == 0:
        return Finding("low", column.name, "is empty", drop_option(column.name), steps=(Drop(column.name),))
    what = f"is {column.show(0)} in every row"
    return Finding("low", column.name, what, drop_option(column.name), 0, column.show(0), 1.0, (Drop(column.name),))


def find_repeated_columns(table: TableFacts) -> list[Finding]:
    """Columns that are a renaming of another: a code and its name, or the same twice."""
    first: dict[tuple[str, bytes], ColumnFacts] = {}
    found = []
    for column in table.attributes:
        key = _signature(column)
        if key is None:
            continue
        earlier = first.setdefault(key, column)
        if earlier is not column:
            what = f"says the same as column {earlier.name!r}"
            steps = (Drop(column.name),)
            found.append(Finding("medium", column.name, what, drop_option(column.name), 0, column.show(0), 1.0, steps))
    return found


def _signature(column: ColumnFacts) -> tuple[str, bytes] | None:
    """What two columns have in common where each is a renaming of the other; numbers keep their order.

    Of a column with many distinct cells nearly any other is a renaming, unless the order counts.
    """
    if column.n_rows - int(column.counts.max(initial=0)) < FEWEST_RARE_ROWS or len(column.values) < 2:
        return None
    if column.distinct_share > MANY:
        return ("order", column.codes.astype(np.int64).tobytes()) if column.unit else None
    return "names", _by_appearance(column.codes).tobytes()


def _by_appearance(codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """The codes numbered in the order of the first row that has them; a gap stays one."""
    places = codes.astype(np.int64) + 1
    first = np.full(int(places.max()) + 1, len(places))
    first[places[::-1]] = np.arange(len(places))[::-1]  # of several rows the last one written is the first
    first[0] = -1
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[places]
