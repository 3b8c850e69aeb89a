"""The additive model beside version 0.2's default on the benchmark tables: 5 folds, seed 0.

    python -m experiments.additive run HALF [TABLE ...]   # "first" or "second" of experiments/halves.json
    python -m experiments.additive page

`run` measures a half and keeps a line for each table and fold in experiments/records/additive-HALF.json, with the
commit it ran on. `page` writes experiments/ADDITIVE.md from these records and from those of 0.2, additive-0.2.json.
Rules are settled on the first half; the second is run once. The folder is $TANAGER_DATA, ../shared/data by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from experiments.studies.data_sets import DataSet, find_data_sets
from experiments.studies.protocol import Protocol
from tanager import AdditiveClassifier
from tanager.evaluate.cross_validate import judge_fold
from tanager.metrics import measure

HERE = Path(__file__).parent
RECORDS = HERE / "records"
LEAST = 0.001
"""Log-losses below it count as it in ratios."""


def run(half: str, names: list[str]) -> None:
    wanted = set(names or json.loads((HERE / "halves.json").read_text(encoding="utf-8"))[half])
    folder = Path(os.environ.get("TANAGER_DATA", "../shared/data"))
    sets = [each for each in find_data_sets(folder) if each.name in wanted]
    lines = [line for data_set in sorted(sets, key=lambda each: each.n_rows) for line in measure_set(data_set)]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    record = {"commit": commit, "folds": lines}
    (RECORDS / f"additive-{half}.json").write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")


def measure_set(data_set: DataSet) -> list[dict[str, object]]:
    """A line for each fold."""
    prepared, lines = Protocol().prepare(data_set), []
    for number, (train, test) in enumerate(prepared.folds):
        fold = judge_fold(AdditiveClassifier(), prepared.X, prepared.y, train, test, prepared.classes)
        found = measure(fold.probabilities, np.searchsorted(prepared.classes, prepared.y[test]))
        line = {"name": data_set.name, "fold": number, "log_loss": found.log_loss, "error": 1 - found.accuracy}
        lines.append(line | {"fit_seconds": round(fold.fit_seconds, 3), "tree_share": fold.fitted.trace_.tree_share})
        print(lines[-1], flush=True)
    return lines


def page() -> None:
    """experiments/ADDITIVE.md."""
    before = _by_table(json.loads((RECORDS / "additive-0.2.json").read_text(encoding="utf-8"))["folds"])
    missing = json.loads((RECORDS / "missing_cells.json").read_text(encoding="utf-8"))
    text = [
        "# The additive model beside version 0.2",
        "",
        "Written by `python -m experiments.additive page`. 5 folds, seed 0. Rules were settled on the first half; the "
        "second half was run once. A ratio is the geometric mean of the log-loss divided by that of 0.2's default, "
        f"losses below {LEAST} counted as {LEAST}.",
        "",
        "| half | commit | tables | ratio | log-loss | 0.2 | error % | 0.2 |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    details = [
        "",
        "| table | half | log-loss | 0.2 | ratio | error % | 0.2 |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for half in ("first", "second"):
        record = json.loads((RECORDS / f"additive-{half}.json").read_text(encoding="utf-8"))
        now = _by_table(record["folds"])
        for kind, wanted in (("without missing cells", False), ("with missing cells", True)):
            names = [name for name in sorted(now) if name in before and (missing[name] > 0) == wanted]
            rows = np.array([[*now[name], *before[name]] for name in names])
            ratio = np.exp(np.log(np.maximum(rows[:, 0], LEAST) / np.maximum(rows[:, 2], LEAST)).mean())
            means = rows.mean(axis=0)
            text.append(
                f"| {half}, {kind} | {record['commit'][:7]} | {len(names)} | {ratio:.3f} | {means[0]:.4f} "
                f"| {means[2]:.4f} | {100 * means[1]:.2f} | {100 * means[3]:.2f} |"
            )
        for name in sorted(set(now) & set(before)):
            loss, error, loss_before, error_before = *now[name], *before[name]
            ratio = max(loss, LEAST) / max(loss_before, LEAST)
            details.append(
                f"| {name} | {half} | {loss:.4f} | {loss_before:.4f} | {ratio:.3f} | {100 * error:.2f} "
                f"| {100 * error_before:.2f} |"
            )
    (HERE / "ADDITIVE.md").write_text("\n".join(text + details) + "\n", encoding="utf-8")


def _by_table(folds: list[dict[str, float | str]]) -> dict[str, tuple[float, float]]:
    """Mean log-loss and error of each table."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for line in folds:
        found[str(line["name"])].append((float(line["log_loss"]), float(line["error"])))
    return {
        name: (float(np.mean([v[0] for v in values])), float(np.mean([v[1] for v in values])))
        for name, values in found.items()
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2], sys.argv[3:])
    page()
