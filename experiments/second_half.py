"""The README's comparison: six models on the second half of the benchmark tables, from records and printed results.

    python -m experiments.second_half measure [JOBS]   # the TAN, on this machine
    python -m experiments.second_half                  # the table, into README.md

The rules of the additive model were chosen on the first half of the tables (experiments/halves.json). The second half
was measured to confirm them. After its first run (additive-second-first-run.json) rules of trees changed, so the table
also names the figures of that run. It is over those tables of the second half that all six models were measured on,
with the same five folds. `measure` writes experiments/records/tan-second.json; the additive model's record is written
by `python -m experiments.additive run second`, the rivals' by `python -m experiments.papers.rivals`. A rival without a
record is taken from a page of results, to the digits printed there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from experiments.papers.printed import read_table
from experiments.studies.data_sets import DataSet, find_data_sets
from experiments.studies.protocol import Protocol

HERE = Path(__file__).parent
RECORDS, README = HERE / "records", HERE.parent / "README.md"
TAN, FIRST_RUN = RECORDS / "tan-second.json", RECORDS / "additive-second-first-run.json"
MAX_ROWS = 60_000
ADDITIVE, BOOSTER, TUNED = "**Tanager, additive model**", "CatBoost, defaults", "LightGBM, best of 30 random trials"
BEGIN = "<!-- comparison: begin, written by `make summary` -->"
END = "<!-- comparison: end -->"
HEADINGS = {
    "log_loss": ("log-loss in nats",),
    "error": ("error in %",),
    "fit_seconds": ("processor seconds to fit", "seconds to fit"),
}
# Label in the README, name in the records or pages, page.
RIVALS = (
    (BOOSTER, "CatBoost", "RESULTS.md"),
    (TUNED, "LightGBM (30 trials)", "RESULTS.md"),
    ("EBM (interpret), defaults", "EBM", "slow/RESULTS.md"),
    ("logistic regression (scikit-learn)", "logistic regression", "RESULTS.md"),
)

Measures = dict[str, dict[str, float]]
"""Table -> log_loss, error (a fraction) and fit_seconds, means over the folds."""


def comparison() -> Iterator[str]:
    """The table, a line at a time."""
    additive, tan = (json.loads(file.read_text(encoding="utf-8")) for file in (RECORDS / "additive-second.json", TAN))
    rows = {ADDITIVE: means(additive["folds"])}
    records = list(_rival_folds())
    sizes = {each["set"]: each["train_rows"] + each["test_rows"] for each in records if "failure" not in each}
    for label, name, page in RIVALS:
        rows[label] = printed(name, HERE / page) | means(each for each in records if each["classifier"] == name)
    rows["Tanager, TAN"] = means(tan["folds"])
    tables = sorted(set.intersection(*(set(by_table) for by_table in rows.values())))
    losses = np.array([[by_table[name]["log_loss"] for name in tables] for by_table in rows.values()])
    yield f"| {len(tables)} tables of the second half, 5 folds | log-loss | error | seconds per fit | lowest log-loss |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    best = np.round(losses, 3) == np.round(losses, 3).min(axis=0)
    for (label, by_table), wins in zip(rows.items(), best.sum(axis=1), strict=True):
        loss, error, seconds = (float(np.mean([by_table[name][measure] for name in tables])) for measure in HEADINGS)
        yield f"| {label} | {loss:.3f} | {100 * error:.1f} % | {seconds:.2g} | {wins} |"
    yield ""
    n_rows = [sizes[name] for name in tables]
    first = means(json.loads(FIRST_RUN.read_text(encoding="utf-8"))["folds"])
    loss, error = (np.mean([first[name][measure] for name in tables]) for measure in ("log_loss", "error"))
    bullets = (
        f"The tables have {min(n_rows):,} to {max(n_rows):,} rows. The last column counts tables, ties included. "
        "Each fit has one thread; the time of LightGBM includes its trials.",
        "We chose the rules of the additive model on the first half of our tables. Some rules changed after a first "
        f"run on the second half, which gave {loss:.3f} and {100 * error:.1f} %.",
        _without_sites(rows, tables),
        _without_tuned(rows, tables),
    )
    for bullet in filter(None, bullets):
        yield from textwrap.wrap(f"- {bullet}", 120, subsequent_indent="  ", break_on_hyphens=False)


def _without_sites(rows: dict[str, Measures], tables: list[str]) -> str:
    """The result without the tables of one kind, DNA binding sites."""
    others = [name for name in tables if not name.startswith("tfbs-")]
    ours, tuned = (np.mean([rows[label][name]["log_loss"] for name in others]) for label in (ADDITIVE, TUNED))
    return (
        f"Without the {len(tables) - len(others)} tables of DNA binding sites the log-loss is {ours:.3f} "
        f"(additive model) and {tuned:.3f} (LightGBM)."
    )


def _without_tuned(rows: dict[str, Measures], tables: list[str]) -> str:
    """The result on the tables that tuned LightGBM lacks; empty if it has all."""
    others = sorted((set(rows[ADDITIVE]) & set(rows[BOOSTER])) - set(tables))
    if not others:
        return ""
    ours, theirs = (np.mean([rows[label][name]["log_loss"] for name in others]) for label in (ADDITIVE, BOOSTER))
    return (
        f"{len(others)} more tables have no result of tuned LightGBM ({', '.join(others)}). There the log-loss is "
        f"{ours:.3f} (additive model) and {theirs:.3f} (CatBoost)."
    )


def means(folds: Iterable[dict[str, Any]]) -> Measures:
    """Of tables of which all five folds were measured."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for fold in folds:
        if "failure" not in fold:
            found[fold.get("name", fold.get("set"))].append(fold)
    n_folds = Protocol().split.n_folds
    return {
        name: {measure: float(np.mean([fold[measure] for fold in lines])) for measure in HEADINGS}
        for name, lines in found.items()
        if len(lines) == n_folds
    }


