"""`tanager demo`: the whole way on a table that scikit-learn brings along; `tanager completion` for shells."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.report import write_page_of
from tanager.errors import OptionError

CLASS = "diagnosis"
COMPARED = ("additive=default", "tan", "naive-bayes")


def demo(
    output: Annotated[
        Path, options.option("FOLDER", "Where the table, the model and the page go.", "--output", "-o")
    ] = Path("tanager-demo"),
    force: options.Force = False,
) -> None:
    """Fit a model to 569 breast cancer diagnoses, compare it with Bayesian networks, and write a page about it.

    The table comes with scikit-learn: nothing is downloaded.

    Examples:

      tanager demo
      tanager demo -o /tmp/demo
    """
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    from tanager.cli.evaluate import print_comparison
    from tanager.cli.fit import fit_rows
    from tanager.cli.training_data import read_training_data
    from tanager.files.model_file import MODEL, save_model
    from tanager.files.paths import check_output, make_folder
    from tanager.files.write_table import table_kind, write_table
    from tanager.report.write_page import PAGE

    make_folder(output)
    model, table, page = (str(output / name) for name in ("model.json", "breast_cancer.csv", "report.html"))
    bunch = load_breast_cancer()
    names = [*map(str, bunch.feature_names), CLASS]
    if not force and not Path(table).exists() and any(output.iterdir()):
        words = f"cannot write {str(output)!r}: the folder holds files of others."
        raise OptionError(words, hint="name another folder, or use --force.")
    for file, file_kind in (table, table_kind(names)), (model, MODEL), (page, PAGE):
        check_output(file, file_kind, force=force)
    write_table(pa.table([*bunch.data.T.copy(), bunch.target_names[bunch.target]], names), table)
    X, y = read_training_data(table, CLASS, options.Reading())
    clf, quality = fit_rows(X, y, options.ModelOptions())
    save_model(clf, model, quality=quality)
    write_page_of(model, table, X, y, page, keep_rows=True)
    print(f"{table}: {X.num_rows} rows, {X.num_columns} attributes\n\n{quality}\n")
    print_comparison(COMPARED, X, y)
    print(f"\nThe model is in {model}. Open {page} in a browser to see it and ask it what-if questions. Then try:")
    for command in (
        ["evaluate", table, "--class", CLASS],
        ["predict", model, table, "--proba"],
    ):
        print(f"  {shlex.join(['tanager', *command])}")


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
