"""The page of results: every study's tables and pictures, with versions, date and command; generated Markdown."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tanager.experiments.pictures import Picture
from tanager.experiments.results import Results
from tanager.experiments.study import Study
from tanager.experiments.tables import (
    claims_table,
    failures_table,
    has_ranks,
    measure_table,
    published_table,
    rank_table,
    signed_rank_table,
    versus_table,
    wilcoxon_table,
)
from tanager.experiments.text_table import TextTable
from tanager.files.atomic import atomic_write
from tanager.files.output_path import OutputKind, begins_with

HEADING = "# Experiments\n\nGenerated; do not edit.\n"
PAGE = OutputKind("a page of `tanager compare`", begins_with(re.escape(HEADING).encode()))
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
)
# Every pair of more classifiers than this is a table nobody reads; then the first is compared with the others.
MOST_FOR_ALL_PAIRS = 6
MOST_TIMES = 4


def study_tables(study: Study, results: Results) -> Iterator[TextTable]:
    """What to say of a study, the most important first."""
    comparison, deciding = study.comparison, study.measures[0]
    if comparison.claims:
        yield claims_table(results, comparison)
    if len(study.measures) > 1 and all(has_ranks(results, measure) for measure in study.measures):
        yield rank_table(results, study.measures)
    for measure in comparison.figures:
        yield published_table(results, comparison, measure)
    if comparison.tests:
        yield signed_rank_table(results, comparison, deciding)
    elif 1 < len(results.classifiers) <= MOST_FOR_ALL_PAIRS:
        yield wilcoxon_table(results, deciding)
    if not comparison.tests and len(results.classifiers) > 1:
        yield versus_table(results, deciding, results.classifiers[0])
    for measure in study.measures:
        published = {name for row in comparison.figures.get(measure, {}).values() for name in row}
        if not published.issuperset(results.classifiers):
            yield measure_table(results, measure)
    if results.failures:
        yield failures_table(results)


def write_page(path: Path, command: str, studies: Sequence[tuple[Study, Results, Sequence[Picture]]]) -> None:
    """Write the page, pictures linked from where they lie."""
    text = "\n".join(_sections(path.parent, command, studies))
    with atomic_write(path) as stream:
        stream.write(text.encode())


def _sections(folder: Path, command: str, studies: Sequence[tuple[Study, Results, Sequence[Picture]]]) -> Iterator[str]:
    yield HEADING
    yield f"{datetime.date.today()}, {', '.join(_versions())}; {os.cpu_count()} cores. Command: `{command}`.\n"
    for study, results, pictures in studies:
        yield f"## {study.title}\n"
        n_sets, n_classifiers = len(results.sets), len(results.classifiers)
        yield f"{n_sets} sets, {n_classifiers} classifiers, {len(results.records)} fits; seed {study.protocol.seed}."
        seconds = results.seconds()
        slowest = ", ".join(f"{name} {time:.0f}" for name, time in list(seconds.items())[:MOST_TIMES])
        yield f"Seconds to fit and predict: {sum(seconds.values()):.0f} in all; {slowest}.\n"
        for note in study.notes:
            yield f"- {note}"
        yield ""
        for table in study_tables(study, results):
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
