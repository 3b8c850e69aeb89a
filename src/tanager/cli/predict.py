"""`tanager predict`: the classes, or their probabilities, of the rows of a table."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM
from tanager.errors import OptionError
from tanager.progress import working


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .tsv or .parquet; - is CSV on stdout.")
    ] = STREAM,
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of every class, in place of the class.")
    ] = False,
    missing: options.Missing = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object for every row.")] = False,
) -> None:
    """Predict the class of every row of a table.

    Columns are found by name: the table may have others too, in any order.

    Examples:

      tanager predict iris.json new.csv

      tanager predict iris.json new.parquet --proba -o probabilities.csv

      cat new.csv | tanager predict iris.json - | sort | uniq -c

      tanager predict iris.json new.csv --proba --json
    """
    import pyarrow as pa

    from tanager.cli.training_data import read_rows
    from tanager.files.model_file import load_model
    from tanager.files.write_table import check_table_target, write_table

    if as_json and output != STREAM:
        raise OptionError("--json prints to stdout, and --output names a file.", hint="give one of them.")
    check_table_target(output)
    clf = load_model(model)
    with working(f"Reading {data}"):
        X, _ = read_rows(data, clf, missing)
    target = clf.network_.nodes[-1]
    with working(f"Predicting {X.num_rows:,} rows"):
        if proba:
            probabilities = clf.predict_proba(X)
            names = [f"P({target}={label})" for label in clf.classes_]
            result = pa.table(list(probabilities.T.copy()), names=names)
        else:
            result = pa.table({target: clf.predict(X)})
    if as_json:
        print(json.dumps(result.to_pylist(), indent=2))
    else:
        write_table(result, output)
