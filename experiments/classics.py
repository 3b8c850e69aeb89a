"""Which of the classics pays where, from the field's results.

    .venv-field/bin/python -m experiments.classics [--max-rows N] [--jobs N]

Writes docs/classics_table.md. Folds that experiments/results has not (`make experiments`) are measured first.
"""

from __future__ import annotations

import datetime
import os
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import tanager
from tanager.experiments.data_sets import find_data_sets
from tanager.experiments.field import CLASSICS, MAX_ROWS, field_study
from tanager.experiments.results import Results
from tanager.experiments.run_studies import run_studies
from tanager.experiments.tables import ranks_of

FOLDER = Path(__file__).parent
DATA = Path(os.environ.get("TANAGER_DATA", FOLDER / "../../shared/data"))
PAGE = FOLDER.parent / "docs" / "classics_table.md"
REFERENCE = "NB conditional"
MAX_NAMES = 5


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS, help="of a set")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = [each for each in find_data_sets(DATA) if each.n_rows <= options.max_rows]
    field = field_study(sets)
    judged = {*CLASSICS, REFERENCE}
    classics = replace(field, entries=[entry for entry in field.entries if entry.name in judged])
    ((_, results),) = run_studies([classics], FOLDER / "results", options.jobs)
    lines = [
        "<!-- written by experiments/classics.py; do not edit -->",
        "",
        f"Written by `python -m experiments.classics` on {datetime.date.today()}, Tanager {tanager.__version__}, NumPy "
        f"{np.__version__}: {len(results.sets)} sets of up to {options.max_rows:,} rows, 5 folds, bins by MDLP. "
        "Mean ranks and means of log-loss in nats and of error; the last column has the sets on which a classic has "
        "the lowest log-loss of all but the last row.",
        "",
        *classics_table(results),
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


def classics_table(results: Results) -> Iterator[str]:
    """The classics by mean rank of log-loss, the reference last."""
    losses, errors = results.matrix("log_loss"), results.matrix("error")
    ranks = {measure: ranks_of(results, measure).mean for measure in ("log_loss", "error")}
    classic = [place for place, name in enumerate(results.classifiers) if name != REFERENCE]
    reference = [place for place in range(len(results.classifiers)) if place not in classic]
    best = np.asarray(classic)[np.nanargmin(losses[:, classic], axis=1)]
    yield "| | rank, log-loss | log-loss | rank, error | error in % | lowest log-loss of the classics on |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for place in [*sorted(classic, key=lambda each: ranks["log_loss"][each]), *reference]:
        won = [name for name, winner in zip(results.sets, best, strict=True) if winner == place]
        by_loss = f"{ranks['log_loss'][place]:.2f} | {np.nanmean(losses[:, place]):.3f}"
        by_error = f"{ranks['error'][place]:.2f} | {100 * np.nanmean(errors[:, place]):.1f}"
        yield f"| {results.classifiers[place]} | {by_loss} | {by_error} | {name_sets(won)} |"


def name_sets(won: list[str]) -> str:
    """How many sets, and the first of them by name."""
    if not won:
        return "none"
    more = ", …" if len(won) > MAX_NAMES else ""
    return f"{len(won)}: {', '.join(sorted(won)[:MAX_NAMES])}{more}"


if __name__ == "__main__":
    main()
