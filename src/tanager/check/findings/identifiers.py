"""Columns that name rows instead of grouping them: identifiers, row numbers, free text."""

from __future__ import annotations

import re

import numpy as np

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, drop_option
from tanager.check.table_facts import TableFacts
from tanager.recipe.steps import Drop

FEWEST_ROWS = 20
FEWEST_NUMBERED = 10
"""In fewer rows a column may hold consecutive numbers by chance."""
NEARLY_ALL = 0.95
MANY = 0.5
FEWEST_CATEGORIES = 30
WORDS_OF_FREE_TEXT = 4
SAMPLE = 1000
ID_WORDS = frozenset(("id", "ids", "uid", "guid", "uuid", "key", "nr", "no", "number", "index", "mrn", "ssn"))


def find_free_text(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Sentences: several words in a cell, and seldom the same twice."""
    if not column.texts or column.n_filled < FEWEST_ROWS or column.distinct_share < MANY:
        return None
    sample = column.texts[:: max(1, len(column.texts) // SAMPLE)]
    if np.mean([len(text.split()) for text in sample]) < WORDS_OF_FREE_TEXT:
        return None
    what = f"holds free text: {len(column.values):,} different texts in {column.n_filled:,} rows"
    return identifier(column, what)


def find_identifier(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Texts of which nearly every one is different."""
    if not column.texts or column.n_filled < FEWEST_ROWS or column.distinct_share < MANY:
        return None
    n_distinct = len(column.values)
    if names_rows(column):
        what = f"names rows: {n_distinct:,} different texts in {column.n_filled:,} rows"
        return identifier(column, what)
    if n_distinct < FEWEST_CATEGORIES:
        return None
    what = f"has {n_distinct:,} categories in {column.n_filled:,} rows, too many to learn from"
    return Finding("medium", column.name, what, "group its values, or leave it out with --drop", 0, column.show(0), 1.0)


def find_row_numbers(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Whole numbers that are all different, and consecutive or called a number."""
    values = np.asarray(column.values)
    is_whole = column.unit == "number" and values.dtype.kind in "iu"
    if not is_whole or len(values) < max(column.n_rows, FEWEST_NUMBERED):
        return None
    if int(values[-1]) - int(values[0]) == column.n_rows - 1:
        return identifier(column, "numbers the rows")
    if ID_WORDS & set(words_of(column.name)) and column.n_rows >= FEWEST_ROWS:
        return Finding(
            "medium", column.name, "is different in every row, and called a number", drop_option(column.name),
            0, column.show(0),
        )  # fmt: skip
    return None


def names_rows(column: ColumnFacts) -> bool:
    """Whether nearly every row holds something else."""
    return column.n_filled >= FEWEST_ROWS and column.distinct_share >= NEARLY_ALL


def words_of(name: str) -> list[str]:
    """The words that a column's name is made of, in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def identifier(column: ColumnFacts, what: str) -> Finding:
    """The finding that a column is to be left out."""
    row = int((column.codes >= 0).argmax())
    return Finding(
        "high", column.name, what, drop_option(column.name), row, column.show(row), steps=(Drop(column.name),)
    )
