"""`tanager report`: one page about a model, to open in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM, output_file
from tanager.progress import say, working


def report(
    model: options.Model,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]", help="Rows to judge the model by, best not those it was learnt from; - is CSV on stdin."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes; - is stdout.")
    ] = "report.html",
    missing: options.Missing = None,
    force: options.Force = False,
) -> None:
    """Write one HTML page about a model: its network, what-if questions, and how good it is on DATA.

    The page is a single file that loads nothing from anywhere. Columns of DATA are found by name. Where DATA has the
    class column the page shows the quality of the predictions for the rows with a class; for the very rows that the
    model was learnt from, and without DATA, what cross-validation found in `tanager fit`.

    Examples:

      tanager report iris.json

      tanager report iris.json test.csv -o iris.html

      head -100 test.csv | tanager report iris.json - -o - > iris.html
    """
    from tanager.cli.training_data import read_rows
    from tanager.experiments.cross_validate import labelled_rows
    from tanager.files.model_file import load_model
    from tanager.report.write_page import PAGE, write_page

    with output_file(output, ".html", PAGE, [model, data], force) as path:
        clf = load_model(model)
        X, y = None, None
        if data is not None:
            with working(f"Reading {data}"):
                X, y = read_rows(data, clf, missing)
            if y is not None:
                y, labelled = labelled_rows(X, y, clf.classes_)
                X = X.take(labelled)
        with working("Writing the page"):
            write_page(clf, X, y, path)
    if output != STREAM:
        say(f"{output}: open it in a browser")
