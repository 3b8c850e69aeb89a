"""`tanager check`: the issues of a table; `tanager start`: from the table to a model and a page, in one command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

from tanager.cli import options
from tanager.cli.output import optional_output
from tanager.errors import DataError, OptionError
from tanager.registry import list_names
from tanager.runtime.progress import working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.check.checkup import Checkup
    from tanager.check.preprocessing import Recipe
    from tanager.cli.training_data import NamedLabels

CLASS_NAMES = (
    "class", "target", "label", "outcome", "diagnosis", "y", "result", "status", "default", "churn", "survived",
    "response", "ergebnis",
)  # fmt: skip
"""Names of columns that are taken as the class without a question."""
MOST_ROUNDS = 5
"""How often the table is checked anew after fixes, which may uncover another issue."""
WIDTH, MARGIN = 100, 9
"""Of the lines printed, and of the words that they begin with."""
MAX_WARNINGS = 3
"""Issues of high severity that are named."""


@options.grouped
def check(
    data: options.Data,
    reading: options.Reading,
    class_column: options.OptionalClass = None,
    fix: Annotated[str | None, options.option("FILE", "Write a recipe for `fit --recipe` (JSON).", "--fix")] = None,
    fixed: Annotated[
        str | None,
        options.option(
            "FILE",
            "Write the table after --recipe, --missing and --drop: .csv, .tsv, or .parquet, which keeps types.",
            "--fixed",
        ),
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
      tanager check patients.xlsx --class outcome --recipe recipe.json --fixed fixed.parquet
      tanager check patients.csv --class outcome --drop name --missing unknown --json
    """
    from tanager.cli.training_data import check_file
    from tanager.files.json_file import RECIPE, save_recipe
    from tanager.files.paths import OutputKind, check_output
    from tanager.files.write_table import table_suffix, write_table

    if fixed is not None:
        if fixed != "-":
            table_suffix(fixed)
        never = OutputKind("a table that this option may replace", lambda file: False)  # it may be a person's own
        check_output(fixed, never, reads=[data, reading.recipe], force=force)
    with optional_output(fix, ".json", RECIPE, [data, reading.recipe], force) as path:
        with working(f"Checking {data}"):
            asked = reading.preprocessing(class_column)
            checkup, table = check_file(data, class_column, reading, asked)
            recipe = replace(asked, steps=(*asked.steps, *checkup.recipe.steps))
        if fixed is not None:
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
    and dates that are text are read, spellings are merged.

    Examples:

      tanager start patients.xlsx
      tanager start patients.xlsx --class outcome
      tanager start patients.csv --class outcome --drop name --missing unknown
    """
    from tanager.cli.fit import fit_rows
    from tanager.cli.report import page_line, write_page_of
    from tanager.cli.training_data import streams
    from tanager.files.json_file import save_recipe
    from tanager.files.model_file import save_model
    from tanager.metrics.quality import headline
    from tanager.report.json_page import plural
    from tanager.report.model_card import what_it_is
    from tanager.report.quality_section import no_better

    if data == "-":
        raise OptionError("start writes its files beside DATA, and standard input has no place.", hint="name a file.")
    files = _free_files(data)
    if streams(data, None):
        hint = f"tanager fit {shlex.quote(data)} --class COLUMN -o model.json reads it batch by batch."
        raise DataError(f"{data!r} takes more than half of the memory that is left.", hint=hint)
    target = class_column or _find_class(data, reading)
    with working(f"Checking {data}"):
        recipe, X, y, checkup = _fix(data, target, reading)
    how = "as --class says" if class_column else "by its name; --class names another"
    _print("Read", f"{data}{checkup.place}: {plural(X.num_rows, 'row')}, {plural(X.num_columns, 'attribute')}")
    _print("Class", f"{target!r} ({how}): {checkup.classes}")
    _print("Fixed", recipe.summary)
    _print_findings(checkup, ["tanager", "check", data, "--class", target, "--recipe", files["recipe"]])
    asked = None if event is None else options.find_class("--event", event, options.classes_of(y))
    clf, quality = fit_rows(X, y, kind, event=asked)
    save_recipe(recipe, files["recipe"])
    save_model(clf, files["model"], quality=quality, recipe=recipe)
    write_page_of(files["model"], data, X, y, files["page"], not no_rows)
    _print("Model", what_it_is(clf.model_))
    _print("Quality", "not cross-validated" if quality is None else headline(quality))
    if quality is not None and (words := no_better(quality)):
        _print("Warning", words)
    _print("Open", page_line(files["page"], not no_rows))
    new = f"new{Path(data).suffix}"
    print(f"{'Next':<{MARGIN}}{shlex.join(['tanager', 'predict', files['model'], new, '-o', 'predictions.csv'])}")
    print(f"{'':<{MARGIN}}{shlex.join(['tanager', 'explain', files['model'], new])}")


def _free_files(data: str) -> dict[str, str]:
    """Where model, page and recipe go: beside the table, under names that no file has."""
    from tanager.files.paths import check_readable, check_writable

    file = check_readable(data)
    stem = Path(file.name.removesuffix(".gz")).stem
    for end in chain([""], (f"-{number}" for number in count(2))):
        names = {"model": f"model{end}.json", "page": f"report{end}.html", "recipe": f"recipe{end}.json"}
        files = {what: file.with_name(f"{stem}-{name}") for what, name in names.items()}
        if not any(path.exists() for path in files.values()):
            break
    check_writable(files["model"])
    return {what: str(path) for what, path in files.items()}


def _find_class(data: str, reading: options.Reading) -> str:
    """The column to predict, by its name."""
    from tanager.files.read_table import read_table

    names = read_table(data, reading.rules(reading.preprocessing(None), None)).column_names
    called = [name for name in names if name.strip().lower() in CLASS_NAMES]
    if len(called) != 1:
        words = shlex.join(["tanager", "start", data, "--class", (called or names)[-1]])
        raise OptionError(
            f"which column is the class, that is, the column to predict? The columns are {list_names(names, 12)}.",
            hint=f"for example {words}",
        )
    return called[0]


def _fix(data: str, target: str, reading: options.Reading) -> tuple[Recipe, pa.Table, NamedLabels, Checkup]:
    """The preprocessing, the table after it, and its checkup: fixed until no fix is left that needs no decision."""
    from tanager.cli.training_data import check_file, read_unchecked

    recipe = reading.preprocessing(target)
    for _ in range(MOST_ROUNDS):
        checkup, _ = check_file(data, target, reading, recipe)
        _refuse_class(checkup)
        steps = tuple(dict.fromkeys([*recipe.steps, *checkup.recipe.steps]))
        if steps == recipe.steps:
            break
        recipe = replace(recipe, steps=steps)
    X, y = read_unchecked(data, target, reading, recipe)
    y.issues = tuple(finding.line for finding in checkup.of_severity("high"))  # for the model and the page
    return recipe, X, y, checkup


def _refuse_class(checkup: Checkup) -> None:
    """Refuse a class of one value, and a quantity, before anything else is said."""
    of_class = checkup.columns[-1]
    if of_class.distinct == 1:
        value = checkup.classes.removesuffix(" 100 %")
        hint = "name another column with --class."
        raise DataError(f"the class {of_class.name!r} has one value, {value!r}; a model needs two or more.", hint=hint)
    if any(finding.topic == "quantity" for finding in checkup.findings):
        words = f"{of_class.name!r} holds {of_class.distinct:,} different numbers: it is a quantity."
        raise DataError(f"{words} Tanager predicts classes.", hint="group its values in the table.")


def _print_findings(checked: Checkup, command: Sequence[str]) -> None:
    """The worst issues that are left after the fixes, codes that may mean missing, and the command that shows all."""
    worst, others = checked.of_severity("high"), checked.of_severity("medium")
    codes = [finding for finding in others if finding.topic == "code"]
    named = [*worst[:MAX_WARNINGS], *codes[:MAX_WARNINGS]]
    for finding in named:
        _print("Warning" if finding in worst else "Check", finding.line)
    if more := len(worst) + len(others) - len(named):
        _print("Check", f"{more} more {'issue' if more == 1 else 'issues'} to look at:")
        print(f"{'':<{MARGIN}}{shlex.join(command)}")


def _print(label: str, words: str) -> None:
    """One line, or several where it is long; a command is printed whole, so that it can be copied."""
    plain = " ".join(words.split())
    print(fill(f"{label:<{MARGIN}}{plain}", WIDTH, subsequent_indent=" " * MARGIN, break_on_hyphens=False))
