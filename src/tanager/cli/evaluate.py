"""`tanager evaluate`, `compare` and `stability`: how good kinds of models are on a table, and what of them stays."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.errors import DataError, DataWarning, OptionError
from tanager.runtime.progress import working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.cli.training_data import NamedLabels
    from tanager.decide import DecisionQuality
    from tanager.evaluate.compare import FoldMeasures
    from tanager.evaluate.cross_validate import HeldOut
    from tanager.metrics import Quality

SHOWN = {"error": ("error in %", 100.0), "log_loss": ("log-loss", 1.0)}
"""The measures that `compare` prints, with heading and factor; JSON has all."""


@options.grouped
def evaluate(
    data: options.Data,
    kind: options.ModelOptions,
    reading: options.Reading,
    class_column: options.OptionalClass = None,
    model: Annotated[
        str | None, options.option("FILE", "Measure this model of `tanager fit` on DATA; nothing is learnt.")
    ] = None,
    folds: Annotated[
        int | None,
        options.option(
            None,
            "Parts the rows are split into, each tested once. By default 5; of a large table (rows x attributes "
            "x classes above two million) one part is held out.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int, options.option(None, "How often the rows are assigned to new folds; useful for few rows.")
    ] = 1,
    group: Annotated[
        str | None, options.option("COLUMN", "Rows with the same value here, such as a patient, are held out together.")
    ] = None,
    time: Annotated[
        str | None,
        options.option("COLUMN", "Rows are ordered by this column; each is predicted by a model of earlier rows."),
    ] = None,
    event: options.Event = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure a kind of model by stratified cross-validation, or a fitted model on rows that are new to it.

    It prints the share of the cases of the event that are found and of the alarms that are right, the classes, each
    measure with a 95 % interval beside that of the base rate, the confusion matrix, and the calibration of the
    probabilities.

    The columns of --group and --time are not attributes.

    Examples:

      tanager evaluate iris.csv --class species
      tanager evaluate iris.csv --class species --structure naive-bayes --folds 10 --repeats 3 --json
      tanager evaluate visits.csv --class outcome --group patient
      tanager evaluate test.csv --model iris.json
    """
    from tanager.cli.training_data import read_training_data
    from tanager.evaluate.cross_validate import labelled_rows, validate

    if model is not None:
        if class_column is not None:
            raise OptionError("--class says what to learn, and a --model has been learnt.", hint="leave one out.")
        if reading.drop or reading.recipe:
            raise OptionError("--drop and --recipe are for learning: a --model remembers its own.")
        if group is not None or time is not None:
            raise OptionError("--group and --time say how rows are held out, and a --model judges all of DATA.")
        _evaluate_model(model, data, reading.missing, event, as_json)
        return
    if class_column is None:
        raise OptionError("Missing option '--class': the column to predict.", hint="or a --model to measure.")
    table, labels = read_training_data(data, class_column, reading)
    y, rows = labelled_rows(table, labels)
    if event is not None:
        options.find_class("--event", event, options.classes_of(y))
    X, held_out = _held_out(table.take(rows), folds, repeats, group, time, kind.seed)
    with working("Folds") as update:
        quality = _about(validate(kind.classifier(X.column_names, y), X, y, held_out, update), event)
    title = f"{data}: {X.num_rows:,} rows, {X.num_columns:,} attributes\nRows judged by models that had not seen them: "
    title += quality.split
    _show(quality, None, title, {"rows": X.num_rows, "attributes": X.num_columns}, as_json)


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


def _about(quality: Quality, event: str | None) -> Quality:
    """The quality, with the event that was asked for."""
    if event is None:
        return quality
    return replace(quality, event=options.find_class("--event", event, quality.classes.tolist()))


