"""Issues of one column: text that holds numbers or dates, spellings, identifiers, codes, constants."""

from __future__ import annotations

import datetime
import locale
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency
from scipy.stats.contingency import crosstab

from tanager.check.checkup import ColumnFacts, Finding, Severity, TableFacts, drop_option, percent
from tanager.check.preprocessing import Category, Date, Drop, Merge, Missing, Number
from tanager.check.text_values import MARKS, ORDERS, PERCENT, UNITS, merge_key, parse_date, parse_number
from tanager.registry import list_names
from tanager.table.schema import format_values

RECIPE = "tanager check --fix writes a recipe that reads them"
NEARLY_ALL = 0.95
MANY = 0.5
MAX_WORDS = 20
"""Distinct texts among numbers or dates that may all stand for a missing value."""
HAS_DIGIT = re.compile(r"\d")

# Dates
DAY_FIRST, MONTH_FIRST = "day-month-year", "month-day-year"
MONTH_FIRST_IN = ("en_US", "English_United States")
"""Locales that write the month first; it counts only where the cells do not say."""
FEWEST_DATES = 5
DATE_SAMPLE = 100
"""Distinct texts that are looked at first; where none of them is a date, the column holds no dates."""

# Numbers
STYLES = (("", "."), (",", "."), (".", ","), (" ", ","), (" ", "."), ("'", "."), ("", ","))
"""Separators of thousands and of decimals: none, then the usual ones first."""
SEPARATORS = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
FEWEST_NUMBERS = 10
"""With fewer distinct ones the numbers may be names of groups, as in "2", "3", "4", "5more"."""
MOST = 0.7
MAX_NAMED = 5
LEADING_ZERO = re.compile(r"0\d+\Z")

# Texts and codes for missing values
NAMES_OF_CLASSES = ("None", "-", ".")
"""Marks that may be the name of a class."""
UNKNOWN = frozenset(("unknown", "not known", "unspecified", "not specified", "missing", "not available", "n.a."))
SENTINELS = frozenset([-1.0, *(sign * float(digit * n) for digit in "89" for n in (2, 3, 4, 5, 6) for sign in (1, -1))])
"""-1, and 99, 999, ..., 88, 888, ... with either sign."""
FEWEST_OTHERS = 5
FEWEST_OF_A_CODE = 3
SAME_CLASSES = 0.01
"""A p-value; below it the rows with a code have other classes than the others."""

# Identifiers and codes
FEWEST_ROWS = 20
FEWEST_NUMBERED = 10
"""In fewer rows a column may hold consecutive numbers by chance."""
WORDS_OF_FREE_TEXT = 4


