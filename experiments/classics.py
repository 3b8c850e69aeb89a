"""Which of the classics pays where, from the field's results, and what hierarchical smoothing gains on sets held back.

    .venv-field/bin/python -m experiments.classics [--sets NAME,NAME] [--jobs N]

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
from tanager.experiments.data_sets import choose, find_data_sets
from tanager.experiments.entries import make_entries
from tanager.experiments.field import CLASSICS, field_study
from tanager.experiments.results import Results
from tanager.experiments.run_studies import run_studies
from tanager.experiments.tables import ranks_of

FOLDER = Path(__file__).parent
DATA = Path(os.environ.get("TANAGER_DATA", FOLDER / "../../shared/data"))
PAGE = FOLDER.parent / "docs" / "classics_table.md"
REFERENCE = "NB conditional"
MAX_NAMES = 5
# The least concentration of `hierarchical` was settled on these.
SETTLED_ON = (
    *("breast", "car", "chess", "crx", "german", "glass", "heart", "lymphography", "mushroom", "nursery", "segment"),
    *("soybean-large", "splice", "tic-tac-toe", "vehicle", "vote"),
)
MAX_ROWS_HELD_BACK = 5_000
SMOOTHINGS = {
    "`tan`, Laplace": "tan:ll:frequency",
    "`tan`, hierarchical": "tan:ll:hierarchical",
    "`kdb(k=3)`, Laplace": "kdb(k=3):frequency",
    "`kdb(k=3)`, hierarchical, least 1": "kdb(k=3):hierarchical(least=1)",
    "`kdb(k=3)`, hierarchical": "kdb(k=3):hierarchical",
    "`kdb(k=3)`, hierarchical, least 16": "kdb(k=3):hierarchical(least=16)",
}


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=lambda text: text.split(","), help="only these, by name")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = choose(find_data_sets(DATA), options.sets)
    field = field_study(sets)
    judged = {*CLASSICS, REFERENCE}
    classics = replace(field, entries=[entry for entry in field.entries if entry.name in judged])
    held_back = [each for each in sets if each.name not in SETTLED_ON and each.n_rows <= MAX_ROWS_HELD_BACK]
    smoothing = replace(field, name="smoothing", data_sets=held_back, entries=make_entries(SMOOTHINGS))
    finished = run_studies([smoothing, classics], FOLDER / "results", options.jobs)
    (_, of_smoothing), (_, of_classics) = finished
    lines = [
        "<!-- written by experiments/classics.py; do not edit -->",
        "",
        f"Written by `python -m experiments.classics` on {datetime.date.today()}, Tanager {tanager.__version__}, NumPy "
        f"{np.__version__}: {len(of_classics.sets)} sets, 5 folds, bins by MDLP. "
        "Mean ranks and means of log-loss in nats and of error; the last column has the sets on which a classic has "
        "the lowest log-loss of all but the last row.",
        "",
        *classics_table(of_classics),
        "",
        f"Hierarchical smoothing on the {len(of_smoothing.sets)} sets of up to {MAX_ROWS_HELD_BACK:,} rows on which "
        "its least concentration, 4, was not settled:",
        "",
        *smoothing_table(of_smoothing),
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
    """Each against Laplace's tables of the same structure."""
    losses, errors = results.matrix("log_loss"), results.matrix("error")
    yield "| structure, tables | log-loss | error in % | lower log-loss than Laplace on |"
    yield "| --- | ---: | ---: | ---: |"
    for place, name in enumerate(results.classifiers):
        plain = results.classifiers.index(f"{name.split(',')[0]}, Laplace")
        lower = int((losses[:, place] < losses[:, plain]).sum())
        beats = "" if place == plain else f"{lower} of {len(losses)} sets"
        mean_loss, mean_error = np.nanmean(losses[:, place]), np.nanmean(errors[:, place])
        yield f"| {name} | {mean_loss:.3f} | {100 * mean_error:.1f} | {beats} |"


if __name__ == "__main__":
    main()
