"""The class: rare ones, rows without one, and numbers that are a quantity."""

from __future__ import annotations

import numpy as np

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, percent
from tanager.check.table_facts import TableFacts
from tanager.registry import list_names

FEWEST_OF_A_CLASS = 10
MANY_NUMBERS = 20
FEWEST_ROWS_PER_NUMBER = 50
MANY_TEXTS = 0.5


def find_in_class(table: TableFacts) -> list[Finding]:
    """What is odd about the class column."""
    target = table.target
    if target is None:
        return []
    if not len(target.values):
        return [Finding("high", target.name, "is the class, and empty", "name another column with --class")]
    found = [_unlabelled(target), _single(target), _quantity(target) or _rare(target)]
    return [finding for finding in found if finding is not None]


def _unlabelled(target: ColumnFacts) -> Finding | None:
    n_apart = target.n_rows - target.n_filled
    if n_apart == 0:
        return None
    what = f"is the class, and missing in {n_apart:,} of {target.n_rows:,} rows, which are left out"
    row = int((target.codes < 0).argmax())
    return Finding("medium", target.name, what, "", row, "nothing", target.gap_share)


def _single(target: ColumnFacts) -> Finding | None:
    if len(target.values) > 1:
        return None
    what = f"is the class, and {target.show(target.row_of(0))} in every row"
    return Finding("high", target.name, what, "name another column with --class", target.row_of(0))


def _quantity(target: ColumnFacts) -> Finding | None:
    """Fractions, dates, or many different numbers; texts that are nearly all different."""
    values = np.asarray(target.values)
    n_distinct = len(values)
    row = target.row_of(0)
    if target.unit:
        fractions = values.dtype.kind == "f" and bool((values != np.floor(values)).any())
        many = n_distinct >= MANY_NUMBERS and target.n_filled < FEWEST_ROWS_PER_NUMBER * n_distinct
        if fractions or many:
            what = f"is the class, and holds {n_distinct:,} different numbers: is it a quantity?"
            option = "group its values: Tanager tells classes apart"
            return Finding("high", target.name, what, option, row, target.show(row))
    elif n_distinct >= MANY_NUMBERS and target.distinct_share > MANY_TEXTS:
        what = f"is the class, and holds {n_distinct:,} different texts in {target.n_filled:,} rows"
        return Finding("high", target.name, what, "name another column with --class", row, target.show(row))
    return None


def _rare(target: ColumnFacts) -> Finding | None:
    rare = np.flatnonzero(target.counts < FEWEST_OF_A_CLASS)
    if len(rare) == 0 or len(target.values) < 2:
        return None
    rows = [target.row_of(int(position)) for position in rare]
    names = list_names([target.show(row).strip("'") for row in rows], 3)
    n_rows = int(target.counts[rare].sum())
    many = f"{len(rare)} classes" if len(rare) > 1 else "a class"
    what = f"is the class, and has {many} with fewer than {FEWEST_OF_A_CLASS} rows: {names}"
    option = "merge rare classes, or leave their rows out"
    return Finding("medium", target.name, what, option, rows[0], target.show(rows[0]), n_rows / target.n_rows)


def describe_classes(target: ColumnFacts, most: int = 4) -> str:
    """The classes by their number of rows, the largest first."""
    order = np.argsort(-target.counts, kind="stable")
    words = [
        f"{target.show(target.row_of(int(k))).strip(chr(39))} {percent(target.counts[k] / max(target.n_filled, 1))}"
        for k in order[:most]
    ]
    more = f" and {len(order) - most} more" if len(order) > most else ""
    return ", ".join(words) + more
