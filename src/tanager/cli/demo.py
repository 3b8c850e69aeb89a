"""`tanager demo`: the whole way on a table that scikit-learn brings along; `tanager completion` for shells."""

from __future__ import annotations

import shlex
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

CLASS = "diagnosis"
COMPARED = {"naive Bayes": "naive-bayes:frequency", "TAN": "tan:fcll:frequency", "TAN, conditional": "tan:fcll"}
"""What the model is compared with: Bayesian networks, as `tanager compare` writes them."""


def demo(
    output: Annotated[
        Path, options.option("FOLDER", "Where the table, the model and the page go.", "--output", "-o")
    ] = Path("tanager-demo"),
    force: options.Force = False,
) -> None:
    """Fit a model to 569 breast cancer diagnoses, compare it with Bayesian networks and write a page about it.

    The table comes with scikit-learn: nothing is downloaded.

    Examples:

      tanager demo
      tanager demo -o /tmp/demo
    """
    import numpy as np

    from tanager.cli.fit import fit_rows
    from tanager.files.model_file import MODEL, save_model
    from tanager.files.paths import check_output, make_folder
    from tanager.files.write_table import table_kind, write_table
    from tanager.report.model_card import About
    from tanager.report.write_page import PAGE, write_page

    make_folder(output)
    X, y = _breast_cancer()
    model, table, page = output / "model.json", output / "breast_cancer.csv", output / "report.html"
    rows_of_demo = table_kind([*X.column_names, CLASS])
    check_output(table, rows_of_demo, force=force)
    for file, kind in (model, MODEL), (page, PAGE):
        check_output(file, _beside(table, rows_of_demo, kind), force=force)
    write_table(X.append_column(CLASS, [y.tolist()]), table)  # first: the others are known by it
    clf, quality = fit_rows(X, y, options.ModelOptions())
    save_model(clf, model, quality=quality)
    about = About("Breast cancer", "To show what Tanager does.", model=model, table=table)
    write_page(clf, X, y, page, quality, about, numbers=np.arange(X.num_rows) + 2)  # as in the table, below its header
    print(f"{table}: {X.num_rows} rows, {X.num_columns} attributes\n\n{quality}\n")
    if quality is not None:
        _print_comparison(X, y, quality)
    print(f"\nThe model is in {model}. Open {page} in a browser to see it and ask it what-if questions. Then try:")
    for command in (["evaluate", str(table), "--class", CLASS], ["predict", str(model), str(table), "--proba"]):
        print(f"  {shlex.join(['tanager', *command])}")


def _beside(table: Path, rows_of_demo: OutputKind, kind: OutputKind) -> OutputKind:
    """A file of a kind beside the table of the demo: elsewhere a model, or a page, is somebody's own."""

    def is_in(file: Path) -> bool:
        return table.is_file() and rows_of_demo.is_in(table) and kind.is_in(file)

    return replace(kind, name=f"{kind.name} beside the table of the demo", is_in=is_in)


def _breast_cancer() -> tuple[pa.Table, NamedLabels]:
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    from tanager.cli.training_data import NamedLabels

    bunch = load_breast_cancer()
    X = pa.table(list(bunch.data.T.copy()), names=[str(name) for name in bunch.feature_names])
    y = bunch.target_names[bunch.target].view(NamedLabels)
    y.name = CLASS
    return X, y


def _print_comparison(X: pa.Table, y: NDArray[np.generic], quality: Quality) -> None:
    """The base rate, Bayesian networks and the additive model, on the same folds."""
    from tanager.evaluate.cross_validate import cross_validate_model
    from tanager.evaluate.specs import parse_estimator
    from tanager.metrics import Measures
    from tanager.metrics.quality import NAMES, show

    measured = {"base rate alone": quality.base}
    with working("Comparing") as update:
        for k, (name, spec) in enumerate(COMPARED.items()):
            update(name, k, len(COMPARED))
            measured[name] = cross_validate_model(parse_estimator(spec), X, y).measures
    measured["additive model"] = quality.measures
    table = new_table(["model"], [NAMES[name] for name in Measures._fields])
    for name, measures in measured.items():
        table.add_row(name, *(show(measure, value) for measure, value in measures._asdict().items()))
    print_table("Compared on rows that no model had seen", table)


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
