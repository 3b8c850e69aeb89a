"""Issues of one column: text that holds numbers or dates, spellings, identifiers, codes, constants."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.check.facts import ColumnFacts, Finding, Severity, TableFacts, drop_option, percent
from tanager.check.preprocessing import Category, Date, Drop, Merge, Number
from tanager.check.text_values import MARKS, ORDERS, merge_key, parse_date, parse_number
from tanager.registry import list_names

RECIPE = "tanager check --fix writes a recipe that reads them"
NEARLY_ALL = 0.95
MANY = 0.5
MAX_WORDS = 20
"""Distinct texts among numbers or dates that may all stand for a missing value."""
HAS_DIGIT = re.compile(r"\d")

# Dates
DAY_FIRST, MONTH_FIRST = "day-month-year", "month-day-year"
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

# Identifiers and codes
FEWEST_ROWS = 20
FEWEST_NUMBERED = 10
"""In fewer rows a column may hold consecutive numbers by chance."""
FEWEST_CATEGORIES = 30
WORDS_OF_FREE_TEXT = 4
ID_WORDS = frozenset(("id", "ids", "uid", "guid", "uuid", "key", "nr", "no", "number", "index", "mrn", "ssn"))
CODE_WORDS = frozenset(("zip", "zipcode", "postcode", "postal", "plz", "code", "icd", "fips"))


def find_column_issue(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """The first issue of an attribute, in the order of the checks: a column is of one kind."""
    checks = (_dates, _numbers, _free_text, _row_numbers, _identifier, find_spellings, _codes, _constant)
    return next(filter(None, (check(column, table) for check in checks)), None)


def _dates(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column of text that holds dates, in one order of day, month and year or in two."""
    texts = column.texts
    orders = [order for order in ORDERS if any(parse_date(text, order) for text in _sample(texts, DATE_SAMPLE))]
    if not orders or column.n_observed < FEWEST_DATES:
        return None
    dates = {order: [parse_date(text, order) for text in texts] for order in orders}
    are_dates = {order: np.array([date is not None for date in parsed]) for order, parsed in dates.items()}
    shares = {order: column.counts[flags].sum() / column.n_observed for order, flags in are_dates.items()}
    order = max(orders, key=lambda each: shares[each])  # the day first where both read as well
    if shares[order] < NEARLY_ALL:
        return _mixed_dates(column, are_dates)
    words = tuple(text for text, is_date in zip(texts, are_dates[order], strict=True) if not is_date)
    if len(words) > MAX_WORDS:
        return None
    other = MONTH_FIRST if order == DAY_FIRST else DAY_FIRST
    ambiguous = order in (DAY_FIRST, MONTH_FIRST) and shares.get(other, 0.0) >= shares[order]
    doubt = "; no cell tells the day from the month, so the day is taken as first" if ambiguous else ""
    in_others = [flags for each, flags in are_dates.items() if each != order]
    only = are_dates[order] & ~np.logical_or.reduce([np.zeros(len(texts), dtype=bool), *in_others])
    row = column.row_of(int((only if only.any() else are_dates[order]).argmax()))
    time = any(date is not None and (date.hour or date.minute or date.second) for date in dates[order])
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
    if style != STYLES[0]:
        return _separated_numbers(column, style, are_numbers, words, share)
    if not words:
        what = "holds numbers as text, so each is a category of its own"
        return column.finding("medium", what, RECIPE, column.row_of(0), steps=(Number(column.name),))
    return _words_among_numbers(column, are_numbers, words, share)


def _best_style(column: ColumnFacts) -> tuple[tuple[str, str], NDArray[np.bool_]]:
    """The separators with which most rows are numbers, none if equal; and which of the texts are."""
    best, are_numbers = STYLES[0], np.zeros(len(column.texts), dtype=bool)
    for style in STYLES:
        if style == STYLES[0] or any(sign in text for text in column.texts for sign in style if sign and sign != "."):
            parsed = np.array([parse_number(text, *style) is not None for text in column.texts])
            if column.counts[parsed].sum() > column.counts[are_numbers].sum():
                best, are_numbers = style, parsed
    return best, are_numbers


def _separated_numbers(
    column: ColumnFacts, style: tuple[str, str], are_numbers: NDArray[np.bool_], words: tuple[str, ...], share: float
) -> Finding:
    thousands, decimal = style
    separated = np.array([(thousands or decimal) in text for text in column.texts])
    row = column.row_of(int((are_numbers & separated).argmax()))
    between = f"{SEPARATORS[thousands]} between thousands" if thousands else "decimal commas"
    both = " and decimal commas" if thousands and decimal == "," else ""
    rest = f"; the rest ({list_names(words, 3)}) is taken as missing" if words else ""
    steps = (Number(column.name, thousands, decimal, words),) if len(words) <= MAX_WORDS else ()
    return column.finding("high", f"holds numbers as text, with {between}{both}{rest}", RECIPE, row, share, steps)


