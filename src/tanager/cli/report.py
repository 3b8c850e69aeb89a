"""`tanager report`: one page about a model, to open in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.progress import say, working
from tanager.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tanager.classifiers import BayesianNetworkClassifier


def report(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `tanager fit` wrote.")],
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="Rows to judge the model by; best rows it was not learnt from."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes; - is stdout.")
    ] = "report.html",
    missing: options.Missing = None,
) -> None:
    """Write one HTML page about a model: its network, what-if questions, and how good it is on DATA.

    The page is a single file that loads nothing from anywhere. Columns of DATA are found by name. Where DATA has the
    class column the page shows the quality of the predictions; without DATA it shows the model alone.

    Examples:

      tanager report iris.json

      tanager report iris.json test.csv -o iris.html
    """
    from tanager.cli.training_data import read_attributes
    from tanager.files.atomic import check_writable
    from tanager.files.model_file import load_model
    from tanager.report.write_page import write_page

    to_stdout = output == "-"
    if not to_stdout:
        check_writable(output)
    if data == "-":
        raise OptionError("the report reads its data twice, so it cannot come from stdin.", hint="give a file.")
    clf = load_model(model)
    X, y = None, None
    if data is not None:
        with working(f"Reading {data}"):
            X = read_attributes(data, clf, missing)
            y = _read_classes(data, clf, missing)
    with working("Writing the page"):
        page = write_page(clf, X, y, None if to_stdout else output)
    if to_stdout:
        print(page, end="")
    else:
        say(f"{output}: open it in a browser")


def _read_classes(
    path: str, clf: BayesianNetworkClassifier, missing: Sequence[str] | None
) -> NDArray[np.generic] | None:
    """The class column of a file, if it has one."""
    import numpy as np

    from tanager.files.read_table import read_table

    target = clf.encoder_.schema.target
    # A class of text may hold only digits in a small file, and would be read as numbers.
    texts = [target.name] if any(isinstance(label, str) for label in target.categories) else []
    table = read_table(path, missing_values=missing or (), text_columns=texts)
    return np.array(table.column(target.name).to_pylist()) if target.name in table.column_names else None
