"""`tanager predict`: the classes, or their probabilities, of the rows of a table."""

from __future__ import annotations

from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.progress import working


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `tanager fit` wrote.")],
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .tsv or .parquet; - is CSV on stdout.")
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of every class, in place of the class.")
    ] = False,
    missing: options.Missing = None,
) -> None:
    """Predict the class of every row of a table.

    Columns are found by name: the table may have others too, in any order.

    Examples:

      tanager predict iris.json new.csv

      tanager predict iris.json new.parquet --proba -o probabilities.csv

      cat new.csv | tanager predict iris.json - | sort | uniq -c
    """
    import pyarrow as pa

    from tanager.cli.training_data import read_attributes
    from tanager.files.model_file import load_model
    from tanager.files.write_table import check_table_target, write_table

    check_table_target(output)
    clf = load_model(model)
    with working(f"Reading {data}"):
        X = read_attributes(data, clf, missing)
    target = clf.network_.nodes[-1]
    with working(f"Predicting {X.num_rows:,} rows"):
        if proba:
            probabilities = clf.predict_proba(X)
            names = [f"P({target}={label})" for label in clf.classes_]
            result = pa.table(list(probabilities.T.copy()), names=names)
        else:
            result = pa.table({target: clf.predict(X)})
    write_table(result, output)
