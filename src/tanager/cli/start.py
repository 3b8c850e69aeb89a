"""`tanager start`: from a table as it comes to a model and a page about it, in one command."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tanager.cli import options
from tanager.errors import DataError, OptionError
from tanager.registry import list_names

if TYPE_CHECKING:
    from tanager.check.checkup import Checkup
    from tanager.check.preprocessing import Recipe
    from tanager.classifiers.base import TableClassifier
    from tanager.metrics import Quality

CLASS_NAMES = ("class", "target", "label", "outcome", "diagnosis", "y")
"""Names of columns that are taken as the class without a question."""
MOST_CLASSES = 20
"""A column with more distinct values is not proposed as the class."""
MAX_WARNINGS = 3
"""Issues of high severity that are named."""


@options.grouped
def start(
    data: options.Data,
    reading: options.Reading,
    kind: options.ModelOptions,
    class_column: options.OptionalClass = None,
    event: options.Event = None,
    no_rows: options.NoRows = False,
) -> None:
    """Go from a spreadsheet to a model and a page about it: read, check, fix, cross-validate, fit, write.

    Beside DATA it writes the model (DATA-model.json), the page (DATA-report.html) and the preprocessing
    (DATA-recipe.json), never over a file that is there. It fixes only what is safe: identifiers are left out, numbers
    and dates that are text are read, spellings are merged. On a terminal it asks where it is in doubt.

    Examples:

      tanager start patients.xlsx
      tanager start patients.xlsx --class outcome
      tanager start patients.csv --class outcome --drop name --missing unknown
    """
    from tanager.check import check
    from tanager.cli.decision import classes_of
    from tanager.cli.fit import fit_rows
    from tanager.cli.report import write_page_of
    from tanager.cli.training_data import check_file, read_unchecked, streams
    from tanager.files.json_file import save_recipe
    from tanager.files.model_file import save_model
    from tanager.report.model_card import plural
    from tanager.runtime.progress import working

    if data == "-":
        raise OptionError("start writes its files beside DATA, and standard input has no place.", hint="name a file.")
    files = _free_files(data)
    if streams(data, None):
        hint = f"tanager fit {shlex.quote(data)} --class COLUMN -o model.json reads it batch by batch."
        raise DataError(f"{data!r} takes more than half of the memory that is left.", hint=hint)
    target, how = (class_column, "as --class says") if class_column else _find_class(data, reading)
    with working(f"Checking {data}"):
        checkup, recipe, _ = check_file(data, target, reading)
    recipe = _ask_about_fixes(checkup, recipe)
    X, y = read_unchecked(data, target, reading, recipe)
    print(f"Read     {data}{checkup.place}: {plural(X.num_rows, 'row')}, {plural(X.num_columns, 'attribute')}")
    checked = check(X, y)
    y.issues = tuple(map(str, checked.of_severity("high")))  # for the model and the page
    _print_findings(data, target, how, files["recipe"], recipe, checked)
    asked = None if event is None else options.find_class("--event", event, classes_of(y))
    clf, quality = fit_rows(X, y, kind, event=asked)
    save_recipe(recipe, files["recipe"])
    save_model(clf, files["model"], quality=quality, recipe=recipe)
    write_page_of(files["model"], data, X, y, files["page"], not no_rows)
    _print_results(clf, kind.structure, quality, files, Path(data).suffix, not no_rows)


def _free_files(data: str) -> dict[str, str]:
    """Where model, page and recipe go: beside the table, under names that no file has."""
    from tanager.files.paths import check_readable, check_writable

    file = check_readable(data)
    stem = Path(file.name.removesuffix(".gz")).stem
    number = 1
    while True:
        end = "" if number == 1 else f"-{number}"
        names = {"model": "model{}.json", "page": "report{}.html", "recipe": "recipe{}.json"}
        files = {what: file.with_name(f"{stem}-{name.format(end)}") for what, name in names.items()}
        if not any(path.exists() for path in files.values()):
            break
        number += 1
    check_writable(files["model"])
    return {what: str(path) for what, path in files.items()}


def _find_class(data: str, reading: options.Reading) -> tuple[str, str]:
    """The column to predict and how it was found: by its name, or by the answer to a question."""
    from tanager.cli.training_data import read_as_written

    table = read_as_written(data, reading)
    names = table.column_names
    called = [name for name in names if name.strip().lower() in CLASS_NAMES]
    if len(called) == 1:
        return called[0], "by its name; --class names another"
    few = [name for name in called or names if 2 <= len(table.column(name).unique().drop_null()) <= MOST_CLASSES]
    likely = [*few[-1:], *called, *names[-1:]][0]
    if not _on_terminal():
        words = shlex.join(["tanager", "start", data, "--class", likely])
        raise OptionError(
            f"which column is the class, that is, the column to predict? The columns are {list_names(names, 12)}.",
            hint=f"for example {words}",
        )
    typer.echo(f"The columns are {list_names(names, 30)}.", err=True)
    while (name := typer.prompt("Which column is to be predicted?", default=likely, err=True)) not in names:
        typer.echo(f"No column is called {name!r}.", err=True)
    return name, "as answered"


def _ask_about_fixes(checkup: Checkup, recipe: Recipe) -> Recipe:
    """The preprocessing, less or more what a person decides: spellings of the class as one, revealing columns out."""
    from tanager.check.preprocessing import Drop

    if not _on_terminal():
        return recipe
    steps = list(recipe.steps)
    for finding in checkup.findings:
        merges = [step for step in finding.steps if step.name == "merge" and step.column == checkup.target]
        if merges and not typer.confirm(f"The class {finding.what}. Take these as one?", default=True, err=True):
            steps.remove(merges[0])
        if finding.reveals_class and finding.column not in recipe.dropped:
            words = str(finding).removesuffix(": is it known before the class is?")
            question = f"The {words}. It may be known only after the class is. Leave it out?"
            if typer.confirm(question, default=True, err=True):
                steps.append(Drop(finding.column or ""))
    return replace(recipe, steps=tuple(steps))


def _print_findings(data: str, target: str, how: str, recipe_file: str, recipe: Recipe, checked: Checkup) -> None:
    """The table after the fixes: its class, what was fixed, the worst that is left, and the command that shows all."""
    print(f"Class    {target!r} ({how}): {checked.classes}")
    print(f"Fixed    {recipe.summary}")
    worst = checked.of_severity("high")
    for finding in worst[:MAX_WARNINGS]:
        print(f"Warning  {finding.line}")
    more = len(worst[MAX_WARNINGS:]) + len(checked.of_severity("medium"))
    if more:
        command = shlex.join(["tanager", "check", data, "--class", target, "--recipe", recipe_file])
        print(f"Check    {more} more {'issue' if more == 1 else 'issues'} to look at: {command}")


def _print_results(
    clf: TableClassifier,
    structure: str | None,
    quality: Quality | None,
    files: dict[str, str],
    suffix: str,
    holds_rows: bool,
) -> None:
    from tanager.cli.fit import model_in_words
    from tanager.cli.report import page_line
    from tanager.metrics.quality import headline

    measured = "not cross-validated" if quality is None else headline(quality)
    print(f"Model    {model_in_words(clf, structure)}")
    print(f"Quality  {' '.join(measured.split())}")
    print(f"Open     {page_line(files['page'], holds_rows)}")
    print(f"Next     {shlex.join(['tanager', 'predict', files['model'], f'new{suffix}', '-o', 'predictions.csv'])}")
    print(f"         {shlex.join(['tanager', 'explain', files['model'], f'new{suffix}'])}")


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
