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
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """List the issues of a table: the type of each column, what may be wrong, and the option that fixes it.

    The most severe issue comes first. A recipe has the fixes that need no decision: it drops identifiers, reads numbers
    and dates that are text, and merges spellings. It is a file that you can read and change.

    Examples:

      tanager check patients.xlsx --class outcome
      tanager check patients.xlsx --class outcome --fix recipe.json
      tanager check patients.xlsx --class outcome --recipe recipe.json
      tanager check patients.csv --class outcome --drop name --missing unknown --json
    """
    from tanager.cli.training_data import check_file
    from tanager.files.json_file import RECIPE, save_recipe

    with output_file(fix, ".json", RECIPE, [data, reading.recipe], force) if fix is not None else nullcontext() as path:
        with working(f"Checking {data}"):
            checkup, recipe = check_file(data, class_column, reading)
        if path is not None:
            save_recipe(recipe, path)
    if fix == "-":
        return
    print(json.dumps({**checkup.to_dict(), "recipe": recipe.to_dict()}, indent=2) if as_json else checkup)
    if fix is not None and not as_json:
        of_class = [] if class_column is None else ["--class", class_column]
        print(f"\n{fix}: {recipe.summary}")
        print(f"Look again: {shlex.join(['tanager', 'check', data, *of_class, '--recipe', fix])}")
        print(f"Then learn: {shlex.join(['tanager', 'fit', data, *of_class, '--recipe', fix, '-o', 'model.json'])}")