def _evaluate_model(path: str, data: str, missing: Sequence[str] | None, event: str | None, as_json: bool) -> None:
    import numpy as np

    from tanager.cli.training_data import read_labelled_rows
    from tanager.decide import measure_decision
    from tanager.evaluate.cross_validate import quality_of_training_table
    from tanager.files.model_file import load_model
    from tanager.metrics import Predictions, Quality
    from tanager.table.training_table import encode_labels

    clf = load_model(path)
    X, truth = read_labelled_rows(data, clf, missing)
    if truth is None:
        raise DataError(f"the data has no column {clf.model_.nodes[-1]!r}, the class of the model, to judge it by.")
    with working(f"Predicting {X.num_rows:,} rows"):
        probabilities = clf.predict_proba(X)
    class_codes = encode_labels(truth, clf.classes_)[1].astype(np.intp)
    predictions = Predictions(probabilities, class_codes, np.zeros(len(truth), dtype=np.intp))
    base_rate = clf.class_count_ / clf.class_count_.sum()
    quality = Quality.of(predictions, clf.classes_, base_rate, "rows given to the model")
    quality = _about(replace(quality, event=None if clf.quality_ is None else clf.quality_.event), event)
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
        document = {**counts, **quality.to_dict()}
        print(json.dumps(document if decided is None else {**document, "decision": decided.to_dict()}, indent=2))
        return
    print(f"{title}\n\n{quality}")
    if decided is not None:
        print(f"\n{decided}")


@options.grouped
def compare(
    reading: options.Reading,
    data: Annotated[str, options.option("TABLE", "The table; - is CSV on stdin.")],
    classifiers: Annotated[
        list[str],
        typer.Argument(
            metavar="CLASSIFIER...",
            help="structure:criterion:parameters such as tan:fcll:conditional, or structure:parameters where the "
            "structure asks for no criterion, with options as in bckg(max_parents=1); "
            "'default'; or the import path of a scikit-learn classifier. NAME=SPEC gives it a name.",
        ),
    ],
    class_column: options.ClassColumn = "class",
    folds: Annotated[int, options.option(None, "Parts the rows are split into.")] = 5,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Compare classifiers on the same folds of a table: error and log-loss, fold by fold.

    Each classifier is fitted to the training rows of each fold. One that fails is named and does not stop the others.

    Examples:

      tanager compare default naive-bayes sklearn.ensemble.RandomForestClassifier --data iris.csv --class species
    """
    from tanager.cli.training_data import read_training_data

    table, labels = read_training_data(data, class_column, reading)
    print_comparison(classifiers, table, labels, folds, seed, as_json)


def print_comparison(
    classifiers: Sequence[str],
    table: pa.Table,
    labels: NamedLabels,
    folds: int = 5,
    seed: int = 0,
    as_json: bool = False,
) -> None:
    """Print the error and the log-loss of each classifier on the same folds, or all measures as JSON."""
    from tanager.evaluate.compare import compare as compare_classifiers
    from tanager.evaluate.compare import name_classifiers
    from tanager.evaluate.cross_validate import labelled_rows

    named = name_classifiers(classifiers)
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

    from tanager.metrics.quality import text_table

    n_folds = len(next(iter(values.values())))
    rows = []
    for name, folds in values.items():
        shown = factor * np.array(folds)
        figures = [shown.mean(), shown.std(ddof=1), *shown]
        rows.append([name, *("-" if np.isnan(figure) else f"{figure:.4g}" for figure in figures)])
    header = [heading, "mean", "std", *(f"fold {k}" for k in range(1, n_folds + 1))]
    return text_table(header, rows) + "\n"


@options.grouped
def stability(
    data: options.Data,
    class_column: options.ClassColumn,
    kind: options.ModelOptions,
    reading: options.Reading,
    draws: Annotated[int, options.option(None, "How many fits.", min=2)] = 30,
    as_json: options.AsJson = False,
) -> None:
    """Fit a kind of model to randomly weighted rows many times: how often each edge is there, how ranks vary.

    Examples:

      tanager stability iris.csv --class species --structure tan
      tanager stability patients.csv --class outcome --draws 100 --json > stability.json
    """
    from tanager.cli.training_data import read_training_data
    from tanager.evaluate.stability import stability as measure_stability

    X, y = read_training_data(data, class_column, reading)
    with working(f"Fitting {draws} times"):
        clf = kind.classifier(X.column_names, y)
        result = measure_stability(clf, X, y, n_draws=draws, random_state=kind.seed)
    print(json.dumps(result.to_dict(), indent=2) if as_json else result)
