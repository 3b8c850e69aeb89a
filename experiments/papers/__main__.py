"""The papers' experiments again, and the field today, as one page.

    python -m experiments.papers [zhou-4-2 ...] [--all] [--field] [--slow] [--page FILE]

Name the papers to repeat, or --all. A page that exists keeps its other sections, and the means of other people's
classifiers that it prints and nobody has measured since. With --sets the page is one of its own beside the results.
Results are kept in experiments/results; a run goes on where it stopped. The field's records of other people's
classifiers are also in experiments/records (`python -m experiments.papers.rivals`), and are not measured again.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from experiments.papers import PAPERS
from experiments.papers.printed import keep_printed
from experiments.papers.rivals import say_devices, take_rivals
from experiments.studies.data_sets import choose, find_data_sets
from experiments.studies.field import field_study
from experiments.studies.run_studies import check_measured, check_outputs, run_studies, write_studies
from experiments.studies.study import Study
from tanager.errors import OptionError, TanagerError
from tanager.registry import check_option

FOLDER = Path(__file__).parent.parent


COMMAND = ["python", "-m", "experiments.papers"]


def main(arguments: Sequence[str]) -> None:
    options = parse(arguments)
    studies = list(plan(options))
    check_outputs(studies, options.output, options.page)
    if options.field:
        take_rivals(options.output / "field")
    seconds = None if options.minutes is None else 60.0 * options.minutes
    finished = run_studies(studies, options.output, options.jobs, seconds)
    titles = all_titles(options)
    if options.page.exists():
        page = options.page.read_text(encoding="utf-8")
        finished = [keep_printed(*each, page) for each in finished]
    finished = [say_devices(*each) for each in finished]
    write_studies(finished, options.page.parent, options.page, shlex.join([*COMMAND, *arguments]), titles)
    check_measured(finished)


def parse(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog=" ".join(COMMAND), description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument("--field", action="store_true", help="the field too, after the papers")
    parser.add_argument("--slow", action="store_true", help="also the sets and rivals that take hours")
    parser.add_argument("--all", action="store_true", help="every paper")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TANAGER_DATA", FOLDER / "../../shared/data")))
    parser.add_argument("--sets", type=lambda text: text.split(","), help="only these, by name")
    parser.add_argument("--output", type=Path, default=FOLDER / "results", help="where results are kept, to go on")
    parser.add_argument("--page", type=Path, help="by default experiments/RESULTS.md")
    parser.add_argument("--minutes", type=float, help="for each study; the page says what has not been run by then")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; -1: one for every core")
    options = parser.parse_args(arguments)
    if not (options.papers or options.all or options.field):
        parser.error("name a paper, or give --all or --field.")
    if options.all:
        options.papers = list(PAPERS)
    if options.page is None:
        options.page = options.output / "RESULTS.md" if options.sets else FOLDER / "RESULTS.md"
    return options


def plan(options: Namespace) -> Iterator[Study]:
    """The studies asked for; what cannot be done is refused before any work."""
    sets = choose(find_data_sets(options.data), options.sets)
    for name in options.papers:
        yield from PAPERS[check_option("paper", name, PAPERS)](sets, options.slow)
    if options.field:
        yield field_study(sets, slow=options.slow)


def all_titles(options: Namespace) -> list[str]:
    """Of the sections that a page may have, in their order; without those whose sets the folder lacks."""
    titles = []
    for name in PAPERS:
        with suppress(OptionError):
            chosen = Namespace(**{**vars(options), "papers": [name], "field": False, "sets": None})
            titles += [study.title for study in plan(chosen)]
    return titles


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TanagerError as error:
        sys.exit(f"error: {error}")
