"""`tanager check`: what may be wrong with a table, and a preprocessing file that fixes it."""

from __future__ import annotations

import json
import shlex
from contextlib import nullcontext
from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.output import output_file
from tanager.runtime.progress import working


@options.grouped
def check(
    data: options.Data,
    reading: options.Reading,
    class_column: options.OptionalClass = None,
    fix: Annotated[
        str | None, typer.Option("--fix", metavar="FILE", help="Write a recipe for `fit --recipe` (JSON).")
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            "--fixed",
            metavar="FILE",
            help="Write the table after --recipe, --missing and --drop: .csv, .tsv, or .parquet, which keeps types.",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Look for what may be wrong with a table: what each column is, what is odd, and the option that fixes it.

    The worst comes first. A recipe fixes what needs no decision of yours: it drops identifiers, reads numbers and dates
    that are text, merges spellings. It is a file that you can read and change.

    Examples:

      tanager check patients.xlsx --class outcome
      tanager check patients.xlsx --class outcome --fix recipe.json
      tanager check patients.xlsx --class outcome --recipe recipe.json
      tanager check patients.xlsx --class outcome --recipe recipe.json --fixed fixed.parquet
      tanager check patients.csv --class outcome --drop name --missing unknown --json
    """
    from tanager.cli.training_data import check_file
    from tanager.files.json_file import RECIPE, save_recipe
    from tanager.files.paths import check_output
    from tanager.files.write_table import table_kind, table_suffix, write_table

    if fixed is not None and fixed != "-":
        table_suffix(fixed)
    with output_file(fix, ".json", RECIPE, [data, reading.recipe], force) if fix is not None else nullcontext() as path:
        with working(f"Checking {data}"):
            checkup, recipe, table = check_file(data, class_column, reading)
        if fixed is not None:
            check_output(fixed, table_kind(table.column_names), reads=[data, reading.recipe], force=force)
            write_table(table, fixed)
        if path is not None:
            save_recipe(recipe, path)
    if "-" in (fix, fixed):
        return
    print(json.dumps({**checkup.to_dict(), "recipe": recipe.to_dict()}, indent=2) if as_json else checkup)
    if fix is not None and not as_json:
        of_class = [] if class_column is None else ["--class", class_column]
        print(f"\n{fix}: {recipe.summary}")
        print(f"Look again: {shlex.join(['tanager', 'check', data, *of_class, '--recipe', fix])}")
        print(f"Then learn: {shlex.join(['tanager', 'fit', data, *of_class, '--recipe', fix, '-o', 'model.json'])}")
