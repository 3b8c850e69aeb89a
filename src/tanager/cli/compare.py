"""`tanager compare`: classifiers on the same folds of a table."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.errors import DataError, DataWarning, OptionError
from tanager.runtime.progress import working

if TYPE_CHECKING:
    from tanager.evaluate.compare import FoldMeasures

SHOWN = {"error": ("error in %", 100.0), "log_loss": ("log-loss", 1.0)}
"""The measures that are printed, with heading and factor; JSON has all."""


def compare(
    classifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLASSIFIER...",
            help="structure:criterion:parameters such as tan:fcll:conditional, or structure:parameters where the "
            "structure asks for no criterion, with options as in bckg(max_parents=1); "
            "'default'; or the import path of a scikit-learn classifier. NAME=SPEC gives it a name.",
        ),
    ] = None,
    classics: Annotated[
        bool, typer.Option("--classics", help="Naive Bayes, TAN, KDB, AODE and their kin, at their defaults.")
    ] = False,
    data: Annotated[str, typer.Option(metavar="TABLE", help="The table; - is CSV on stdin.")] = "",
    class_column: Annotated[
        str, typer.Option("--class", "-c", metavar="COLUMN", help="The column to predict.")
    ] = "class",
    folds: Annotated[int, typer.Option(help="Parts the rows are split into.")] = 5,
    seed: options.Seed = 0,
    missing: options.Missing = None,
    drop: options.Drop = None,
    recipe: options.RecipeFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every measure of every fold.")] = False,
) -> None:
    """Compare classifiers on the same folds of a table: error and log-loss, fold by fold.

    Everything is learnt from the training part of each fold. A classifier that fails is named and does not stop the
    others.

    Examples:

      tanager compare default naive-bayes sklearn.ensemble.RandomForestClassifier --data iris.csv --class species

      tanager compare default --classics --data iris.csv --class species
    """
    from tanager.cli.training_data import Reading, read_training_data
    from tanager.evaluate.compare import compare as compare_classifiers
    from tanager.evaluate.compare import name_classifiers
    from tanager.evaluate.cross_validate import labelled_rows

    if not (classifiers or classics):
        raise OptionError("there is nothing to compare.", hint="name classifiers such as tan:fcll, or --classics.")
    if not data:
        raise OptionError("Missing option '--data': the table to compare on.")
    named = name_classifiers(classifiers or (), classics)
    with working(f"Reading {data}"):
        table, labels = read_training_data(data, class_column, Reading(missing or (), drop or (), recipe))
    y, rows = labelled_rows(table, labels)
    with working("Comparing") as update:
        measured, failures = compare_classifiers(named, table.take(rows), y, folds, seed, update)
    if not measured:
        name, words = next(iter(failures.items()))
        raise DataError(f"nothing could be measured; {name}: {words}")
    for name, words in failures.items():
        warnings.warn(f"{name} failed: {words}", DataWarning, stacklevel=2)
    if as_json:
        print(json.dumps({"classifiers": {name: _to_json(each) for name, each in measured.items()}}, indent=2))
        return
    for key, (heading, factor) in SHOWN.items():
        print(_fold_table(heading, {name: _columns(each)[key] for name, each in measured.items()}, factor))


def _columns(measured: list[FoldMeasures]) -> dict[str, tuple[float, ...]]:
    """The values of the folds, by measure."""
    return dict(zip(measured[0]._fields, zip(*measured, strict=True), strict=True))


def _to_json(measured: list[FoldMeasures]) -> dict[str, list[float | None]]:
    from tanager.metrics.quality import finite

    return {key: [finite(value) for value in values] for key, values in _columns(measured).items()}


def _fold_table(heading: str, values: dict[str, tuple[float, ...]], factor: float) -> str:
    """A line per classifier: mean, standard deviation and each fold."""
    import numpy as np

    from tanager.metrics.quality_text import text_table

    n_folds = len(next(iter(values.values())))
    rows = []
    for name, folds in values.items():
        shown = factor * np.array(folds)
        figures = [shown.mean(), shown.std(ddof=1), *shown]
        rows.append([name, *("-" if np.isnan(figure) else f"{figure:.4g}" for figure in figures)])
    header = [heading, "mean", "std", *(f"fold {k}" for k in range(1, n_folds + 1))]
    return text_table(header, rows) + "\n"
