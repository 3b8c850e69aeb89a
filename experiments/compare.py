"""Compare classifiers over data sets, and with the field today.

python -m experiments.compare CLASSIFIER... --data FOLDER
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tanager.cli import options
from tanager.errors import TanagerError

Names = list[str] | None
SETS, RUN = "Data sets", "Run"


def compare(
    classifiers: Annotated[
        Names,
        typer.Argument(
            metavar="CLASSIFIER...",
            help="structure:criterion:parameters such as tan:fcll:conditional, or structure:parameters where the "
            "structure asks for no criterion, with options as in bckg(max_parents=1); "
            "'default'; or the import path of a scikit-learn classifier. NAME=SPEC gives it a name.",
        ),
    ] = None,
    classics: Annotated[
        bool, typer.Option("--classics", help="Naive Bayes, TAN, KDB, AODE and their kin, at their defaults.")
    ] = False,
    field: Annotated[bool, typer.Option("--field", help="Ours against what people use today.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="The field on a few small sets only: minutes.")] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also the sets and rivals that take hours.")] = False,
    data: Annotated[
        Path,
        typer.Option(
            envvar="TANAGER_DATA",
            metavar="TABLE|FOLDER",
            help="A table, a folder with manifest.json, or one of CSV, TSV, Parquet and ARFF files.",
            rich_help_panel=SETS,
        ),
    ] = Path(),
    sets: Annotated[
        Names, typer.Option(metavar="NAME,NAME", help="Only these; openml:NAME downloads one.", rich_help_panel=SETS)
    ] = None,
    group: Annotated[
        Names, typer.Option(metavar="NAME", help="Only those of a group of the manifest.", rich_help_panel=SETS)
    ] = None,
    class_column: Annotated[
        str,
        typer.Option(
            "--class", "-c", metavar="COLUMN", help="The column to predict, without manifest.", rich_help_panel=SETS
        ),
    ] = "class",
    folds: Annotated[int, typer.Option(help="Parts the rows are split into.", rich_help_panel=SETS)] = 5,
    given_split: Annotated[
        bool, typer.Option("--given-split", help="Keep to the split that a set brings.", rich_help_panel=SETS)
    ] = False,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where results are kept, to go on.", rich_help_panel=RUN),
    ] = Path("tanager-results"),
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write tables and pictures as Markdown.", rich_help_panel=RUN)
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Processes; -1: one for every core.", rich_help_panel=RUN)
    ] = -1,
    seed: options.Seed = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the means as JSON instead of tables.", rich_help_panel=RUN)
    ] = False,
) -> None:
    """Compare classifiers over data sets: measures, tests, ranks, pictures.

    The same folds for all, everything learnt on the training part only. An interrupted run goes on where it stopped;
    a pair that fails is recorded and does not stop the rest. Of a single table the folds are shown, without tests.

    Examples:

      python -m experiments.compare tan:fcll:conditional sklearn.ensemble.RandomForestClassifier --data folder

      python -m experiments.compare default --classics --data iris.csv --class species

      python -m experiments.compare --field --quick --data folder --page field.md
    """
    from experiments.studies.data_sets import folder_of_table
    from experiments.studies.plan import Request
    from experiments.studies.run_studies import check_measured, check_outputs, run_studies, write_studies

    if data.is_file():
        output = output / folder_of_table(data)  # a table that was changed has no results yet
    names = None if sets is None else [name for entry in sets for name in entry.split(",")]
    request = Request(
        classifiers=classifiers or (),
        classics=classics,
        field=field,
        quick=quick,
        slow=slow,
        sets=names,
        groups=group,
        class_column=class_column,
        n_folds=folds,
        given_split=given_split,
        seed=seed,
    )
    studies = request.studies(data)
    folder = output if page is None else page.parent
    check_outputs(studies, output, page)
    finished = run_studies(studies, output, jobs)
    if as_json:
        print(json.dumps({study.name: results.to_dict() for study, results in finished}, indent=2))
    else:
        for study, results in finished:
            print("\n".join([f"## {study.title}\n", *(table.markdown() for table in study.tables(results))]))
    write_studies(finished, folder, page, shlex.join(["python", "-m", "experiments.compare", *sys.argv[1:]]))
    check_measured(finished)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; an error is one line on stderr."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(compare)
    try:
        app(args=arguments, standalone_mode=False)
    except TanagerError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
