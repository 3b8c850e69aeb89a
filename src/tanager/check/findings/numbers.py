"""Numbers that are text: with words among them, with separators, or for no reason."""

from __future__ import annotations

import re
import shlex

import numpy as np
from numpy.typing import NDArray

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, Severity, percent
from tanager.check.findings.dates import RECIPE
from tanager.check.table_facts import TableFacts
from tanager.recipe.steps import Number
from tanager.recipe.texts import MARKS, parse_number
from tanager.registry import list_names

STYLES = ((",", "."), (".", ","), (" ", ","), (" ", "."), ("'", "."), ("", ","))
"""Separators of thousands and of decimals, the usual ones first."""
NAMES = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
FEWEST_NUMBERS = 10
"""With fewer distinct ones the numbers may be names of groups, as in "2", "3", "4", "5more"."""
MOST = 0.7
MAX_WORDS = 20
MAX_NAMED = 5
LEADING_ZERO = re.compile(r"0\d+\Z")
HAS_DIGIT = re.compile(r"\d")


def find_numbers(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """A column of text most of whose cells are numbers."""
    if not any(HAS_DIGIT.search(text) for text in column.texts[:: max(1, len(column.texts) // 1000)]):
        return None
    if any(LEADING_ZERO.match(text) for text in column.texts):
        return None  # codes, which as numbers would lose their zeros
    style, are_numbers = _best_style(column)
    share = float(column.counts[are_numbers].sum() / max(column.n_filled, 1))
    if share < 0.5 or are_numbers.sum() < FEWEST_NUMBERS:
        return None
    words = [text for text, is_number in zip(column.texts, are_numbers, strict=True) if not is_number]
    if style != ("", "."):
        return _separated(column, style, are_numbers, words, share)
    if not words:
        return _plain(column)
    return _with_words(column, are_numbers, words, share)


def _best_style(column: ColumnFacts) -> tuple[tuple[str, str], NDArray[np.bool_]]:
    """How most cells are numbers; without separators where nothing reads more."""
    best, found = ("", "."), column.are_numbers
    most = column.n_numbers
    for style in STYLES:
        if any(sign in text for text in column.texts for sign in style if sign and sign != "."):
            parsed = np.array([parse_number(text, *style) is not None for text in column.texts])
            n_rows = int(column.counts[parsed].sum())
            if n_rows > most:
                best, found, most = style, parsed, n_rows
    return best, found


def _separated(
    column: ColumnFacts, style: tuple[str, str], are_numbers: NDArray[np.bool_], words: list[str], share: float
) -> Finding | None:
    thousands, decimal = style
    odd = np.array([thousands in text if thousands else decimal in text for text in column.texts])
    row = column.row_of(int((are_numbers & odd).argmax()))
    between = f"{NAMES[thousands]} between thousands" if thousands else "decimal commas"
    both = " and decimal commas" if thousands and decimal == "," else ""
    rest = f"; the rest ({list_names(words, 3)}) is taken as missing" if words else ""
    steps = (Number(column.name, thousands, decimal, tuple(words)),) if len(words) <= MAX_WORDS else ()
    what = f"holds numbers as text, with {between}{both}{rest}"
    return Finding("high", column.name, what, RECIPE, row, column.show(row), share, steps)


def _plain(column: ColumnFacts) -> Finding:
    what = "holds numbers as text, so each is a category of its own"
    row = column.row_of(0)
    return Finding("medium", column.name, what, RECIPE, row, column.show(row), 1.0, (Number(column.name),))


def _with_words(column: ColumnFacts, are_numbers: NDArray[np.bool_], words: list[str], share: float) -> Finding:
    row = column.row_of(int((~are_numbers).argmax()))
    some = list_names(words, 3)
    if len(words) > MAX_WORDS or any(HAS_DIGIT.search(word) for word in words):
        what = f"holds {percent(share)} numbers, and text such as {some}: are these limits or units?"
        return Finding(
            "medium", column.name, what, "write them as numbers in a column of their own", row, column.show(row), share
        )
    what = f"holds {percent(share)} numbers; is the rest ({some}) missing?"
    # Marks are taken as missing in files, unless somebody says that they are words.
    named = [word for word in words if word.strip() not in MARKS] or words
    option = " ".join(f"--missing {shlex.quote(word)}" for word in named) if len(named) <= MAX_NAMED else RECIPE
    severity: Severity = "high" if share >= MOST and not set(words) <= set(MARKS) else "medium"
    steps = (Number(column.name, missing=tuple(words)),)
    return Finding(severity, column.name, what, option, row, column.show(row), 1 - share, steps)
