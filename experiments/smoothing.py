"""The least concentration of hierarchical smoothing: settled on every other set, confirmed on the rest.

    .venv-field/bin/python -m experiments.smoothing [--max-rows N] [--jobs N]

Writes docs/smoothing_table.md. Folds that experiments/results has not are measured first.
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
from tanager.experiments.field import field_study
from tanager.experiments.results import Results
from tanager.experiments.run_studies import run_studies

FOLDER = Path(__file__).parent
DATA = Path(os.environ.get("TANAGER_DATA", FOLDER / "../../shared/data"))
PAGE = FOLDER.parent / "docs" / "smoothing_table.md"
MAX_ROWS = 5_000
LEASTS = (1, 4, 16, 32, 64)
SMOOTHINGS = {
    "`tan`, Laplace": "tan:ll:frequency",
    **{f"`tan`, hierarchical, least {least}": f"tan:ll:hierarchical(least={least})" for least in (16, 32)},
    "`kdb(k=3)`, Laplace": "kdb(k=3):frequency",
    **{f"`kdb(k=3)`, hierarchical, least {least}": f"kdb(k=3):hierarchical(least={least})" for least in LEASTS},
}
HALVES = (slice(0, None, 2), slice(1, None, 2))
"""Of the sets in the order of their names: those that settle, and those that confirm."""


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS, help="of a set")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = sorted(
        (each for each in find_data_sets(DATA) if each.n_rows <= options.max_rows), key=lambda each: each.name
    )
    study = replace(field_study(sets), name="smoothing", entries=make_entries(SMOOTHINGS))
    ((_, results),) = run_studies([study], FOLDER / "results", options.jobs)
    settled, confirmed = (results.sets[half] for half in HALVES)
    lines = [
        "<!-- written by experiments/smoothing.py; do not edit -->",
        "",
        f"Written by `python -m experiments.smoothing` on {datetime.date.today()}, Tanager {tanager.__version__}, "
        f"NumPy {np.__version__}: {len(results.sets)} sets of up to {options.max_rows:,} rows, 5 folds, bins by MDLP. "
        "The first, third, fifth ... of them by name settle the least concentration, as the one with the lowest mean "
        "log-loss of `kdb(k=3)`; the others have no say in it.",
        "",
        *smoothing_table(results),
        "",
        f"Settled on: {', '.join(settled)}.",
        "",
        f"Confirmed on: {', '.join(confirmed)}.",
        "",
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


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
