"""The Bayesian network classifiers of the literature by rank, from the results of `make experiments`.

    .venv-field/bin/python -m experiments.classics [--max-rows N] [--jobs N]

Writes docs/classics_table.md. Folds that experiments/results has not (`make experiments`) are measured first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from experiments.field_table import write_table
from experiments.studies.field import CLASSICS, MAX_ROWS
from experiments.studies.results import Results
from experiments.studies.study import Study
from experiments.studies.tables import ranks_of

REFERENCE = "NB conditional"
MAX_NAMES = 5
LARGE_ROWS = 3_000
REMARK = (
    "Rules of some were chosen on these sets and folds: the strengths of priors of NB conditional and of the margins "
    "on all of them, the smoothing of hierarchical on the first half. "
    f"Mean ranks, also on the sets of {LARGE_ROWS:,} rows and more alone, and means of log-loss in nats and of error; "
    "the last column has the sets on which a classic has the lowest log-loss of all but the last row."
)


def classics_of(field: Study) -> Study:
    """The classics of the field and the reference; their folds are the field's own."""
    judged = {*CLASSICS, REFERENCE}
    return replace(field, entries=[entry for entry in field.entries if entry.name in judged])


def classics_table(results: Results) -> Iterator[str]:
    """The classics by mean rank of log-loss, the reference last."""
    losses, errors = results.matrix("log_loss"), results.matrix("error")
    ranks = {measure: ranks_of(results, measure).mean for measure in ("log_loss", "error")}
    classic = [place for place, name in enumerate(results.classifiers) if name != REFERENCE]
    reference = [place for place in range(len(results.classifiers)) if place not in classic]
    best = np.asarray(classic)[np.nanargmin(losses[:, classic], axis=1)]
    large = rankdata(losses[large_sets(results)], axis=1, nan_policy="omit").mean(axis=0)
    yield "| | rank, log-loss | many rows | log-loss | rank, error | error in % | lowest log-loss of the classics on |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for place in [*sorted(classic, key=lambda each: ranks["log_loss"][each]), *reference]:
        won = [name for name, winner in zip(results.sets, best, strict=True) if winner == place]
        by_loss = f"{ranks['log_loss'][place]:.2f} | {large[place]:.2f} | {np.nanmean(losses[:, place]):.3f}"
        by_error = f"{ranks['error'][place]:.2f} | {100 * np.nanmean(errors[:, place]):.1f}"
        yield f"| {results.classifiers[place]} | {by_loss} | {by_error} | {name_sets(won)} |"


def large_sets(results: Results) -> list[int]:
    """The places of the sets of many rows."""
    sizes = {each["set"]: each["train_rows"] + each["test_rows"] for each in results.records if "train_rows" in each}
    return [place for place, name in enumerate(results.sets) if sizes[name] >= LARGE_ROWS]


def name_sets(won: list[str]) -> str:
    """How many sets, and the first of them by name."""
    if not won:
        return "none"
    more = ", …" if len(won) > MAX_NAMES else ""
    return f"{len(won)}: {', '.join(sorted(won)[:MAX_NAMES])}{more}"


if __name__ == "__main__":
    write_table("classics", MAX_ROWS, classics_of, REMARK, classics_table)