def _rival_folds() -> Iterator[dict[str, Any]]:
    from experiments.papers.rivals import read_rivals

    for record in read_rivals():
        yield record if "failure" in record else record | {"error": 1 - record["accuracy"]}


def printed(name: str, page: Path) -> Measures:
    """What a page of results prints of a classifier."""
    text = page.read_text(encoding="utf-8")
    columns: dict[str, dict[str, float]] = {}
    for measure, headings in HEADINGS.items():
        tables = (read_table(text, "The field today", heading) for heading in headings)
        columns[measure] = next((table[name] for table in tables if name in table), {})
    return {
        table: {
            "log_loss": loss,
            "error": columns["error"][table] / 100,
            "fit_seconds": columns["fit_seconds"][table],
        }
        for table, loss in columns["log_loss"].items()
        if table in columns["error"] and table in columns["fit_seconds"]
    }


def write_readme() -> None:
    text = README.read_text(encoding="utf-8")
    README.write_text(put_comparison(text), encoding="utf-8")


def put_comparison(text: str) -> str:
    """The text with the table between its two comments."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{chr(10).join(comparison())}\n\n{END}{rest.partition(END)[2]}"


def measure(n_jobs: int) -> None:
    """The default TAN on the tables of the second half of up to `MAX_ROWS` rows."""
    wanted = set(json.loads((HERE / "halves.json").read_text(encoding="utf-8"))["second"])
    folder = Path(os.environ.get("TANAGER_DATA", "../shared/data"))
    sets = [each for each in find_data_sets(folder) if each.name in wanted and each.n_rows <= MAX_ROWS]
    tasks = [(each, fold) for each in sets for fold in range(Protocol().split.n_folds)]
    with ProcessPoolExecutor(n_jobs) as pool:
        folds = list(pool.map(_measure_fold, *zip(*tasks, strict=True)))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    TAN.write_text(json.dumps({"commit": commit, "folds": folds}, indent=0) + "\n", encoding="utf-8")


def _measure_fold(data_set: DataSet, number: int) -> dict[str, Any]:
    from tanager import BayesianNetworkClassifier
    from tanager.errors import DataWarning
    from tanager.evaluate.cross_validate import judge_fold
    from tanager.metrics import measure as measure_rows

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        prepared = Protocol().prepare(data_set)
        train, test = prepared.folds[number]
        clf = BayesianNetworkClassifier(n_jobs=1)
        fold = judge_fold(clf, prepared.X, prepared.y, train, test, prepared.classes)
    found = measure_rows(fold.probabilities, np.searchsorted(prepared.classes, prepared.y[test]))
    return {
        "name": data_set.name,
        "fold": number,
        "log_loss": found.log_loss,
        "error": 1 - found.accuracy,
        "fit_seconds": round(fold.fit_seconds, 3),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    write_readme()
