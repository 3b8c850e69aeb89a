"""`tanager fit`: learn a model from a table and write it to a file."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from tanager.cli import options
from tanager.cli.output import STREAM, check_stdout, output_file
from tanager.errors import DataError, OptionError
from tanager.runtime.progress import Update, say, working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.classifiers.base import TableClassifier
    from tanager.cli.training_data import NamedLabels
    from tanager.decide import DecisionQuality
    from tanager.metrics import Quality
    from tanager.table.schema import Category


@options.grouped
def fit(
    data: options.Data,
    class_column: options.ClassColumn,
    kind: options.ModelOptions,
    reading: options.Reading,
    wanted: options.WantedDecision,
    output: Annotated[str | None, options.output("Where the model goes (JSON); - is stdout.")] = None,
    force: options.Force = False,
    no_validate: Annotated[
        bool, options.option(None, "Do not cross-validate the model, which saves five fits.", "--no-validate")
    ] = False,
    event: options.Event = None,
    intervals: Annotated[
        bool,
        options.option(
            None, "Also prepare intervals of probabilities, for `tanager predict --interval`.", "--intervals"
        ),
    ] = False,
    stream: options.Stream = None,
    estimate: Annotated[
        bool, options.option(None, "Estimate the memory and time of the fit, and learn nothing.", "--estimate")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Learn a model from a table, and measure by cross-validation how good it is on new rows.

    The model file stores the quality and, for at most 10,000 rows, probabilities and classes. It stores no attribute
    values. Of a large table (rows x attributes x classes above two million) one part is held out instead of five. A
    file that is read batch by batch is not measured.

    Examples:

      tanager fit iris.csv --class species -o iris.json
      tanager fit codes.csv.gz --class y --categorical zip,branch --drop id --missing unknown -o codes.json
      tanager fit patients.xlsx --class outcome --recipe recipe.json -o patients.json
      tanager fit iris.csv --class species --structure 'bckg(max_parents=3)' --criterion 'bdeu(ess=5)' -o iris.json
      tanager fit patients.csv --class state --cost ill:healthy=10 --ask 0.5 -o model.json
      tanager fit patients.csv --class state --monotone age=+1 --monotone fitness=-1 -o model.json
      tanager fit iris.csv --class species --intervals -o iris.json
      zcat iris.csv.gz | tanager fit - --class species -o - > iris.json
    """
    from tanager.cli.training_data import open_training_data, read_training_data, streams
    from tanager.files.model_file import MODEL, save_model
    from tanager.metrics.quality import headline
    from tanager.report.model_card import what_it_is

    if estimate:
        _print_estimate(data, class_column, reading, kind, as_json)
        return
    if output is None:
        raise OptionError("Missing option '--output': where the model goes.", hint="or --estimate what it will take.")
    check_stdout(as_json, output)
    with output_file(output, ".json", MODEL, [data, reading.recipe], force) as path:
        in_batches = streams(data, stream)
        _check_held_out(wanted, intervals, event, in_batches, no_validate)
        if in_batches:
            names, source, count_rows = open_training_data(data, class_column, reading)
            with working(f"Reading and fitting {data} batch by batch"):
                clf = kind.classifier(names).fit(source, class_column)
            n_rows, quality = count_rows(), None
        else:
            X, y = read_training_data(data, class_column, reading)
            wanted.check(y)
            asked = None if event is None else options.find_class("--event", event, options.classes_of(y))
            n_rows, names = X.num_rows, X.column_names
            clf, quality = fit_rows(X, y, kind, not no_validate, intervals, asked)
        decided = wanted.decide(clf, quality)
        save_model(clf, path, quality=quality, recipe=reading.preprocessing(class_column))
    if as_json:
        print(json.dumps({"model": output, "rows": n_rows, **_summary(clf, quality, decided)}, indent=2))
    elif output != STREAM:
        say(what_it_is(clf.model_))
        say(f"{output}: {n_rows:,} rows, {len(names):,} attributes, {len(clf.classes_):,} classes")
        if quality is not None:
            say(headline(quality))
        elif not no_validate:
            say("How good it is on rows new to it was not measured: `tanager evaluate` does.")
        if decided is not None:
            say(str(decided))
        if data != STREAM:
            say(f"Look at it: {shlex.join(['tanager', 'report', output, data])}")


def fit_rows(
    X: pa.Table,
    y: NamedLabels,
    kind: options.ModelOptions,
    validate: bool = True,
    intervals: bool = False,
    event: Category | None = None,
) -> tuple[TableClassifier, Quality | None]:
    """A classifier learnt from rows in memory, and its cross-validated quality where that is measured."""
    with working(f"Fitting {X.num_rows:,} rows x {X.num_columns:,} attributes") as update:
        clf = kind.classifier(X.column_names, y).fit(X, y)
        quality = _validate(clf, X, y, kind.seed, event, update) if validate else None
        if intervals:
            update("Preparing intervals")
            clf.prepare_intervals(X, y)
    clf.issues_ = y.issues
    return clf, quality


def _summary(clf: TableClassifier, quality: Quality | None, decided: DecisionQuality | None) -> dict[str, object]:
    """What was learnt, for `--json`."""
    return {
        "attributes": clf.n_features_in_,
        "classes": clf.classes_.tolist(),
        "summary": clf.model_.summary if clf.model_.kind == "effects" else None,
        "edges": len(clf.model_.edges),
        "structure_score": getattr(clf, "structure_score_", None),
        "quality": None if quality is None else quality.to_dict(),
        "decision": None if decided is None else decided.to_dict(),
    }


def _check_held_out(
    wanted: options.WantedDecision, intervals: bool, event: str | None, in_batches: bool, no_validate: bool
) -> None:
    """Refuse what needs all rows in memory, or rows held out, where there are none."""
    if event is not None and (in_batches or no_validate):
        raise OptionError(
            "--event says which class the quality is about, and none is measured.",
            hint="leave out --no-validate and --stream, or give --event to `tanager report` or `tanager evaluate`.",
        )
    if intervals and in_batches:
        raise OptionError("--intervals needs all rows in memory.", hint="leave --stream out, or --intervals.")
    wanted.check_held_out(not (in_batches or no_validate))


def _validate(
    clf: TableClassifier, X: pa.Table, y: NamedLabels, seed: int, event: Category | None, update: Update
) -> Quality | None:
    """Cross-validation as in `tanager evaluate`; None where a class has too few rows for it. The bar counts the fit."""
    from tanager.evaluate.cross_validate import cross_validate_model

    def after_fit(message: str, done: float = 0, total: float | None = None) -> None:
        update(message, done + 1, None if total is None else total + 1)

    try:
        return replace(cross_validate_model(clf, X, y, random_state=seed, update=after_fit), event=event)
    except DataError as error:
        say(f"Not cross-validated: {error}")
        return None


def _print_estimate(
    data: str, class_column: str, reading: options.Reading, kind: options.ModelOptions, as_json: bool
) -> None:
    from tanager.classifiers.estimate import estimate_fit
    from tanager.cli.training_data import read_training_data
    from tanager.runtime.resources import available_memory

    X, y = read_training_data(data, class_column, reading)
    with working("Fitting parts of the rows"):
        needs = estimate_fit(kind.classifier(X.column_names, y), X, y)
    if as_json:
        found = {"bytes": round(needs.bytes), "available": available_memory(), "seconds": needs.seconds}
        print(json.dumps(found, indent=2))
        return
    print(f"memory: about {needs.bytes / 2**20:,.0f} MiB of {available_memory() / 2**20:,.0f} MiB available")
    print(f"time: about {needs.seconds:,.1f} s; cross-validation takes up to five times as long again")
