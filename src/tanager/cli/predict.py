"""`tanager predict`: the classes, or their probabilities, of the rows of a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM
from tanager.errors import OptionError
from tanager.progress import working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.classifiers import BayesianNetworkClassifier


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .tsv or .parquet; - is CSV on stdout.")
    ] = STREAM,
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of every class, in place of the class.")
    ] = False,
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

    Columns are found by name: the table may have others too, in any order. A model that was fitted with costs or a
    threshold decides by them; the class is empty where a person is to be asked.

    Examples:

      tanager predict iris.json new.csv

      tanager predict iris.json new.parquet --proba -o probabilities.csv

      cat new.csv | tanager predict iris.json - | sort | uniq -c

      tanager predict iris.json new.csv --proba --json
    """
    from tanager.cli.training_data import read_row_batches, read_rows, streams
    from tanager.files.model_file import load_model
    from tanager.files.output_path import check_output
    from tanager.files.write_table import table_kind, table_suffix, table_writer, write_table

    if as_json and output != STREAM:
        raise OptionError("--json prints to stdout, and --output names a file.", hint="give one of them.")
    if as_json and stream:
        raise OptionError("--json prints all rows as one list, so --stream cannot go with it.")
    if output != STREAM:
        table_suffix(output)
    clf = load_model(model)
    if no_decision:
        clf.decision_ = None
    check_output(output, table_kind(_columns(clf, proba)), reads=[model, data], force=force)
    if not as_json and streams(data, stream):
        with working(f"Predicting {data} batch by batch"), table_writer(output) as write:
            for rows in read_row_batches(data, clf, missing):
                write(_predict_rows(clf, rows, proba))
        return
    with working(f"Reading {data}"):
        X, _ = read_rows(data, clf, missing)
    with working(f"Predicting {X.num_rows:,} rows"):
        result = _predict_rows(clf, X, proba)
    if as_json:
        print(json.dumps(result.to_pylist(), indent=2))
    else:
        write_table(result, output)


def _predict_rows(clf: BayesianNetworkClassifier, rows: pa.Table, proba: bool) -> pa.Table:
    import pyarrow as pa

    columns: list[Any] = list(clf.predict_proba(rows).T.copy()) if proba else [clf.predict(rows)]
    if not proba and clf.decision_ is not None:  # a person may be asked about every row of a batch
        columns = [pa.array(columns[0].tolist(), type=pa.array(clf.classes_.tolist()).type)]
    return pa.table(columns, names=_columns(clf, proba))


def _columns(clf: BayesianNetworkClassifier, proba: bool) -> list[str]:
    target = clf.network_.nodes[-1]
    return [f"P({target}={label})" for label in clf.classes_] if proba else [target]
