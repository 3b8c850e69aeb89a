"""Networks with conditional tables, with a missing cell as a state or averaged over: log-loss on 5 folds.

    python -m experiments.missing_state

Writes experiments/MISSING_STATE.md. The folder is $TANAGER_DATA.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from experiments.commit import commit
from experiments.studies.data_sets import DataSet, find_data_sets
from experiments.studies.protocol import Protocol
from tanager import BayesianNetworkClassifier
from tanager.evaluate.cross_validate import judge_fold
from tanager.metrics import measure

HERE = Path(__file__).parent
MAX_ROWS = 10_000
ABOUT = f"""Written by `python -m experiments.missing_state`. Log-loss on
5 folds of the tables with missing cells of up to {MAX_ROWS:,} rows, with the default tables of networks
(`parameters="conditional"`). The first half of the tables was to decide what `missing="auto"` is, the second to confirm
it.

**Decision: `"auto"` averages over missing cells.** On the first half a state has the lower log-loss in the geometric
mean, but on fewer than half of the tables: nearly all of the gain is that of anneal, with naive Bayes also of mushroom,
where a missing cell says much about the class. The second half does not confirm it: the ratio is
above 1. Where missing cells are informative, `missing="category"` makes them a state.
"""
STRUCTURES, WAYS = ("naive-bayes", "tan"), ("average", "category")
LEAST = 0.001
"""Log-losses below it count as it in ratios."""


def main() -> None:
    sets = find_data_sets(Path(os.environ.get("TANAGER_DATA", "../shared/data")))
    lines = ["| half | table | " + " | ".join(f"{s}, {way}" for s in STRUCTURES for way in WAYS) + " |"]
    lines.append("| --- | --- |" + " ---: |" * (len(STRUCTURES) * len(WAYS)))
    summary = []
    for half, names in json.loads((HERE / "halves.json").read_text(encoding="utf-8")).items():
        found = []
        for each in sets:
            if each.name in names and each.n_rows <= MAX_ROWS and has_missing(each):
                found.append([log_loss(each, structure, way) for structure in STRUCTURES for way in WAYS])
                lines.append(f"| {half} | {each.name} | " + " | ".join(f"{value:.4f}" for value in found[-1]) + " |")
                print(lines[-1], flush=True)
        for k, structure in enumerate(STRUCTURES):
            average, state = np.array(found)[:, 2 * k : 2 * k + 2].T
            ratio = np.exp(np.mean(np.log(np.maximum(state, LEAST) / np.maximum(average, LEAST))))
            summary.append(
                f"- {half} half, {structure}: a state is better on {(state < average).sum()} of {len(found)} tables; "
                f"ratio {ratio:.3f}, mean {state.mean():.4f} against {average.mean():.4f}."
            )
    head = ["# A missing cell as a state of its own in networks", "", f"Measured at {commit()}. {ABOUT}"]
    page = "\n".join([*head, *summary, "", *lines, ""])
    (HERE / "MISSING_STATE.md").write_text(page, encoding="utf-8")


def has_missing(data_set: DataSet) -> bool:
    X, _ = data_set.read()
    return any(column.null_count for column in X.columns)


def log_loss(data_set: DataSet, structure: str, missing: str) -> float:
    prepared, losses = Protocol().prepare(data_set), []
    for train, test in prepared.folds:
        clf = BayesianNetworkClassifier(structure, missing=missing, n_jobs=1)
        fold = judge_fold(clf, prepared.X, prepared.y, train, test, prepared.classes)
        losses.append(measure(fold.probabilities, np.searchsorted(prepared.classes, prepared.y[test])).log_loss)
    return float(np.mean(losses))


if __name__ == "__main__":
    main()
