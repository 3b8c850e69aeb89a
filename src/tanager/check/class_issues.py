"""Issues of the class and of columns against it: rare classes, columns that reveal it, missing values by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d
from scipy.stats import chi2_contingency

from tanager.check.checkup import ColumnFacts, Finding, Severity, TableFacts, drop_option, percent
from tanager.check.preprocessing import Drop
from tanager.registry import list_names

FEWEST_OF_A_CLASS = 10
SIMILAR = 0.8
"""Of two names, from which on one may be a typo of the other (difflib)."""
ANOTHER = "name another column with --class"

# A class that is a quantity
MANY_NUMBERS = 20
FEWEST_ROWS_PER_NUMBER = 50
MANY_TEXTS = 0.5

# Columns that reveal the class
FEWEST_ERRORS = 20
"""Where guessing the most common class makes fewer errors, a column without errors proves nothing."""
HIGH, MEDIUM = 0.02, 0.05
"""Errors by one column, as a share of those made by guessing; one is always allowed."""
FEWEST_OF_A_VALUE = 3
"""A number that fewer rows hold is judged with its neighbours."""
MAX_ROWS = 200_000
KNOWN = ". Is its value known when you predict?"
MAX_CELLS = 20_000_000
"""Of a table of cells and classes; a column that needs more is not judged."""

# Missing values
HARDLY_ANYTHING = 0.9
DIFFERENCE = 0.25
"""Between the shares of two classes that are missing; from here on it is an issue."""
P_VALUE = 1e-4
IF_LATER = "if it is filled in only after the class is known, "
ONLY_ONE = 0.95
"""A column that is missing in this share of one class and in 1 minus this share of another reveals the class."""


def find_class_issues(table: TableFacts) -> list[Finding]:
    target = table.target
    if target is None:
        return []
    if not len(target.values):
        return [Finding("high", target.name, "is the class, and empty", ANOTHER)]
    findings: list[Finding | None] = []
    n_missing = target.n_rows - target.n_observed
    if n_missing:
        what = f"is the class, and missing in {n_missing:,} of {target.n_rows:,} rows, which are left out"
        findings.append(target.finding("medium", what, "", target.first_missing, target.missing_share))
    if len(target.values) == 1:
        what = f"is the class, and {target.show(target.row_of(0))} in every row"
        findings.append(Finding("high", target.name, what, ANOTHER, target.row_of(0)))
    findings.append(_quantity(target) or _rare(target))
    return [finding for finding in findings if finding is not None]


def _quantity(target: ColumnFacts) -> Finding | None:
    """Fractions, dates, or many different numbers; texts that are nearly all different."""
    values = np.asarray(target.values)
    n_distinct, row = len(values), target.row_of(0)
    if target.unit:
        fractions = values.dtype.kind == "f" and bool((values != np.floor(values)).any())
        many = n_distinct >= MANY_NUMBERS and target.n_observed < FEWEST_ROWS_PER_NUMBER * n_distinct
        if fractions or many:
            what = f"is the class, and holds {n_distinct:,} different numbers: is it a quantity?"
            issue = target.finding("high", what, "group its values: Tanager predicts classes", row)
            return replace(issue, topic="quantity")
    elif n_distinct >= MANY_NUMBERS and target.distinct_share > MANY_TEXTS:
        what = f"is the class, and holds {n_distinct:,} different texts in {target.n_observed:,} rows"
        return target.finding("high", what, ANOTHER, row)
    return None


def _rare(target: ColumnFacts) -> Finding | None:
    rare = np.flatnonzero(target.counts < FEWEST_OF_A_CLASS)
    if len(rare) == 0 or len(target.values) < 2:
        return None
    rows = [target.row_of(int(position)) for position in rare]
    names = list_names([target.show(row).strip("'") for row in rows], 3)
    many = f"{len(rare)} classes" if len(rare) > 1 else "a class"
    what = f"is the class, and has {many} with fewer than {FEWEST_OF_A_CLASS} rows: {names}"
    common = [str(target.values[k]) for k in np.flatnonzero(target.counts >= FEWEST_OF_A_CLASS)]
    for text in (str(target.values[position]) for position in rare):
        if close := get_close_matches(text, common, n=1, cutoff=SIMILAR):
            what += f"; is {text!r} a typo of {close[0]!r}?"
            break
    share = target.counts[rare].sum() / target.n_rows
    return target.finding("high", what, "correct or merge rare classes, or leave their rows out", rows[0], share)


def describe_classes(target: ColumnFacts, most: int = 4) -> str:
    """The classes by their number of rows, the largest first."""
    order = np.argsort(-target.counts, kind="stable")
    words = [
        f"{target.show(target.row_of(int(k))).strip(chr(39))} {percent(target.counts[k] / max(target.n_observed, 1))}"
        for k in order[:most]
    ]
    more = f" and {len(order) - most} more" if len(order) > most else ""
    return ", ".join(words) + more


def find_leaks(table: TableFacts) -> list[Finding]:
    """Columns that predict the class of a row from the other rows with the same cell, with hardly an error."""
    target = table.target
    if target is None or len(target.values) < 2:
        return []
    # Rows of a rare class, which may be a typo, are left out.
    is_common = np.append(target.counts >= FEWEST_OF_A_CLASS, False)  # code -1 takes the last entry
    rows = np.flatnonzero(is_common[target.codes])
    if not len(rows):
        return []
    rows = rows[:: -(-len(rows) // MAX_ROWS)]
    classes = target.codes[rows].astype(np.int64)
    by_guessing = len(rows) - int(np.bincount(classes).max())
    if by_guessing < FEWEST_ERRORS:
        return []
    findings = []
    for column in table.attributes:
        n_codes = len(column.values) + 1  # the last is that of missing cells
        if n_codes * len(target.values) > MAX_CELLS:
            continue
        cells = np.where(column.codes < 0, n_codes - 1, column.codes)[rows]
        n_errors = errors_of(cells, classes, n_codes, len(target.values), ordered=bool(column.unit))
        if n_errors <= max(1, MEDIUM * by_guessing):
            share = 1 - n_errors / len(rows)
            what = f"alone predicts {target.name!r} in {percent(share)} of the rows{KNOWN}"
            severity: Severity = "high" if n_errors <= max(1, HIGH * by_guessing) else "medium"
            row = int((column.codes >= 0).argmax())
            found = column.finding(severity, what, f"if not, {drop_option(column.name)}", row, share)
            findings.append(replace(found, topic="leak", offered=(Drop(column.name),)))
    return findings


def errors_of(
    codes: NDArray[np.integer], classes: NDArray[np.integer], n_codes: int, n_classes: int, ordered: bool
) -> float:
    """Rows whose class is not the most common one among the other rows with the same code; half of those in a tie.

    Every row is judged without itself, so a code of a single row predicts the most common class of all rows. Of ordered
    codes one that few rows have is judged together with its two neighbours.
    """
    table = np.bincount(codes * n_classes + classes, minlength=n_codes * n_classes).reshape(n_codes, n_classes)
    judged = table
    if ordered:
        values = table[:-1]  # the last code is that of missing values
        around = convolve1d(values, [1, 1, 1], axis=0, mode="constant")
        few = values.sum(axis=1) < FEWEST_OF_A_VALUE
        judged = np.vstack([np.where(few[:, np.newaxis], around, values), table[-1:]])
    best = judged.argmax(axis=1)
    ranked = np.sort(judged, axis=1)
    is_best = np.arange(n_classes) == best[:, np.newaxis]
    rival = np.where(is_best, ranked[:, -2:-1], ranked[:, -1:])
    wrong = np.where(judged - 1 > rival, 0.0, np.where(judged - 1 == rival, 0.5, 1.0))
    wrong[judged.sum(axis=1) == 1] = np.arange(n_classes) != np.bincount(classes).argmax()
    return float((table * wrong).sum())


def find_missing_values(table: TableFacts, leaks: Sequence[Finding] = ()) -> list[Finding]:
    """Columns whose share of missing values differs between classes, and nearly empty columns."""
    known = {finding.column for finding in leaks}
    findings = []
    for column in table.attributes:
        if not 0 < column.missing_share < 1 or column.name in known:
            continue
        found = _missing_by_class(column, table.target)
        if found is None and column.missing_share >= HARDLY_ANYTHING:
            what, option = f"is missing in {percent(column.missing_share)} of rows", drop_option(column.name)
            found = column.finding("medium", what, option, column.first_missing, column.missing_share)
        findings += [] if found is None else [found]
    return findings


def _missing_by_class(column: ColumnFacts, target: ColumnFacts | None) -> Finding | None:
    """The classes with the largest and the smallest share of missing values; None if they hardly differ.

    A column that is missing in one class and in no other reveals that class, and so does one that no other class has.
    """
    if target is None:
        return None
    labelled = target.codes >= 0
    classes = target.codes[labelled]
    n_rows = np.bincount(classes, minlength=len(target.values))
    n_missing = np.bincount(classes[column.codes[labelled] < 0], minlength=len(n_rows))
    counted = n_rows >= FEWEST_OF_A_CLASS
    if counted.sum() < 2 or not 0 < n_missing[counted].sum() < n_rows[counted].sum():
        return None
    shares = n_missing / np.maximum(n_rows, 1)
    most, least = int(np.where(counted, shares, -1).argmax()), int(np.where(counted, shares, 2).argmin())
    counts = np.stack([n_missing, n_rows - n_missing])[:, counted]
    if shares[most] - shares[least] < DIFFERENCE or chi2_contingency(counts, correction=False).pvalue > P_VALUE:
        return None
    words = (f"{percent(float(shares[k]))} of {target.show(target.row_of(k))}" for k in (most, least))
    what, option = f"is missing in {' and in '.join(words)}", IF_LATER + drop_option(column.name)
    middle = np.sort(shares[counted])[1:-1]
    reveals = shares[most] >= ONLY_ONE and shares[least] <= 1 - ONLY_ONE
    reveals &= bool((middle <= 1 - ONLY_ONE).all() or (middle >= ONLY_ONE).all())
    found = column.finding("high" if reveals else "medium", what, option, column.first_missing, column.missing_share)
    return replace(found, topic="leak", offered=(Drop(column.name),)) if reveals else found