def find_column_issue(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """The first issue of an attribute, in the order of the checks: a column is of one kind."""
    checks = (_dates, _numbers, _row_numbers, _sentinel, _identifier, find_spellings, _codes, _constant)
    return next(filter(None, (check(column, table) for check in checks)), None)


def _dates(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column of text that holds dates, in one order of day, month and year or in two."""
    texts = column.texts
    orders = [order for order in ORDERS if any(parse_date(text, order) for text in _sample(texts, DATE_SAMPLE))]
    if not orders or column.n_observed < FEWEST_DATES:
        return None
    dates = {order: np.array([parse_date(text, order) for text in texts], dtype=object) for order in orders}
    are_dates = {order: parsed.astype(bool) for order, parsed in dates.items()}
    shares = {order: column.counts[flags].sum() / column.n_observed for order, flags in are_dates.items()}
    order = max(orders, key=lambda each: shares[each])  # the day first where both read as well
    if shares[order] < NEARLY_ALL:
        return _mixed_dates(column, are_dates)
    words = tuple(text for text, is_date in zip(texts, are_dates[order], strict=True) if not is_date)
    if len(words) > MAX_WORDS:
        return None
    other = MONTH_FIRST if order == DAY_FIRST else DAY_FIRST
    ambiguous = order in (DAY_FIRST, MONTH_FIRST) and shares.get(other, 0.0) >= shares[order]
    if ambiguous:
        order = MONTH_FIRST if (locale.getlocale()[0] or "").startswith(MONTH_FIRST_IN) else DAY_FIRST
    first = "month" if order == MONTH_FIRST else "day"
    doubt = f"; no cell tells the day from the month, so the {first} is taken as first" if ambiguous else ""
    # The example is a date in this order alone, if there is one.
    n_orders = np.sum([*are_dates.values()], axis=0)
    row = column.row_of(int(np.where(are_dates[order], 1 / np.maximum(n_orders, 1), 0).argmax()))
    time = any(date.time() != datetime.time() for date in dates[order][are_dates[order]])
    steps = (Date(column.name, order, time, words),)
    return column.finding("high", f"holds dates as text ({order}){doubt}", RECIPE, row, shares[order], steps)


def _mixed_dates(column: ColumnFacts, are_dates: dict[str, NDArray[np.bool_]]) -> Finding | None:
    """Some rows with the day first, others with the month first."""
    if DAY_FIRST not in are_dates or MONTH_FIRST not in are_dates:
        return None
    either = are_dates[DAY_FIRST] | are_dates[MONTH_FIRST]
    if column.counts[either].sum() < NEARLY_ALL * column.n_observed:
        return None
    row = column.row_of(int((are_dates[MONTH_FIRST] & ~are_dates[DAY_FIRST]).argmax()))
    what = "holds dates as text, some with the day first and some with the month first"
    return column.finding("high", what, "write them all as 2024-12-31", row)


def _numbers(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column of text most of whose cells are numbers."""
    if not any(HAS_DIGIT.search(text) for text in _sample(column.texts, 1000)):
        return None
    if any(LEADING_ZERO.match(text) for text in column.texts):
        return None  # codes, which as numbers would lose their zeros
    style, are_numbers = _best_style(column)
    share = float(column.counts[are_numbers].sum() / max(column.n_observed, 1))
    if share < 0.5 or are_numbers.sum() < FEWEST_NUMBERS:
        return None
    words = tuple(text for text, is_number in zip(column.texts, are_numbers, strict=True) if not is_number)
    if style != (*STYLES[0], ""):
        return _separated_numbers(column, style, are_numbers, words, share)
    if not words:
        what = "holds numbers as text, so each is a category of its own"
        return column.finding("medium", what, RECIPE, column.row_of(0), steps=(Number(column.name),))
    return _words_among_numbers(column, are_numbers, words, share)


def _best_style(column: ColumnFacts) -> tuple[tuple[str, str, str], NDArray[np.bool_]]:
    """The separators and the unit with which most rows are numbers, none if equal; and which of the texts are."""
    held = [sum(column.counts[[unit in text for text in column.texts]]) for unit in UNITS[1:]]
    unit = UNITS[1 + int(np.argmax(held))] if 2 * max(held) > column.n_observed else ""
    best, are_numbers = (*STYLES[0], ""), np.zeros(len(column.texts), dtype=bool)
    for thousands, decimal in STYLES:
        signs = [sign for sign in (thousands, decimal) if sign and sign != "."]
        if (thousands, decimal) == STYLES[0] or any(sign in text for text in column.texts for sign in signs):
            style = thousands, decimal, unit
            parsed = np.array([parse_number(text, *style) is not None for text in column.texts])
            if column.counts[parsed].sum() > column.counts[are_numbers].sum():
                best, are_numbers = style, parsed
    return best, are_numbers


def _separated_numbers(
    column: ColumnFacts,
    style: tuple[str, str, str],
    are_numbers: NDArray[np.bool_],
    words: tuple[str, ...],
    share: float,
) -> Finding:
    thousands, decimal, unit = style
    separated = np.array([(thousands or unit or decimal) in text for text in column.texts])
    row = column.row_of(int((are_numbers & separated).argmax()))
    signs = [f"{SEPARATORS[thousands]} between thousands"] if thousands else []
    signs += ["decimal commas"] if decimal == "," else []
    signs += ["percent signs"] if unit == PERCENT else [unit] if unit else []
    rest = f"; the rest ({list_names(words, 3)}) is taken as missing" if words else ""
    steps = (Number(column.name, thousands, decimal, words, unit),) if len(words) <= MAX_WORDS else ()
    what = f"holds numbers as text, with {' and '.join(signs)}{rest}"
    return column.finding("high", what, RECIPE, row, share, steps)


def _words_among_numbers(
    column: ColumnFacts, are_numbers: NDArray[np.bool_], words: tuple[str, ...], share: float
) -> Finding:
    row = column.row_of(int((~are_numbers).argmax()))
    some = list_names(words, 3)
    limits = [word for word in words if HAS_DIGIT.search(word) and len(word.split()) < WORDS_OF_FREE_TEXT]
    if limits or len(words) > MAX_WORDS:
        what = f"holds {percent(share)} numbers, and text such as {some}: are these limits or units?"
        return column.finding("medium", what, "write them as numbers in a column of their own", row, share)
    what = f"holds {percent(share)} numbers; is the rest ({some}) missing?"
    # Marks are taken as missing in files, unless an option says that they are words.
    named = [word for word in words if word.strip() not in MARKS] or words
    option = " ".join(f"--missing {shlex.quote(word)}" for word in named) if len(named) <= MAX_NAMED else RECIPE
    severity: Severity = "high" if share >= MOST and not set(words) <= set(MARKS) else "medium"
    return column.finding(severity, what, option, row, 1 - share, (Number(column.name, missing=words),))


def find_spellings(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Several spellings of one text; or cells that are blank, which look empty and are not."""
    groups = _spelling_groups(column)
    blank = groups.pop("", [])
    several = [group for group in groups.values() if len(group) > 1]
    if not several and not blank:
        return None
    kept = tuple(" ".join(column.texts[group[0]].split()) for group in several)
    spellings = [position for group in several for position in group]
    row = column.row_of(min(spellings, key=lambda p: column.counts[p]) if spellings else blank[0])
    changed = [position for position in spellings if column.texts[position] not in kept] + blank
    what = "holds cells of nothing but blanks"
    if several:
        others = [column.texts[position] for position in several[0] if column.texts[position] != kept[0]]
        what = f"holds texts that differ only by blanks or case: {kept[0]!r} is also written {list_names(others, 3)}"
        n_more = len(several) - 1
        what += f"; {n_more} more {'text has' if n_more == 1 else 'texts have'} several spellings" if n_more else ""
    share = column.counts[changed].sum() / column.n_rows
    severity: Severity = "high" if column is table.target else "medium"
    option = "tanager check --fix writes a recipe that merges them"
    return column.finding(severity, what, option, row, share, (Merge(column.name, kept),))


def _spelling_groups(column: ColumnFacts) -> dict[str, list[int]]:
    """The places of texts that are one but for blanks and case, the most common first."""
    groups: dict[str, list[int]] = {}
    for position in np.argsort(-column.counts, kind="stable").tolist() if column.texts else ():
        groups.setdefault(merge_key(column.texts[position]), []).append(position)
    return groups


def merge_spellings(column: ColumnFacts) -> ColumnFacts:
    """The column with the spellings of a text as one, which is written as the most common of them."""
    groups = _spelling_groups(column)
    groups.pop("", None)
    if len(groups) == len(column.values) or not groups:
        return column
    places = np.full(len(column.values) + 1, -1)  # code -1 takes the last entry
    for code, group in enumerate(groups.values()):
        places[group] = code
    return replace(
        column, codes=places[column.codes], values=tuple(column.texts[group[0]] for group in groups.values())
    )


def find_missing_texts(column: ColumnFacts, is_class: bool = False) -> Finding | None:
    """Texts in a column of words that stand for a missing value, or may."""
    own = set(column.texts)
    marks = [text for text in MARKS if text in own and text not in (NAMES_OF_CLASSES if is_class else ("None",))]
    if {"+", "-"} <= own:
        marks = [text for text in marks if text != "-"]
    doubtful = [text for text in column.texts if merge_key(text) in UNKNOWN] if not is_class else []
    texts = tuple(marks or doubtful)
    if not texts or len(texts) == len(own):
        return None
    rows = np.isin(column.codes, [column.texts.index(text) for text in texts])
    n_rows = int(rows.sum())
    what = f"holds {list_names(texts, 3)} in {n_rows:,} row{'s'[: n_rows != 1]}"
    row, share = int(rows.argmax()), rows.mean()
    if marks:
        option = "tanager check --fix writes a recipe that takes them as missing"
        return column.finding("medium", f"{what}, as words", option, row, share, (Missing(column.name, texts),))
    option = " ".join(f"--missing {shlex.quote(text)}" for text in texts[:MAX_NAMED])
    return column.finding("low", f"{what}, a category like others: does it mean missing?", option, row, share)


def reads(finding: Finding | None) -> bool:
    """Whether the step of an issue takes care of texts that mean missing."""
    return finding is not None and any(step.name in ("number", "date", "drop") for step in finding.steps)


def _sentinel(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A code for missing among numbers: an extreme value such as 999 or -1 that is unlike all others."""
    if column.unit != "number" or len(column.values) <= FEWEST_OTHERS:
        return None
    values = np.asarray(column.values, dtype=np.float64)
    for place, others in ((-1, values[:-1]), (0, values[1:])):
        number, n_rows = float(values[place]), int(column.counts[place])
        alone = number < 0 <= others[0] or abs(number - others[place]) > others[-1] - others[0]
        if number in SENTINELS and alone and n_rows >= FEWEST_OF_A_CODE:
            ends = format_values([float(others[0]), float(others[-1])], "number")
            what = f"holds {number:g} in {n_rows:,} rows; its other values are {ends[0]} to {ends[1]}: is it missing?"
            code, steps = place % len(values), (Number(column.name, missing=(f"{number:g}",)),)
            is_far = abs(number - others[place]) > others[-1] - others[0]
            is_safe = is_far and not _class_differs(column, code, table.target)
            option = f"--missing {number:g}"
            if is_safe:
                option = f"tanager check --fix writes a recipe that takes {number:g} as missing"
            share = n_rows / column.n_rows
            issue = column.finding("medium", what, option, column.row_of(code), share, steps if is_safe else ())
            return replace(issue, topic="code", offered=steps)
    return None


def _class_differs(column: ColumnFacts, code: int, target: ColumnFacts | None) -> bool:
    """Whether rows with this cell have other shares of the classes than rows with another."""
    if target is None:
        return False
    rows = (column.codes >= 0) & (target.codes >= 0)
    counts = crosstab(target.codes[rows], column.codes[rows] == code).count
    return min(counts.shape) > 1 and bool(chi2_contingency(counts, correction=False).pvalue <= SAME_CLASSES)


def _row_numbers(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Whole numbers that are all different and consecutive."""
    values = np.asarray(column.values)
    if not column.is_whole or len(values) < max(column.n_rows, FEWEST_NUMBERED):
        return None
    consecutive = int(values[-1]) - int(values[0]) == column.n_rows - 1
    return column.finding_to_drop("high", "numbers the rows") if consecutive else None


def _identifier(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Sentences, several words in a cell; or texts of which nearly every one is different."""
    if not column.texts or column.n_observed < FEWEST_ROWS or column.distinct_share < MANY:
        return None
    different = f"{len(column.values):,} different texts in {column.n_observed:,} rows"
    if np.mean([len(text.split()) for text in _sample(column.texts, 1000)]) >= WORDS_OF_FREE_TEXT:
        return column.finding_to_drop("high", f"holds free text: {different}")
    names_rows = column.distinct_share >= NEARLY_ALL
    return column.finding_to_drop("high", f"names rows: {different}") if names_rows else None


def _codes(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Whole numbers some of which begin with a zero in the file: names, not quantities."""
    if column.name not in table.leading_zeros:
        return None
    if column.n_observed >= FEWEST_ROWS and column.distinct_share >= NEARLY_ALL:
        what = f"names rows: {len(column.values):,} different codes in {column.n_observed:,} rows"
        return column.finding_to_drop("high", what)
    what = "holds codes that look like numbers: some begin with a zero"
    option = "tanager check --fix writes a recipe that keeps them as they are"
    return column.finding("medium", what, option, steps=(Category(column.name),))


def _constant(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column without any cell, or with the same in every row."""
    if len(column.values) > 1 or (len(column.values) == 1 and column.missing_share > 0):
        return None
    if len(column.values) == 0:
        return Finding("low", column.name, "is empty", drop_option(column.name), steps=(Drop(column.name),))
    return column.finding_to_drop("low", f"is {column.show(0)} in every row")


def _sample(texts: Sequence[str], most: int) -> Sequence[str]:
    return texts[:: max(1, len(texts) // most)]
