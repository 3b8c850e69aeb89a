"""The page of results: every study's tables and pictures, with versions, date and command; generated Markdown."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments.studies.jobs import pair_of
from experiments.studies.pictures import Picture
from experiments.studies.results import Results
from experiments.studies.study import Study
from tanager.files.paths import atomic_write

HEADING = "# Experiments\n\nGenerated; do not edit.\n"
PACKAGES = (
    "tanager",
    "numpy",
    "scipy",
    "scikit-learn",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",  # the same without CUDA
    "interpret-core",
    "scikit-bayes",
    "catboost",
    "chimeraboost",
    "pytabkit",
    "torch",
)
MAX_TIMES = 4
Drawn = Sequence[tuple[Study, Results, Sequence[Picture]]]


def write_page(path: Path, command: str, studies: Drawn, titles: Sequence[str] = ()) -> None:
    """Write the page: a section for each study, with its date and command; pictures are linked from where they are.

    With `titles`, those of all studies that may be on the page, a page that exists keeps its other sections, in the
    order of the titles.
    """
    page = path.read_text(encoding="utf-8") if titles and path.exists() else ""
    sections = {part.split("\n", 1)[0]: f"## {part}" for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}
    for study, results, pictures in studies:
        sections[study.title] = "\n".join(_section(path.parent, study, results, pictures, _about(command)))
    order = sorted(sections, key=lambda title: titles.index(title) if title in titles else len(titles))
    with atomic_write(path) as stream:
        stream.write("\n".join([HEADING, *(sections[title].rstrip("\n") + "\n" for title in order)]).encode())


def _not_run(study: Study, results: Results) -> str:
    """The sets that classifiers lack, for want of time: in words, empty if none does."""
    wanted, done = {job.pair for job in study.jobs()}, set(map(pair_of, results.records))
    lacking = Counter(classifier for _, classifier in wanted - done)
    return ", ".join(f"{name} on {number} sets" for name, number in lacking.most_common())


def _about(command: str) -> str:
    return f"{datetime.date.today()}, {', '.join(_versions())}; {os.cpu_count()} cores. Command: `{command}`.\n"


def _section(folder: Path, study: Study, results: Results, pictures: Sequence[Picture], about: str) -> Iterator[str]:
    yield f"## {study.title}\n"
    yield about
    n_sets, n_classifiers = len(results.sets), len(results.classifiers)
    yield f"{n_sets} sets, {n_classifiers} classifiers, {len(results.records)} fits; seed {study.protocol.seed}."
    if missing := _not_run(study, results):
        yield f"Not run yet: {missing}."
    seconds = results.seconds()
    slowest = ", ".join(f"{name} {time:.0f}" for name, time in list(seconds.items())[:MAX_TIMES])
    yield f"Processor seconds to fit and predict: {sum(seconds.values()):.0f} in all; {slowest}.\n"
    for note in study.notes:
        yield f"- {note}"
    yield ""
    for table in study.tables(results):
        yield table.markdown()
    for caption, picture in pictures:
        yield f"![{caption}]({Path(os.path.relpath(picture, folder)).as_posix()})\n\n*{caption}*\n"


def _versions() -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    for name in PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
