"""A data file -> the checkup of its table, and the recipe that fixes it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tanager.check.checkup import Checkup
from tanager.check.examine import examine
from tanager.check.preprocessing import Recipe
from tanager.cli.training_data import Reading
from tanager.errors import DataError, OptionError
from tanager.files.read_csv import CellRules
from tanager.files.read_table import read_table
from tanager.registry import list_names, nearest_first
from tanager.table.read_columns import read_columns

LEADING_ZERO = r"^0[0-9]"


def check_file(
    path: str, class_column: str | None, missing: Sequence[str], drop: Sequence[str]
) -> tuple[Checkup, Recipe]:
    """The checkup of the table in a file, and the preprocessing that fixes it, the options included."""
    asked = Reading(missing, drop).recipe(class_column)
    table = read_table(path, CellRules.given(missing))
    for name in (*asked.dropped, *([] if class_column is None else [class_column])):
        if name not in table.column_names:
            raise DataError(
                f"the data has no column {name!r}; "
                f"its columns, nearest first, are {list_names(nearest_first(name, table.column_names))}."
            )
    if class_column in asked.dropped:
        raise OptionError(f"--drop leaves out {class_column!r}, which is the class.")
    zeros = _leading_zeros(path, table, missing)
    table = asked.apply(table)
    y = None
    if class_column is not None:
        y = table.column(class_column)
        table = table.drop_columns([class_column])
    checkup = examine(read_columns(table), y, zeros, class_column)
    found = checkup.recipe.with_options(missing, (), class_column)
    return checkup, Recipe((*asked.steps, *found.steps), found.missing, class_column)


def _leading_zeros(path: str, table: pa.Table, missing: Sequence[str]) -> list[str]:
    """The columns of whole numbers of which some begin with a zero in the file; a number forgets that."""
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole or path == "-":
        return []
    as_written = read_table(path, CellRules.given(missing, whole))
    return [
        name
        for name in whole
        if pa.types.is_string(as_written.column(name).type)
        and pc.any(pc.match_substring_regex(as_written.column(name), LEADING_ZERO)).as_py()
    ]
