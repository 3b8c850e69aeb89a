"""Text that a spreadsheet would take for a formula, and run: it is written with an apostrophe before it."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

# A sign or an equals sign alone, and a number with its sign, are shown as they are.
FORMULA = r"^(?:[=@\t\r](?s:.)+|[+-](?s:.)+)$"
NUMBER = r"^[+-](?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"


def escape_formula(text: str) -> str:
    """The text, with an apostrophe before it if it is like a formula."""
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def escape_formulas(table: pa.Table) -> pa.Table:
    """The table with names and texts that are like formulas behind an apostrophe."""
    columns = [_escape(column) if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(columns, names=[escape_formula(name) for name in table.column_names])


def _escape(column: pa.ChunkedArray) -> pa.ChunkedArray:
    like = pc.and_(pc.match_substring_regex(column, FORMULA), pc.invert(pc.match_substring_regex(column, NUMBER)))
    if not pc.any(like).as_py():
        return column
    return pc.if_else(like, pc.binary_join_element_wise("'", column, ""), column)
