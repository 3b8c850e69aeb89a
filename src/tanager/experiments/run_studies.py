"""Studies from beginning to end: run them, show how far they are, draw their pictures, write their page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tanager.errors import DataError
from tanager.experiments.jobs import Record
from tanager.experiments.page import write_page
from tanager.experiments.results import Results
from tanager.experiments.study import Study
from tanager.progress import say, working

Finished = Sequence[tuple[Study, Results]]


def run_studies(studies: Sequence[Study], output: Path, n_jobs: int) -> Finished:
    """Run each study, its records in a folder of its own below `output`."""
    return [(study, _run(study, output / study.name, n_jobs)) for study in studies]


def write_studies(finished: Finished, folder: Path, page: Path | None, command: str) -> None:
    """Draw the pictures into `folder`, and write the page that shows them, saying which command made it."""
    drawn = [(study, results, _draw(study, results, folder / "pictures")) for study, results in finished]
    if page is not None:
        write_page(page, command, drawn)


def check_measured(finished: Finished) -> None:
    """Refuse to call a run a success in which nothing could be measured."""
    failures = [failure for _, results in finished for failure in results.failures]
    if failures and len(failures) == sum(len(results.records) for _, results in finished):
        first = failures[0]
        raise DataError(f"nothing could be measured; {first['classifier']} on {first['set']}: {first['failure']}")
    if failures:
        say(f"{len(failures)} fits failed; the table of failures says why.")


def _run(study: Study, folder: Path, n_jobs: int) -> Results:
    with working(study.name) as update:

        def progress(record: Record, done: int, total: int) -> None:
            update(f"{study.name}: {record['set']}, {record['classifier']}", done, total)

        return study.run(folder, n_jobs, progress)


def _draw(study: Study, results: Results, folder: Path) -> list[tuple[str, Path]]:
    """The pictures, where the extra `plots` is installed."""
    if not find_spec("matplotlib"):
        say("no pictures: install tanager[plots]")
        return []
    from tanager.experiments.pictures import draw_pictures

    return draw_pictures(study, results, folder)
