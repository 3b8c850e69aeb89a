"""Codes that look like numbers: a postcode is a name, and its sum or order means nothing."""

from __future__ import annotations

import shlex

import numpy as np

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding
from tanager.check.findings.identifiers import identifier, names_rows, words_of
from tanager.check.table_facts import TableFacts
from tanager.recipe.steps import Category

CODE_WORDS = frozenset(("zip", "zipcode", "postcode", "postal", "plz", "code", "icd", "fips"))


def find_codes(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Whole numbers that begin with a zero in the file, or whose column is called a code."""
    is_whole = column.unit == "number" and np.asarray(column.values).dtype.kind in "iu"
    if column.name in table.leading_zeros:
        if names_rows(column):
            return identifier(column, f"names rows: {len(column.values):,} different codes in {column.n_filled:,} rows")
        return Finding(
            "medium",
            column.name,
            "holds codes that look like numbers: some begin with a zero",
            "tanager check --fix writes a recipe that keeps them as they are",
            0,
            column.show(0),
            1.0,
            (Category(column.name),),
        )
    if is_whole and len(column.values) > 2 and CODE_WORDS & set(words_of(column.name)):
        option = f"--categorical {shlex.quote(column.name)} if they are"
        return Finding("low", column.name, "may hold codes, not quantities", option, 0, column.show(0))
    return None
