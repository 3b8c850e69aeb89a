"""`tanager explain`: why a model decides as it does, row by row or overall."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from tanager.cli import options
from tanager.cli.options import find_class
from tanager.errors import OptionError
from tanager.runtime.progress import say, working

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tanager.classifiers.base import TableClassifier
    from tanager.explain import Counterfactuals

MAX_ROWS_PRINTED = 10
"""Rows printed where nobody says which."""


def explain(
    model: options.Model,
    data: options.OptionalData = None,
    against: Annotated[
        str | None, options.option("CLASS", "The class to compare with, instead of the second most probable one.")
    ] = None,
    change: Annotated[
        bool,
        options.option(None, "Also the smallest changes of one or two cells that change the decision.", "--change"),
    ] = False,
    lock: Annotated[
        list[str] | None, options.option("COLUMN", "With --change: a column that cannot change; may be repeated.")
    ] = None,
    asked: Annotated[
        list[int] | None,
        options.option(
            "NUMBER",
            "Only this row, by its number in the file, as a spreadsheet counts (from 0 where it is not known); "
            "may be repeated.",
            "--row",
        ),
    ] = None,
    top: Annotated[int, options.option(None, "Terms to print of a row; the others are one line.", min=1)] = 15,
    missing: options.Missing = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what each attribute adds to the log odds of each row; without DATA, how strong each attribute is.

    The log odds of a row are a sum of three parts: the base rate, which is the frequency of the classes in training;
    the baseline, which the model adds for an average row; and a part for each attribute. Unknown cells are marked
    'averaged over'. An additive model has a term for each attribute and for each of its pairs.

    Examples:

      tanager explain iris.json new.csv
      head -3 new.csv | tanager explain iris.json - --against setosa
      tanager explain heart.json new.csv --row 9 --change --lock age --lock sex
      tanager explain iris.json new.csv --json > explanations.json
      tanager explain iris.json
    """
    from tanager.cli.training_data import read_rows, row_numbers
    from tanager.explain import explain as explain_model
    from tanager.files.model_file import load_model
    from tanager.metrics.quality import headline

    if lock and not change:
        raise OptionError("--lock says what cannot change, so it goes with --change.")
    clf = load_model(model)
    if data is None:
        if against is not None or change:
            raise OptionError("--against and --change are about rows, and no DATA was given.")
        with working("Measuring the strength of attributes"):
            overall = explain_model(clf)
        if clf.quality_ is not None and not as_json:
            print(f"{headline(clf.quality_)}\n")
        print(json.dumps(overall.to_dict(), indent=2) if as_json else overall)
        return
    rival = None if against is None else find_class("--against", against, clf.classes_.tolist())
    X, _ = read_rows(data, clf, missing)
    with working(f"Explaining {X.num_rows:,} rows"):
        explained = explain_model(clf, X, against=rival)
        numbers = row_numbers(data, X).tolist()
        shown = _shown_rows(asked, numbers, as_json)
        rows = [replace(explained[row], row=numbers[row]) for row in shown]
        changes = [_change(clf, X, row, numbers[row], lock or ()) if change else None for row in shown]
    if as_json:
        documents = [row.to_dict() for row in rows]
        for document, row_changes in zip(documents, changes, strict=True):
            document |= {} if row_changes is None else {"changes": row_changes.to_dict()["changes"]}
        print(json.dumps(documents, indent=2))
        return
    for row, row_changes in zip(rows, changes, strict=True):
        print(f"{row.text(top)}\n")
        if row_changes is not None:
            print(f"{row_changes}\n")
    if asked is None and len(rows) < len(explained):
        say(f"{len(explained) - len(rows):,} more rows: --row NUMBER shows any, --json all.")


def _shown_rows(asked: list[int] | None, numbers: list[int], as_json: bool) -> list[int]:
    """The places of the rows asked for; without a wish all of them for programs, the first few for people."""
    if asked is None:
        return list(range(len(numbers) if as_json else min(len(numbers), MAX_ROWS_PRINTED)))
    for row in asked:
        if row not in numbers:
            raise OptionError(f"--row {row} is not there: the data has rows {numbers[0]} to {numbers[-1]}.")
    return [numbers.index(row) for row in asked]


def _change(clf: TableClassifier, X: pa.Table, row: int, number: int, locked: Sequence[str]) -> Counterfactuals:
    from tanager.explain import counterfactuals

    return replace(counterfactuals(clf, X.take([row]), locked=locked)[0], row=number)
