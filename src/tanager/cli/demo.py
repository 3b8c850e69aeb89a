"""`tanager demo`: the whole way on a table that scikit-learn brings along; `tanager completion` for shells."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tanager.cli import options
from tanager.cli.output import new_table, print_table
from tanager.runtime.progress import working

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tanager.cli.training_data import NamedLabels
    from tanager.files.paths import OutputKind
    from tanager.metrics import Quality

FOLDS = 5
MODELS = {
    "naive Bayes": "naive-bayes:frequency",
    "TAN, frequency": "tan:fcll:frequency",
    "TAN, conditional": "tan:fcll:conditional",
    "additive model": "additive(random_state=0)",
}
CLASS = "diagnosis"


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the table, the model and the page go.")
    ] = Path("tanager-demo"),
    force: options.Force = False,
) -> None:
    """Compare naive Bayes, TAN and the additive model on 569 breast cancer diagnoses; nothing is downloaded.

    Examples:

      tanager demo
      tanager demo -o /tmp/demo
    """
    from tanager.classifiers.base import TableClassifier
    from tanager.evaluate.cross_validate import cross_validate_model
    from tanager.evaluate.specs import parse_estimator
    from tanager.files.model_file import MODEL, save_model
    from tanager.files.paths import check_output, make_folder
    from tanager.files.write_table import table_kind, write_table
    from tanager.metrics.quality import calibration_line
    from tanager.report.model_card import About
    from tanager.report.write_page import PAGE, write_page

    make_folder(output)
    X, y = _breast_cancer()
    model, table, page = output / "model.json", output / "breast_cancer.csv", output / "report.html"
    rows_of_demo = table_kind([*X.column_names, CLASS])
    check_output(table, rows_of_demo, force=force)
    for file, kind in (model, MODEL), (page, PAGE):
        check_output(file, _beside(table, rows_of_demo, kind), force=force)
    measured: dict[str, Quality] = {}
    with working("Comparing") as update:
        for name, spec in MODELS.items():
            update(name, len(measured), len(MODELS))
            clf = cast(TableClassifier, parse_estimator(spec)).fit(X, y)
            measured[name] = cross_validate_model(clf, X, y, cv=FOLDS)
    quality = measured[name]  # of the default model, the last
    _print_comparison(
        measured,
        f"{X.num_rows} rows, {X.num_columns} attributes, judged by models of other rows: {quality.split}",
    )
    print(f"{calibration_line(quality)}\n")
    write_table(X.append_column(CLASS, [y.tolist()]), table)  # first: the others are known by it
    save_model(clf, model, quality=quality)
    write_page(clf, X, y, path=page, quality=quality, about=About("Breast cancer", "To show what Tanager does."))
    _print_predictions(clf.predict_proba(X), clf.classes_, y)
    command = running_command()
    print(f"\nThe table is in {table}, the default model in {model}.")
    print(f"Open {page} in a browser to see the model and ask it what-if questions. Then try:")
    print(f"  {command} evaluate {quote(str(table))} --class {CLASS}")
    print(f"  {command} predict {quote(str(model))} {quote(str(table))} --proba")


def _beside(table: Path, rows_of_demo: OutputKind, kind: OutputKind) -> OutputKind:
    """A file of a kind beside the table of the demo: elsewhere a model, or a page, is somebody's own."""

    def is_in(file: Path) -> bool:
        return table.is_file() and rows_of_demo.is_in(table) and kind.is_in(file)

    return replace(kind, name=f"{kind.name} beside the table of the demo", is_in=is_in)


def running_command() -> str:
    """What to type to run this very command again: its name where the shell finds it, else its path."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return f"{quote(sys.executable)} -m tanager"
    command = shutil.which(started.name)
    same = command is not None and started.exists() and Path(command).samefile(started)
    return started.name if same else quote(str(started))


def _breast_cancer() -> tuple[pa.Table, NamedLabels]:
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    from tanager.cli.training_data import NamedLabels

    bunch = load_breast_cancer()
    X = pa.table(list(bunch.data.T.copy()), names=[str(name) for name in bunch.feature_names])
    y = bunch.target_names[bunch.target].view(NamedLabels)
    y.name = CLASS
    return X, y


def _print_comparison(measured: dict[str, Quality], title: str) -> None:
    """The base rate, then a line for each model."""
    from tanager.metrics import Measures
    from tanager.metrics.quality import NAMES, show

    table = new_table(["model"], [NAMES[name] for name in Measures._fields])
    base = next(iter(measured.values())).base
    for name, measures in {"base rate alone": base, **{name: each.measures for name, each in measured.items()}}.items():
        table.add_row(name, *(show(measure, value) for measure, value in measures._asdict().items()))
    print_table(title, table)


def _print_predictions(
    probabilities: NDArray[np.float64], classes: NDArray[np.generic], truth: NDArray[np.generic]
) -> None:
    """The first row, a middle one, and the one the model is least certain of."""
    least_certain = int(probabilities.max(axis=1).argmin())
    table = new_table([], ["row", *(f"P({CLASS}={label})" for label in classes), f"true {CLASS}"])
    for row in (0, len(truth) // 2, least_certain):
        table.add_row(str(row), *(f"{p:.4f}" for p in probabilities[row]), str(truth[row]))
    print_table("Three rows, as the default model sees them", table)


class Shell(StrEnum):
    """The shells that typer has a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to write it for.")]) -> None:
    """Print a script that completes commands, options and names of parts in a shell.

    Examples:

      source <(tanager completion bash)
      tanager completion zsh > ~/.zfunc/_tanager
      tanager completion fish > ~/.config/fish/completions/tanager.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="tanager", complete_var="_TANAGER_COMPLETE", shell=shell.value))
