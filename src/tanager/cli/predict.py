"""`tanager predict`: the classes, or their probabilities, of the rows of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM
from tanager.errors import OptionError
from tanager.progress import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tanager.classifiers import BayesianNetworkClassifier


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .tsv or .parquet; - is CSV on stdout.")
    ] = STREAM,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of every class, beside the class.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Also an interval of every probability that holds the truth so often, such as 0.9; needs a model of "
            "`tanager fit --intervals`.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to keep, such as a customer number; may be repeated."),
    ] = None,
    no_decision: Annotated[
        bool, typer.Option("--no-decision", help="The most probable class, whatever the model decides.")
    ] = False,
    missing: options.Missing = None,
    force: options.Force = False,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Read and write batch by batch; by default where memory is short."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object for every row.")] = False,
) -> None:
    """Predict the class of every row of a table.

    Columns are found by name: the table may have others too, in any order. There is a line for every row, in the order
    of the table. In CSV and TSV a text that a spreadsheet would take for a formula begins with an apostrophe. A model
    that was fitted with costs or a threshold decides by them; the class is empty where a person is to be asked.

    Examples:

      tanager predict iris.json new.csv

      tanager predict iris.json new.parquet --proba --keep id -o probabilities.csv

      tanager predict iris.json new.csv --interval 0.9

      cat new.csv | tanager predict iris.json - | sort | uniq -c

      tanager predict iris.json new.csv --proba --json
    """
    from tanager.cli.training_data import read_row_batches, read_rows, streams
    from tanager.files.formulas import escape_formula, escape_formulas
    from tanager.files.model_file import load_model
    from tanager.files.output_path import check_output
    from tanager.files.write_table import table_kind, table_suffix, table_writer, write_table

    if as_json and output != STREAM:
        raise OptionError("--json prints to stdout, and --output names a file.", hint="give one of them.")
    if as_json and stream:
        raise OptionError("--json prints all rows as one list, so --stream cannot go with it.")
    is_text = output == STREAM or table_suffix(output) != ".parquet"
    clf = load_model(model)
    if no_decision:
        clf.decision_ = None
    kept = list(dict.fromkeys(keep or ()))
    if interval is not None:
        clf.check_intervals(interval)
    names = _columns(clf, proba or interval is not None, kept, interval is not None)
    written = [escape_formula(name) for name in names] if is_text and not as_json else names
    check_output(output, table_kind(written), reads=[model, data], force=force)
    if not as_json and streams(data, stream):
        with working(f"Predicting {data} batch by batch"), table_writer(output) as write:
            for rows in read_row_batches(data, clf, missing, kept):
                found = _predict_rows(clf, rows, names, interval)
                write(escape_formulas(found) if is_text else found)
        return
    with working(f"Reading {data}"):
        X, _ = read_rows(data, clf, missing, kept)
    with working(f"Predicting {X.num_rows:,} rows"):
        result = _predict_rows(clf, X, names, interval)
    if as_json:
        print(json.dumps(result.to_pylist(), indent=2, default=str))
    else:
        write_table(escape_formulas(result) if is_text else result, output)


def _predict_rows(
    clf: BayesianNetworkClassifier, rows: pa.Table, names: Sequence[str], interval: float | None
) -> pa.Table:
    """The columns `names`: those to keep, the class and, if they are asked for, probabilities and their intervals."""
    import pyarrow as pa

    X, n_kept = rows.select(clf.feature_names_in_.tolist()), names.index(clf.network_.nodes[-1])
    labels = clf.predict(X)
    if clf.decision_ is not None:  # a person may be asked about every row of a batch
        labels = pa.array(labels.tolist(), type=pa.array(clf.classes_.tolist()).type)
    probabilities = [*clf.predict_proba(X).T.copy()] if len(names) > n_kept + 1 else []
    if interval is not None:
        found = clf.predict_interval(X, interval)
        each = zip(probabilities, found.lower.T.copy(), found.upper.T.copy(), strict=True)
        probabilities = [column for columns in each for column in columns]
    return pa.table([*(rows.column(name) for name in names[:n_kept]), labels, *probabilities], names=list(names))


def _columns(clf: BayesianNetworkClassifier, proba: bool, keep: Sequence[str], interval: bool) -> list[str]:
    target = clf.network_.nodes[-1]
    predicted = [target]
    for label in clf.classes_ if proba else ():
        name = f"P({target}={label})"
        predicted += [name, f"{name} lower", f"{name} upper"] if interval else [name]
    for name in keep:
        if name in predicted:
            raise OptionError(f"--keep {name!r} has the name of a column that is predicted.", hint="rename it in DATA.")
    return [*keep, *predicted]
