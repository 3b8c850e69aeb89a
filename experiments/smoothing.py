"""The least concentration of hierarchical smoothing: settled on every other set, confirmed on the rest.

    .venv-field/bin/python -m experiments.smoothing [--max-rows N] [--jobs N]

Writes docs/smoothing_table.md. Folds that experiments/results has not are measured first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from experiments.field_table import write_table
from experiments.studies.entries import make_entries
from experiments.studies.results import Results
from experiments.studies.study import Study

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


REMARK = (
    "The first, third, fifth ... of them by name settle the least concentration, as the one with the lowest mean "
    "log-loss of `kdb(k=3)`; the others have no say in it."
)


def smoothings_of(field: Study) -> Study:
    return replace(field, name="smoothing", entries=make_entries(SMOOTHINGS))


def smoothing_table(results: Results) -> Iterator[str]:
    """Each against Laplace's tables of the same structure, on either half; what is settled, and which sets they are."""
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
    places = [results.classifiers.index(f"`kdb(k=3)`, hierarchical, least {least}") for least in LEASTS]
    least = LEASTS[int(np.argmin(np.nanmean(halves[0][0][:, places], axis=0)))]
    yield from ("", f"The first half settles a least concentration of {least}.")
    for word, half in zip(("Settled", "Confirmed"), HALVES, strict=True):
        yield from ("", f"{word} on: {', '.join(results.sets[half])}.")


if __name__ == "__main__":
    write_table("smoothing", MAX_ROWS, smoothings_of, REMARK, smoothing_table)
