"""Dates that are text, and whether the day or the month comes first."""

from __future__ import annotations

import numpy as np

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding
from tanager.check.table_facts import TableFacts
from tanager.recipe.steps import Date
from tanager.recipe.texts import ORDERS, parse_date

DAY_FIRST, MONTH_FIRST = "day-month-year", "month-day-year"
FEWEST_ROWS = 5
NEARLY_ALL = 0.95
MAX_WORDS = 20
SAMPLE = 100
"""Distinct texts that are looked at first; where none of them is a date, the column holds no dates."""
RECIPE = "tanager check --fix writes a recipe that reads them"


def find_dates(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column of text that holds dates, in one order of day, month and year or in two."""
    texts = column.texts
    sample = texts[:: max(1, len(texts) // SAMPLE)]
    orders = [order for order in ORDERS if any(parse_date(text, order) for text in sample)]
    if not orders or column.n_filled < FEWEST_ROWS:
        return None
    dates = {order: [parse_date(text, order) for text in texts] for order in orders}
    are_dates = {order: np.array([date is not None for date in found]) for order, found in dates.items()}
    shares = {order: column.counts[found].sum() / column.n_filled for order, found in are_dates.items()}
    order = max(orders, key=lambda each: shares[each])  # the day first where both read as well
    if shares[order] < NEARLY_ALL:
        return _mixed(column, are_dates)
    words = [text for text, is_date in zip(texts, are_dates[order], strict=True) if not is_date]
    if len(words) > MAX_WORDS:
        return None
    row = column.row_of(int(_telling(are_dates, order).argmax()))
    other = MONTH_FIRST if order == DAY_FIRST else DAY_FIRST
    sure = order not in (DAY_FIRST, MONTH_FIRST) or shares.get(other, 0.0) < shares[order]
    doubt = "" if sure else "; no cell tells the day from the month, so the day is taken as first"
    time = any(date is not None and (date.hour or date.minute or date.second) for date in dates[order])
    return Finding(
        "high",
        column.name,
        f"holds dates as text ({order}){doubt}",
        RECIPE,
        row,
        column.show(row),
        float(shares[order]),
        (Date(column.name, order, time, tuple(words)),),
    )


def _telling(are_dates: dict[str, np.ndarray], order: str) -> np.ndarray:
    """The texts that are dates in this order and no other, or else those that are dates in it."""
    others = [found for each, found in are_dates.items() if each != order]
    only = are_dates[order] & ~np.logical_or.reduce(others) if others else are_dates[order]
    return only if only.any() else are_dates[order]


def _mixed(column: ColumnFacts, are_dates: dict[str, np.ndarray]) -> Finding | None:
    """Some rows with the day first, others with the month first."""
    if DAY_FIRST not in are_dates or MONTH_FIRST not in are_dates:
        return None
    either = are_dates[DAY_FIRST] | are_dates[MONTH_FIRST]
    if column.counts[either].sum() < NEARLY_ALL * column.n_filled:
        return None
    row = column.row_of(int((are_dates[MONTH_FIRST] & ~are_dates[DAY_FIRST]).argmax()))
    what = "holds dates as text, some with the day first and some with the month first"
    return Finding("high", column.name, what, "write them all as 2024-12-31", row, column.show(row))
