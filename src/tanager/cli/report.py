"""`tanager report`: one page about a model, to open in a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tanager.cli import options
from tanager.cli.output import STREAM, output_file
from tanager.runtime.progress import say, working

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tanager.report.model_card import About


def report(
    model: options.Model,
    data: options.OptionalData = None,
    output: Annotated[str, options.output("Where the page goes; - is stdout.")] = "report.html",
    title: Annotated[
        str | None, options.option("TEXT", "The title of the page.", show_default="the name of DATA, or of MODEL")
    ] = None,
    card: Annotated[
        str | None, options.option("FILE", "Write the model card too, as Markdown (.md) or JSON (.json).")
    ] = None,
    purpose: Annotated[str | None, options.option("TEXT", "What the model is for, for page and card.")] = None,
    author: Annotated[
        str | None, options.option("TEXT", "Who is responsible for the model, for page and card.")
    ] = None,
    event: options.Event = None,
    no_rows: options.NoRows = False,
    missing: options.Missing = None,
    force: options.Force = False,
) -> None:
    """Write one HTML page about a model: quality, most important terms, what-if questions and errors.

    The page is a single file that loads nothing from anywhere. The rows of DATA are inside it, unless --no-rows leaves
    them out. Columns of DATA are found by name. If DATA has the class column, the page shows the quality of the
    predictions for the rows with a class. For the rows that the model was learnt from, and without DATA, it shows the
    cross-validated quality of `tanager fit`.

    Examples:

      tanager report iris.json
      tanager report iris.json test.csv -o iris.html
      tanager report iris.json test.csv --event virginica --no-rows
      tanager report iris.json test.csv --card card.md --purpose "Tell irises apart"
      head -100 test.csv | tanager report iris.json - -o - > iris.html
    """
    from tanager.cli.training_data import read_rows
    from tanager.files.model_file import load_model
    from tanager.files.paths import check_output
    from tanager.report.model_card import About
    from tanager.report.write_page import CARD, PAGE, card_writer

    if card is not None:
        check_output(card, CARD, reads=[model, data, output], force=force)
        card_writer(card)
    with output_file(output, ".html", PAGE, [model, data], force) as path:
        clf = load_model(model)
        asked = None if event is None else options.find_class("--event", event, clf.classes_.tolist())
        X, y = (None, None) if data is None else read_rows(data, clf, missing)
        about = About(title, purpose, author)
        write_page_of(model, data, X, y, path, not no_rows, about, card=card, event=asked)
    if output != STREAM:
        say(page_line(output, X is not None and not no_rows))
    if card is not None:
        say(f"{card}: the model card")


def write_page_of(
    model: str,
    data: str | None,
    X: pa.Table | None,
    y: NDArray[np.generic] | None,
    page: str,
    keep_rows: bool,
    about: About | None = None,
    **more: Any,
) -> None:
    """A page about a model in a file and the rows of a table that was read, where they are held."""
    from tanager.cli.training_data import row_numbers
    from tanager.evaluate.cross_validate import labelled_rows
    from tanager.files.model_file import load_model
    from tanager.report.model_card import About
    from tanager.report.write_page import write_page

    with working("Writing the page"):
        clf, about, numbers = load_model(model), about or About(), None
        if X is not None and data is not None:
            numbers = row_numbers(data, X)
            if y is not None:
                y, labelled = labelled_rows(X, y, clf.classes_)
                X, numbers = X.take(labelled), numbers[labelled]
        table = data if data is not None and Path(data).is_file() else None
        about = replace(about, title=about.title or name_of(data or model), model=model, table=table)
        write_page(clf, X, y, page, about=about, keep_rows=keep_rows, numbers=numbers, **more)


def page_line(path: str, holds_rows: bool) -> str:
    """Where the page is, and whether rows of the table are inside it."""
    rows = " Rows of the table are inside it; --no-rows leaves them out." if holds_rows else ""
    return f"{path}: open it in a browser.{rows}"


def name_of(path: str) -> str | None:
    """What a file is called, without folder and endings; None for a stream."""
    return None if path == STREAM else Path(path).name.split(".")[0] or None
