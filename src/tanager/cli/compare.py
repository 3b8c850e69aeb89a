"""`tanager compare`: classifiers on data sets, the papers' experiments again, and the field today."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.errors import DataError
from tanager.progress import say, working

if TYPE_CHECKING:
    from tanager.experiments.jobs import Record
    from tanager.experiments.results import Results
    from tanager.experiments.study import Study

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
    paper: Annotated[Names, typer.Option(metavar="NAME|all", help="Repeat a paper's experiments.")] = None,
    field: Annotated[bool, typer.Option("--field", help="Ours against what people use today.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="The field on a few small sets only: minutes.")] = False,
    slow: Annotated[bool, typer.Option("--slow", help="Also the sets and rivals that take hours.")] = False,
    data: Annotated[
        Path,
        typer.Option(
            envvar="TANAGER_DATA",
            metavar="FOLDER",
            help="A folder with manifest.json, or of CSV, TSV, Parquet and ARFF files.",
            rich_help_panel=SETS,
        ),
    ] = Path(),
    sets: Annotated[
        Names,
        typer.Option(metavar="NAME,NAME", help="Only these; openml:NAME downloads one.", rich_help_panel=SETS),
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
        Path | None,
        typer.Option(metavar="FILE", help="Write tables and pictures as Markdown.", rich_help_panel=RUN),
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
    a pair that fails is recorded and does not stop the rest. Papers: zhou-4-2, zhou-4-3, fcll-2011, roos-2005,
    acll-2013, bckg-2007.

    Examples:

      tanager compare tan:fcll:conditional naive-bayes sklearn.ensemble.RandomForestClassifier --data folder

      tanager compare --paper zhou-4-2 --paper roos-2005 --data folder

      tanager compare --field --quick --data folder --page field.md
    """
    from tanager.cli.demo import make_folder
    from tanager.experiments.page import study_tables, write_page
    from tanager.experiments.plan import Request
    from tanager.files.atomic import check_writable

    if page is not None:
        if output.resolve() == page.resolve().parent:
            make_folder(output)  # which results would make anyway, but later
        check_writable(page)
    names = None if sets is None else [name for entry in sets for name in entry.split(",")]
    request = Request(
        classifiers=classifiers or (),
        papers=paper or (),
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
    finished = [(study, _run(study, output, jobs)) for study in request.studies(data)]
    if as_json:
        print(json.dumps({study.name: results.to_dict() for study, results in finished}, indent=2))
    else:
        for study, results in finished:
            print("\n".join([f"## {study.title}\n", *(table.markdown() for table in study_tables(study, results))]))
    pictures = (output if page is None else page.parent) / "pictures"
    drawn = [(study, results, _draw(study, results, pictures)) for study, results in finished]
    if page is not None:
        write_page(page, shlex.join(["tanager", *sys.argv[1:]]), drawn)
    _say_failures([results for _, results in finished])


def _run(study: Study, output: Path, jobs: int) -> Results:
    with working(study.name) as update:

        def progress(record: Record, done: int, total: int) -> None:
            update(f"{study.name}: {record['set']}, {record['classifier']}", done, total)

        return study.run(output / study.name, jobs, progress)


def _draw(study: Study, results: Results, folder: Path) -> list[tuple[str, Path]]:
    """The pictures, where the extra `plots` is installed."""
    if not find_spec("matplotlib"):
        say("no pictures: install tanager[plots]")
        return []
    from tanager.experiments.pictures import draw_pictures

    return draw_pictures(study, results, folder)


def _say_failures(finished: list[Results]) -> None:
    """Refuse to call a run a success in which nothing could be measured."""
    failures = [failure for results in finished for failure in results.failures]
    if failures and len(failures) == sum(len(results.records) for results in finished):
        first = failures[0]
        raise DataError(f"nothing could be measured; {first['classifier']} on {first['set']}: {first['failure']}")
    if failures:
        say(f"{len(failures)} fits failed; the table of failures says why.")
