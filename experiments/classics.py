"""Which of the classics pays where, from the field's results, and what hierarchical smoothing gains on sets held back.

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
from tanager.experiments.entries import make_entries
from tanager.experiments.field import CLASSICS, MAX_ROWS, field_study
from tanager.experiments.results import Results
from tanager.experiments.run_studies import run_studies
from tanager.experiments.tables import ranks_of

FOLDER = Path(__file__).parent
DATA = Path(os.environ.get("TANAGER_DATA", FOLDER / "../../shared/data"))
PAGE = FOLDER.parent / "docs" / "classics_table.md"
REFERENCE = "NB conditional"
MAX_NAMES = 5
MAX_ROWS_SMOOTHING = 5_000
LEASTS = (1, 4, 16, 32, 64)
HALVES = (slice(0, None, 2), slice(1, None, 2))
SMOOTHINGS = {
    "`tan`, Laplace": "tan:ll:frequency",
    **{f"`tan`, hierarchical, least {least}": f"tan:ll:hierarchical(least={least})" for least in (16, 32)},
    "`kdb(k=3)`, Laplace": "kdb(k=3):frequency",
    **{f"`kdb(k=3)`, hierarchical, least {least}": f"kdb(k=3):hierarchical(least={least})" for least in LEASTS},
}


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
    small = sorted((each for each in sets if each.n_rows <= MAX_ROWS_SMOOTHING), key=lambda each: each.name)
    smoothing = replace(field, name="smoothing", data_sets=small, entries=make_entries(SMOOTHINGS))
    finished = run_studies([smoothing, classics], FOLDER / "results", options.jobs)
    (_, of_smoothing), (_, of_classics) = finished
    lines = [
        "<!-- written by experiments/classics.py; do not edit -->",
        "",
        f"Written by `python -m experiments.classics` on {datetime.date.today()}, Tanager {tanager.__version__}, NumPy "
        f"{np.__version__}: {len(of_classics.sets)} sets of up to {options.max_rows:,} rows, 5 folds, bins by MDLP. "
        "Mean ranks and means of log-loss in nats and of error; the last column has the sets on which a classic has "
        "the lowest log-loss of all but the last row.",
        "",
        *classics_table(of_classics),
        "",
        f"The least concentration of `hierarchical`, on sets of up to {min(options.max_rows, MAX_ROWS_SMOOTHING):,} "
        "rows. It was settled on the first, third, fifth ... of them by name, as the one with the lowest mean log-loss "
        "of `kdb(k=3)`; the others had no say in it.",
        "",
        *smoothing_table(of_smoothing),
        "",
        f"Settled on: {', '.join(of_smoothing.sets[::2])}.",
        "",
        f"Confirmed on: {', '.join(of_smoothing.sets[1::2])}.",
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


def smoothing_table(results: Results) -> Iterator[str]:
    """On the sets that settle and on those that confirm, each against Laplace's tables of the same structure."""
    halves = [(results.matrix("log_loss")[half], results.matrix("error")[half]) for half in HALVES]
    n_sets = [len(losses) for losses, _ in halves]
    titles = [f"log-loss | error in % | lower than Laplace, of {n}" for n in n_sets]
    yield f"| structure, tables | {n_sets[0]} sets that settled: {titles[0]} | {n_sets[1]} others: {titles[1]} |"
    yield f"| --- |{' ---: |' * 6}"
    for place, name in enumerate(results.classifiers):
        plain = results.classifiers.index(f"{name.split(',')[0]}, Laplace")
        cells = []
        for losses, errors in halves:
            lower = "" if place == plain else str(int((losses[:, place] < losses[:, plain]).sum()))
            cells += [f"{np.nanmean(losses[:, place]):.3f}", f"{100 * np.nanmean(errors[:, place]):.1f}", lower]
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
