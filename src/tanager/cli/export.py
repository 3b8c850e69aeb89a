"""`tanager export`: a model in another language, to use where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from tanager.cli import options
from tanager.cli.output import STREAM, output_file
from tanager.errors import OptionError
from tanager.runtime.progress import say, working


def export(
    model: options.Model,
    to: Annotated[
        str,
        options.option(
            "LANGUAGE", "sql, python, js, c, onnx, scorecard or excel.", "--to", autocompletion=lambda: _languages()
        ),
    ],
    output: Annotated[str, options.output("Where the export goes; - is stdout.")] = STREAM,
    no_decision: options.NoDecision = False,
    rename: Annotated[
        list[str] | None, options.option("COLUMN=NAME", "What a column is called there; may be repeated.")
    ] = None,
    dialect: Annotated[str | None, options.option("sqlite|duckdb|postgresql", "Of SQL.")] = None,
    table: Annotated[str | None, options.option("NAME", "The table that the SQL reads.")] = None,
    key: Annotated[
        list[str] | None, options.option("COLUMN", "The column that tells its rows apart; may be repeated.")
    ] = None,
    view: Annotated[str | None, options.option("NAME", "The view to make of the SQL.")] = None,
    name: Annotated[str | None, options.option("NAME", "What the names in the C header begin with.")] = None,
    double: Annotated[float | None, options.option("POINTS", "That double the odds.")] = None,
    even: Annotated[float | None, options.option("POINTS", "Of even odds.")] = None,
    rows: Annotated[int | None, options.option("N", "That the workbook computes.")] = None,
    force: options.Force = False,
) -> None:
    """Write a model in another language; where it gives probabilities they are equal to `tanager predict --proba`.

    The export holds what the model learnt, and no training row; its first lines say what becomes of a missing cell.
    Where the model decides by costs or a threshold, the class in SQL, Python and JavaScript is the decision.

    Examples:

      tanager export iris.json --to python -o iris.py
      tanager export iris.json --to sql --dialect duckdb --table flowers --key id
      tanager export iris.json --to c --name iris -o iris.h
    """
    from tanager.export.targets import TARGETS, export_kind, write_export
    from tanager.files.model_file import load_model
    from tanager.registry import check_option

    suffix = TARGETS[check_option("--to", to, TARGETS)].suffix
    with output_file(output, suffix, export_kind(to), [model], force) as path, working(f"Exporting {model}"):
        asked: dict[str, object] = {"dialect": dialect, "table": table, "key": key, "view": view, "name": name}
        asked |= {"double": double, "even": even, "rows": rows}
        clf = load_model(model)
        if no_decision:
            clf.decision_ = None
        write_export(clf, to, path, _renamed(rename or ()), asked)
    if output != STREAM:
        say(f"{output}: the model as {to}")


def _languages() -> list[str]:
    from tanager.export.targets import TARGETS

    return list(TARGETS)


def _renamed(pairs: Sequence[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise OptionError(f"--rename {pair!r} has no '='; expected COLUMN=NAME.")
    return options.once("--rename", (pair.partition("=")[::2] for pair in pairs))
