"""Studies from beginning to end: run them, show how far they are, draw their pictures, write their page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from experiments.studies.jobs import Record
from experiments.studies.page import write_page
from experiments.studies.results import Results
from experiments.studies.results_folder import check_results_folder
from experiments.studies.study import Study
from tanager.errors import DataError
from tanager.files.paths import check_writable
from tanager.runtime.progress import say, working

PICTURES = "pictures"
"""The folder of pictures, beside the page."""

Finished = Sequence[tuple[Study, Results]]


def check_outputs(studies: Sequence[Study], output: Path, page: Path | None) -> None:
    """Raise before any work if results of other settings, or no folder, are where results and page go."""
    for study in studies:
        check_results_folder(output / study.name, repr(study.protocol))
    if page is not None:
        if output.resolve() == page.resolve().parent:
            output.mkdir(parents=True, exist_ok=True)  # which results would make anyway, but later
        check_writable(page)


def run_studies(studies: Sequence[Study], output: Path, n_jobs: int, seconds: float | None = None) -> Finished:
    """Run each study, its records in a folder of its own below `output`; with `seconds`, each for so long at most."""
    for study in studies:
        study.check_sets()
    return [(study, _run(study, output / study.name, n_jobs, seconds)) for study in studies]


def write_studies(
    finished: Finished, folder: Path, page: Path | None, command: str, titles: Sequence[str] = ()
) -> None:
    """Draw the pictures into `folder`, and write the page that shows them, saying which command made it.

    With `titles`, those of all sections in their order, a page that exists keeps the sections of other studies.
    """
    drawn = [(study, results, _draw(study, results, folder / PICTURES)) for study, results in finished]
    if page is not None:
        write_page(page, command, drawn, titles)


def check_measured(finished: Finished) -> None:
    """Refuse to call a run a success in which nothing could be measured."""
    failures = [failure for _, results in finished for failure in results.failures]
    if failures and len(failures) == sum(len(results.records) for _, results in finished):
        first = failures[0]
        raise DataError(f"nothing could be measured; {first['classifier']} on {first['set']}: {first['failure']}")
    if failures:
        say(f"{len(failures)} fits failed; the table of failures says why.")


def _run(study: Study, folder: Path, n_jobs: int, seconds: float | None) -> Results:
    with working(study.name) as update:

        def progress(record: Record, done: int, total: int) -> None:
            update(f"{study.name}: {record['set']}, {record['classifier']}", done, total)

        return study.run(folder, n_jobs, progress, seconds)


def _draw(study: Study, results: Results, folder: Path) -> list[tuple[str, Path]]:
    """The pictures, where the study has some and the extra `plots` is installed."""
    if not study.draws:
        return []
    if not find_spec("matplotlib"):
        say("no pictures: install tanager[plots]")
        return []
    from experiments.studies.pictures import draw_pictures

    return draw_pictures(study, results, folder)
