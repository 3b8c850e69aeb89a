"""Missing cells: columns of hardly anything else, and columns whose gaps differ from class to class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, drop_option, percent
from tanager.check.table_facts import TableFacts

HARDLY_ANYTHING = 0.9
DIFFERENCE = 0.25
"""Between the shares of two classes that are missing; from here on it is worth a look."""
CHANCE = 1e-4
FEWEST_OF_A_CLASS = 10
MAX_COLUMNS_NAMED = 5
SEE_GAPS = 'missing="category" in Python lets a model see gaps; are they known before the class is?'


def find_gaps(table: TableFacts) -> list[Finding]:
    """Gaps that say something of the class, of many columns the first; and columns that are nearly all gaps."""
    gappy = [column for column in table.attributes if 0 < column.gap_share < 1]
    differs = [finding for column in gappy if (finding := _differs(column, table)) is not None]
    named = {finding.column for finding in differs}
    empty = [_hardly_anything(column) for column in gappy if column.gap_share >= HARDLY_ANYTHING]
    rest = len(differs) - MAX_COLUMNS_NAMED
    what = f"{rest} more columns have gaps that differ between classes"
    more = [Finding("medium", None, what, SEE_GAPS)] * (rest > 0)
    return [*differs[:MAX_COLUMNS_NAMED], *more, *(finding for finding in empty if finding.column not in named)]


def _differs(column: ColumnFacts, table: TableFacts) -> Finding | None:
    what = _by_class(column, table)
    if not what:
        return None
    row = int((column.codes < 0).argmax())
    return Finding("medium", column.name, what, SEE_GAPS, row, "nothing", column.gap_share)


def _hardly_anything(column: ColumnFacts) -> Finding:
    row = int((column.codes < 0).argmax())
    what = f"is missing in {percent(column.gap_share)} of rows"
    return Finding("medium", column.name, what, drop_option(column.name), row, "nothing", column.gap_share)


def _by_class(column: ColumnFacts, table: TableFacts) -> str:
    """Where the classes differ in how often the column is missing, how; otherwise nothing."""
    target = table.target
    if target is None:
        return ""
    missing = column.codes[table.labelled] < 0
    classes = target.codes[table.labelled]
    rows = np.bincount(classes, minlength=len(target.values))
    gaps = np.bincount(classes[missing], minlength=len(rows))
    counted = rows >= FEWEST_OF_A_CLASS
    if counted.sum() < 2 or not 0 < gaps[counted].sum() < rows[counted].sum():
        return ""
    shares = gaps / np.maximum(rows, 1)
    most, least = (int(pick(np.where(counted, shares, fill))) for pick, fill in ((np.argmax, -1), (np.argmin, 2)))
    if shares[most] - shares[least] < DIFFERENCE or chance(gaps[counted], rows[counted]) > CHANCE:
        return ""
    words = (f"{percent(float(shares[k]))} of {target.show(target.row_of(k))}" for k in (most, least))
    return f"is missing in {' and in '.join(words)}"


def chance(gaps: NDArray[np.integer], rows: NDArray[np.integer]) -> float:
    """P(gaps in these numbers of rows differ so much by chance): Pearson's chi-squared test without a correction."""
    share = gaps.sum() / rows.sum()
    statistic = ((gaps - share * rows) ** 2 / (share * (1 - share) * rows)).sum()
    return float(chdtrc(len(rows) - 1, statistic))
