"""`tanager explain`: why a model decides as it does, row by row or overall."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.progress import working
from tanager.errors import OptionError

if TYPE_CHECKING:
    from tanager.classifiers import BayesianNetworkClassifier
    from tanager.explain import Overall, RowExplanation, SufficientReason
    from tanager.table.schema import Category


def explain(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `tanager fit` wrote.")],
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="Rows to explain: a table as for predict; - is CSV on stdin."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="The class to compare with, in place of the second most probable one."),
    ] = None,
    reason: Annotated[
        bool, typer.Option("--reason", help="Also a smallest set of attributes that fixes the class (trees at most).")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Attributes to print; the others are one line.")] = 15,
    missing: options.Missing = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every attribute.")] = False,
) -> None:
    """Show what each attribute adds to the log odds of each row; without DATA, how strong each attribute is.

    The contributions of a row and the prior add up to its log odds (nats). A missing cell adds nothing itself.

    Examples:

      tanager explain iris.json new.csv

      head -3 new.csv | tanager explain iris.json - --against setosa

      tanager explain iris.json new.csv --reason --json

      tanager explain iris.json
    """
    from tanager.cli.training_data import read_attributes
    from tanager.explain import explain as explain_model
    from tanager.explain import sufficient_reason
    from tanager.files.model_file import load_model

    clf = load_model(model)
    if data is None:
        if against is not None or reason:
            raise OptionError("--against and --reason are about rows, and no DATA was given.")
        _show_overall(explain_model(clf), top, as_json)
        return
    rival = None if against is None else _class(clf, against)
    with working(f"Reading {data}"):
        X = read_attributes(data, clf, missing)
    with working(f"Explaining {X.num_rows:,} rows"):
        rows = list(explain_model(clf, X, against=rival))
        reasons = list(sufficient_reason(clf, X)) if reason else [None] * len(rows)
    if as_json:
        print(json.dumps([_document(row, why) for row, why in zip(rows, reasons, strict=True)], indent=2))
        return
    for row, why in zip(rows, reasons, strict=True):
        _print_row(row, why, top)


def _class(clf: BayesianNetworkClassifier, text: str) -> Category:
    """The class that is written so."""
    from tanager.registry import check_option

    classes: dict[str, Category] = {str(label): label for label in clf.classes_.tolist()}
    return classes[check_option("--against", text, classes)]


def _document(row: RowExplanation, why: SufficientReason | None) -> dict[str, object]:
    return row.to_dict() if why is None else {**row.to_dict(), "sufficient_reason": why.to_dict()}


def _print_row(row: RowExplanation, why: SufficientReason | None, top: int) -> None:
    """A line per attribute, the largest first; the prior, and the sum."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    favoured, against = (f"{name} (P {row.probabilities[name]:.4f})" for name in (row.favoured, row.against))
    table = Table(
        title=escape(f"Row {row.row}: {favoured} against {against}"), title_justify="left", title_style="bold"
    )
    for heading in ("attribute", "value", "given"):
        table.add_column(heading, overflow="fold")
    table.add_column("log odds", justify="right")
    ranked = row.ranked
    for each in ranked[:top]:
        table.add_row(*map(escape, (each.attribute, each.cell, each.condition)), _coloured(each.log_odds))
    rest = ranked[top:]
    if rest:
        table.add_row(f"{len(rest)} other attributes", "", "", _coloured(sum(each.log_odds for each in rest)))
    table.add_row(escape(f"prior of {row.target}"), "", "", _coloured(row.prior), end_section=True)
    table.add_row("log odds", "", "", _coloured(row.log_odds), style="bold")
    console = Console()
    console.print(table)
    if why is not None:
        console.print(escape(str(why)), end="\n\n")


def _coloured(log_odds: float) -> str:
    from tanager.explain.explanation import signed

    colour = "red" if log_odds > 0 else "blue"
    return f"[{colour}]{signed(log_odds)}[/]"


def _show_overall(found: Overall, top: int, as_json: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if as_json:
        print(json.dumps(found.to_dict(), indent=2))
        return
    strength = dict(zip(found.attributes, found.strength.tolist(), strict=True))
    title = escape(f"What each attribute tells of {found.target}, given its parents")
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("attribute", overflow="fold")
    table.add_column("nats", justify="right")
    for name in found.ranked[:top]:
        table.add_row(escape(name), f"{strength[name]:.4f}")
    if len(found.ranked) > top:
        rest = found.ranked[top:]
        table.add_row(f"{len(rest)} other attributes", f"at most {strength[rest[0]]:.4f}")
    Console().print(table)
