"""`tanager evaluate`: how good a kind of model is on a table, by cross-validation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.progress import working

if TYPE_CHECKING:
    from tanager.cli.cross_validate import Measures


def evaluate(
    data: options.Data,
    class_column: options.ClassColumn,
    folds: Annotated[int, typer.Option(help="Parts the rows are split into, each tested once.")] = 5,
    structure: options.Structure = "tan",
    score: options.Score = "fcll",
    parameters: options.Parameters = "conditional",
    categorical: options.Categorical = None,
    discretizer: options.Discretizer = "mdlp",
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    missing: options.Missing = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the value of every fold.")] = False,
) -> None:
    """Measure a kind of model by stratified cross-validation.

    Accuracy, log loss (nats), Brier score (0 to 2), area under the ROC curve (mean of one against the rest for more
    than two classes), and seconds: mean and standard deviation over the folds.

    Examples:

      tanager evaluate iris.csv --class species

      tanager evaluate iris.csv --class species --structure naive-bayes --folds 10 --json
    """
    from tanager.cli.cross_validate import cross_validate
    from tanager.cli.training_data import read_training_data

    with working(f"Reading {data}"):
        X, y = read_training_data(data, class_column, missing)
    chosen = options.ModelOptions(structure, score, parameters, categorical, discretizer, engine, seed)
    with working("Fold 1") as report:
        measured = cross_validate(chosen.classifier(X.column_names), X, y, folds, seed, report)
    if as_json:
        print(json.dumps({"rows": X.num_rows, "attributes": X.num_columns, **summarize(measured)}, indent=2))
    else:
        print_comparison({structure: measured}, f"{X.num_rows:,} rows, {folds} folds: mean ± standard deviation")


def summarize(measured: list[Measures]) -> dict[str, dict[str, float | list[float]]]:
    """Mean, standard deviation (of a sample: n - 1) and every fold's value of each measure."""
    import numpy as np

    from tanager.cli.cross_validate import MEASURES

    values = {name: [getattr(fold, name) for fold in measured] for name in MEASURES}
    return {
        name: {"mean": float(np.mean(folds)), "std": float(np.std(folds, ddof=1)), "folds": folds}
        for name, folds in values.items()
    }


def print_comparison(measured: dict[str, list[Measures]], title: str) -> None:
    """A column per model, a row per measure."""
    from rich.console import Console
    from rich.table import Table

    summaries = {name: summarize(folds) for name, folds in measured.items()}
    table = Table(title=title, title_justify="left", title_style="")
    table.add_column("")
    for name in summaries:
        table.add_column(name, justify="right")
    for measure in next(iter(summaries.values())):
        cells = [f"{summary[measure]['mean']:.4f} ± {summary[measure]['std']:.4f}" for summary in summaries.values()]
        table.add_row(measure.replace("_", " "), *cells)
    Console().print(table)
