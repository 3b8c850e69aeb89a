"""Missing cells: columns of hardly anything else, and columns whose gaps differ from class to class."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2_contingency

from tanager.doctor.facts import ColumnFacts
from tanager.doctor.finding import Finding, drop_option, percent
from tanager.doctor.table_facts import TableFacts

HARDLY_ANYTHING = 0.9
DIFFERENCE = 0.25
"""Between the shares of two classes that are missing; from here on it is worth a look."""
CHANCE = 1e-4
FEWEST_OF_A_CLASS = 10


def find_gaps(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Gaps that say something of the class, or a column that is nearly all gaps."""
    if column is table.target or not 0 < column.gap_share < 1:
        return None
    row = int((column.codes < 0).argmax())
    differs = _by_class(column, table)
    if differs:
        option = 'missing="category" in Python lets a model see the gap; is it known before the class is?'
        return Finding("medium", column.name, differs, option, row, "nothing", column.gap_share)
    if column.gap_share < HARDLY_ANYTHING:
        return None
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
    table_of_gaps = np.vstack([gaps, rows - gaps])[:, counted]
    if shares[most] - shares[least] < DIFFERENCE or chi2_contingency(table_of_gaps).pvalue > CHANCE:
        return ""
    words = (f"{percent(float(shares[k]))} of {target.show(target.row_of(k))}" for k in (most, least))
    return f"is missing in {' and in '.join(words)}"
