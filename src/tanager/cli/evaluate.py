"""`tanager evaluate`: how good a kind of model is on a table, by cross-validation, or a model on rows new to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.tables import new_table, print_table
from tanager.errors import DataError, OptionError
from tanager.progress import working

if TYPE_CHECKING:
    from tanager.experiments.measured_fold import Measures


def evaluate(
    data: options.Data,
    class_column: Annotated[
        str | None, typer.Option("--class", "-c", metavar="COLUMN", help="The column to predict.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Measure this model, of `tanager fit`, on DATA: nothing is learnt."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Parts the rows are split into, each tested once.")] = 5,
    structure: options.Structure = "pairwise",
    criterion: options.Criterion = None,
    parameters: options.Parameters = "conditional",
    categorical: options.Categorical = None,
    discretizer: options.Discretizer = None,
    engine: options.Engine = "auto",
    device: options.Device = None,
    class_weight: options.ClassWeight = None,
    seed: options.Seed = 0,
    missing: options.Missing = None,
    drop: options.Drop = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the value of every fold.")] = False,
) -> None:
    """Measure a kind of model by stratified cross-validation, or a model that has been learnt on rows new to it.

    Accuracy, log loss (nats), Brier score (0 to 2), area under the ROC curve (mean of one against the rest for more
    than two classes), and seconds: mean and standard deviation over the folds.

    Examples:

      tanager evaluate iris.csv --class species

      tanager evaluate iris.csv --class species --structure naive-bayes --folds 10 --json

      tanager evaluate test.csv --model iris.json
    """
    from tanager.cli.cross_validate import cross_validate
    from tanager.cli.training_data import Reading, leave_out_unlabelled, read_training_data

    if model is not None:
        if class_column is not None:
            raise OptionError("--class says what to learn, and a --model has been learnt.", hint="leave one out.")
        if drop:
            raise OptionError("--drop is for learning: a --model takes the columns it knows and no other.")
        _evaluate_model(model, data, missing, as_json)
        return
    if class_column is None:
        raise OptionError("Missing option '--class': the column to predict.", hint="or a --model to measure.")
    with working(f"Reading {data}"):
        table, labels = read_training_data(data, class_column, Reading(missing or (), drop or ()))
    chosen = options.ModelOptions(
        structure, criterion, parameters, categorical, discretizer, engine, device, seed, class_weight
    )
    X, y = leave_out_unlabelled(table, labels)
    with working("Fold 1") as update:
        measured = cross_validate(chosen.classifier(X.column_names, y), X, y, folds, seed, update)
    if as_json:
        print(json.dumps({"rows": X.num_rows, "attributes": X.num_columns, **summarize(measured)}, indent=2))
    else:
        print_comparison({structure: measured}, f"{X.num_rows:,} rows, {folds} folds: mean ± standard deviation")


def _evaluate_model(path: str, data: str, missing: Sequence[str] | None, as_json: bool) -> None:
    from tanager.cli.training_data import leave_out_unlabelled, read_rows
    from tanager.decide import measure_decision
    from tanager.files.model_file import load_model
    from tanager.measures import measure_quality
    from tanager.table.training_table import encode_labels

    clf = load_model(path)
    with working(f"Reading {data}"):
        X, y = read_rows(data, clf, missing)
    if y is None:
        raise DataError(f"the data has no column {clf.network_.nodes[-1]!r}, the class of the model, to judge it by.")
    X, truth = leave_out_unlabelled(X, y, clf.classes_)
    with working(f"Predicting {X.num_rows:,} rows"):
        probabilities = clf.predict_proba(X)
    class_codes = encode_labels(truth, clf.classes_)[1]
    measured = measure_quality(probabilities, class_codes)._asdict()
    decided = None if clf.decision_ is None else measure_decision(clf.decision_, probabilities, class_codes)
    if as_json:
        found = {"rows": X.num_rows, "attributes": X.num_columns, **measured}
        print(json.dumps(found if decided is None else {**found, "decision": decided.to_dict()}, indent=2))
    else:
        rows = [(name.replace("_", " "), f"{value:.4f}") for name, value in measured.items()]
        _print(f"{X.num_rows:,} rows of {data}", [path], rows)
        if decided is not None:
            print(decided)


def summarize(measured: list[Measures]) -> dict[str, dict[str, float | list[float]]]:
    """Mean, standard deviation (of a sample: n - 1) and every fold's value of each measure."""
    import numpy as np

    from tanager.experiments.measured_fold import MEASURES

    values = {name: [getattr(fold, name) for fold in measured] for name in MEASURES}
    return {
        name: {"mean": float(np.mean(folds)), "std": float(np.std(folds, ddof=1)), "folds": folds}
        for name, folds in values.items()
    }


def print_comparison(measured: dict[str, list[Measures]], title: str) -> None:
    """A column per model, a row per measure."""
    summaries = {name: summarize(folds) for name, folds in measured.items()}
    rows = []
    for measure in next(iter(summaries.values())):
        cells = [f"{summary[measure]['mean']:.4f} ± {summary[measure]['std']:.4f}" for summary in summaries.values()]
        rows.append((measure.replace("_", " "), *cells))
    _print(title, list(summaries), rows)


def _print(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = new_table([""], headings)
    for row in rows:
        table.add_row(*row)
    print_table(title, table)
