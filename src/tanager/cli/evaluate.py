"""`tanager evaluate`: how good a kind of model is on a table, by cross-validation, or a model on rows new to it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.errors import DataError, DataWarning, OptionError
from tanager.runtime.progress import working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.decide import DecisionQuality
    from tanager.evaluate.cross_validate import HeldOut
    from tanager.metrics import Quality


def evaluate(
    data: options.Data,
    class_column: Annotated[
        str | None, typer.Option("--class", "-c", metavar="COLUMN", help="The column to predict.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Measure this model, of `tanager fit`, on DATA: nothing is learnt."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="Parts the rows are split into, each tested once. By default 5; of a large table (rows x attributes "
            "x classes above two million) one part is held out.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Deal the rows to folds so often anew: for few rows.")] = 1,
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows with the same value here, such as a patient, are held out together."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows are ordered by this column, and judged by a model of earlier ones."),
    ] = None,
    structure: options.Structure = None,
    pairs: options.Pairs = "auto",
    no_trees: options.NoTrees = False,
    criterion: options.Criterion = None,
    parameters: options.Parameters = None,
    categorical: options.Categorical = None,
    discretizer: options.Discretizer = None,
    engine: options.Engine = "auto",
    device: options.Device = None,
    class_weight: options.ClassWeight = None,
    monotone: options.Monotone = None,
    seed: options.Seed = 0,
    missing: options.Missing = None,
    drop: options.Drop = None,
    recipe: options.RecipeFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the value of every fold.")] = False,
) -> None:
    """Measure a kind of model by stratified cross-validation, or a model that has been learnt on rows new to it.

    Shown are the classes, each measure beside what the base rate alone would give, with a 95 % interval, which row was
    taken for which class, and whether probabilities can be taken at their word.

    The columns of --group and --time are no attributes.

    Examples:

      tanager evaluate iris.csv --class species

      tanager evaluate iris.csv --class species --structure naive-bayes --folds 10 --repeats 3 --json

      tanager evaluate visits.csv --class outcome --group patient

      tanager evaluate test.csv --model iris.json
    """
    from tanager.cli.training_data import Reading, read_training_data
    from tanager.evaluate.cross_validate import labelled_rows, validate

    if model is not None:
        _check_model_options(class_column, drop, recipe, group, time)
        _evaluate_model(model, data, missing, as_json)
        return
    if class_column is None:
        raise OptionError("Missing option '--class': the column to predict.", hint="or a --model to measure.")
    with working(f"Reading {data}"):
        table, labels = read_training_data(data, class_column, Reading(missing or (), drop or (), recipe))
    chosen = options.ModelOptions(
        structure, criterion, parameters, categorical, discretizer, engine, device, seed, class_weight
    ).additive(monotone, pairs, no_trees)
    y, rows = labelled_rows(table, labels)
    X, held_out = _held_out(table.take(rows), folds, repeats, group, time, seed)
    with working("Folds") as update:
        clf = chosen.classifier(X.column_names, y)
        quality = validate(clf, X, y, held_out, update)
    title = f"{data}: {X.num_rows:,} rows, {X.num_columns:,} attributes\nRows judged by models that had not seen them: "
    title += quality.split
    _show(quality, None, title, {"rows": X.num_rows, "attributes": X.num_columns}, as_json)


def _check_model_options(
    class_column: str | None,
    drop: list[str] | None,
    recipe: str | None,
    group: str | None,
    time: str | None,
) -> None:
    if class_column is not None:
        raise OptionError("--class says what to learn, and a --model has been learnt.", hint="leave one out.")
    if drop or recipe:
        raise OptionError("--drop and --recipe are for learning: a --model remembers its own.")
    if group is not None or time is not None:
        raise OptionError("--group and --time say how rows are held out, and a --model judges all of DATA.")


def _held_out(
    X: pa.Table, folds: int | None, repeats: int, group: str | None, time: str | None, seed: int
) -> tuple[pa.Table, HeldOut]:
    """The attributes, less the columns that say how rows are held out; and how they are."""
    from tanager.cli.training_data import check_column
    from tanager.evaluate.cross_validate import HeldOut, read_groups, read_times

    groups = None if group is None else read_groups(X.column(check_column(group, X.column_names, "to --group by")))
    times = None if time is None else read_times(X.column(check_column(time, X.column_names, "of --time")))
    X = X.drop_columns(sorted({name for name in (group, time) if name is not None}))
    if not X.num_columns:
        raise DataError("there is no column besides the class and those that say how rows are held out.")
    return X, HeldOut(folds, repeats, groups, times, seed)


def _evaluate_model(path: str, data: str, missing: Sequence[str] | None, as_json: bool) -> None:
    import numpy as np

    from tanager.cli.training_data import read_rows
    from tanager.decide import measure_decision
    from tanager.evaluate.cross_validate import labelled_rows, quality_of_training_table
    from tanager.files.model_file import load_model
    from tanager.metrics import Predictions, Quality
    from tanager.table.training_table import encode_labels

    clf = load_model(path)
    with working(f"Reading {data}"):
        X, y = read_rows(data, clf, missing)
    if y is None:
        raise DataError(f"the data has no column {clf.model_.nodes[-1]!r}, the class of the model, to judge it by.")
    truth, rows = labelled_rows(X, y, clf.classes_)
    X = X.take(rows)
    with working(f"Predicting {X.num_rows:,} rows"):
        probabilities = clf.predict_proba(X)
    class_codes = encode_labels(truth, clf.classes_)[1].astype(np.intp)
    predictions = Predictions(probabilities, class_codes, np.zeros(len(truth), dtype=np.intp))
    base_rate = clf.class_count_ / clf.class_count_.sum()
    quality = Quality.of(predictions, clf.classes_, base_rate, "rows given to the model")
    decided = None if clf.decision_ is None else measure_decision(clf.decision_, probabilities, class_codes)
    if quality_of_training_table(clf, X, truth, clf.quality_) is not None:
        warnings.warn(
            "the model was learnt from just these rows, so it does worse on others. Hint: "
            f"`tanager explain {path}` and `tanager report` show what cross-validation found.",
            DataWarning,
            stacklevel=2,
        )
    title = f"{path} on {X.num_rows:,} rows of {data}"
    _show(quality, decided, title, {"rows": X.num_rows, "attributes": X.num_columns}, as_json)


def _show(
    quality: Quality, decided: DecisionQuality | None, title: str, counts: dict[str, object], as_json: bool
) -> None:
    if as_json:
        found = {**counts, **quality.to_dict()}
        print(json.dumps(found if decided is None else {**found, "decision": decided.to_dict()}, indent=2))
        return
    print(f"{title}\n\n{quality}")
    if decided is not None:
        print(f"\n{decided}")