def _words_among_numbers(
    column: ColumnFacts, are_numbers: NDArray[np.bool_], words: tuple[str, ...], share: float
) -> Finding:
    row = column.row_of(int((~are_numbers).argmax()))
    some = list_names(words, 3)
    if len(words) > MAX_WORDS or any(HAS_DIGIT.search(word) for word in words):
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
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(column.texts):
        groups.setdefault(merge_key(text), []).append(position)
    blank = groups.pop("", [])
    several = [group for group in groups.values() if len(group) > 1]
    if not several and not blank:
        return None
    # Of each group the spelling that most rows have is kept, without stray blanks.
    kept = tuple(" ".join(column.texts[max(group, key=lambda p: column.counts[p])].split()) for group in several)
    spellings = [position for group in several for position in group]
    row = column.row_of(min(spellings, key=lambda p: column.counts[p]) if spellings else blank[0])
    changed = [position for position in spellings if column.texts[position] not in kept] + blank
    what = "holds cells of nothing but blanks"
    if several:
        what = f"holds texts that differ only by blanks or case: {list_names([column.texts[p] for p in several[0]], 3)}"
        what += f" and {len(several) - 1} more groups" if len(several) > 1 else ""
    share = column.counts[changed].sum() / column.n_rows
    severity: Severity = "high" if column is table.target else "medium"
    option = "tanager check --fix writes a recipe that merges them"
    return column.finding(severity, what, option, row, share, (Merge(column.name, kept),))


def _free_text(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Sentences: several words in a cell, and seldom the same twice."""
    if not column.texts or column.n_observed < FEWEST_ROWS or column.distinct_share < MANY:
        return None
    if np.mean([len(text.split()) for text in _sample(column.texts, 1000)]) < WORDS_OF_FREE_TEXT:
        return None
    what = f"holds free text: {len(column.values):,} different texts in {column.n_observed:,} rows"
    return column.finding_to_drop("high", what)


def _row_numbers(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Whole numbers that are all different, and consecutive or called a number."""
    values = np.asarray(column.values)
    if not column.is_whole or len(values) < max(column.n_rows, FEWEST_NUMBERED):
        return None
    if int(values[-1]) - int(values[0]) == column.n_rows - 1:
        return column.finding_to_drop("high", "numbers the rows")
    if _called(column, ID_WORDS) and column.n_rows >= FEWEST_ROWS:
        return column.finding("medium", "is different in every row, and called a number", drop_option(column.name))
    return None


def _identifier(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Texts of which nearly every one is different."""
    if not column.texts or column.n_observed < FEWEST_ROWS or column.distinct_share < MANY:
        return None
    n_distinct = len(column.values)
    if column.distinct_share >= NEARLY_ALL:
        what = f"names rows: {n_distinct:,} different texts in {column.n_observed:,} rows"
        return column.finding_to_drop("high", what)
    if n_distinct < FEWEST_CATEGORIES:
        return None
    what = f"has {n_distinct:,} categories in {column.n_observed:,} rows, too many to learn from"
    return column.finding("medium", what, "group its values, or leave it out with --drop")


def _codes(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Whole numbers that begin with a zero in the file, or whose column is called a code: names, not quantities."""
    n_distinct = len(column.values)
    if column.name in table.leading_zeros:
        if column.n_observed >= FEWEST_ROWS and column.distinct_share >= NEARLY_ALL:
            what = f"names rows: {n_distinct:,} different codes in {column.n_observed:,} rows"
            return column.finding_to_drop("high", what)
        what = "holds codes that look like numbers: some begin with a zero"
        option = "tanager check --fix writes a recipe that keeps them as they are"
        return column.finding("medium", what, option, steps=(Category(column.name),))
    if column.is_whole and n_distinct > 2 and _called(column, CODE_WORDS):
        option = f"--categorical {shlex.quote(column.name)} if they are"
        return column.finding("low", "may hold codes, not quantities", option)
    return None


def _constant(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column without any cell, or with the same in every row."""
    if len(column.values) > 1 or (len(column.values) == 1 and column.missing_share > 0):
        return None
    if len(column.values) == 0:
        return Finding("low", column.name, "is empty", drop_option(column.name), steps=(Drop(column.name),))
    return column.finding_to_drop("low", f"is {column.show(0)} in every row")


def _called(column: ColumnFacts, words: frozenset[str]) -> bool:
    """Whether one of the words is in the column's name."""
    return any(word.lower() in words for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", column.name))


def _sample(texts: Sequence[str], most: int) -> Sequence[str]:
    return texts[:: max(1, len(texts) // most)]
