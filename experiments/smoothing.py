"""Ways to smooth the tables of k-dependence Bayes: settled on one half of the tables, confirmed on the other.

    python -m experiments.smoothing measure [first|second]
    python -m experiments.smoothing

The first measures a half of the tables (`experiments.halves`) and keeps experiments/records/smoothing-HALF.json; the
second writes docs/smoothing_table.md from both.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.special import digamma
from sklearn.model_selection import StratifiedKFold

from experiments.commit import commit_of
from experiments.halves import half
from experiments.studies.data_sets import DataSet, find_data_sets
from tanager import BayesianNetworkClassifier
from tanager.arrays import Array
from tanager.parameters import Frequency, Hierarchical, LearntNetwork, ParameterLearner, ParameterTask, hierarchical
from tanager.structure import KDependence

ROOT = Path(__file__).parents[1]
MOST_ROWS, N_FOLDS = 1_500, 2
DEPTHS = (1, 2)
FLOOR = "least 32"
Record = dict[str, float | int | str]


class ErrorsAllowed(Hierarchical):
    """`Hierarchical` with another number of standard errors by which a larger least may be worse."""

    def __init__(self, errors: float = 2.0) -> None:
        super().__init__()
        self.errors = errors

    def learn(self, task: ParameterTask) -> LearntNetwork:
        with patch.object(hierarchical, "ERRORS_ALLOWED", self.errors):
            return super().learn(task)


class HierarchicalDirichletProcess(ParameterLearner):
    """Petitjean et al. (2018) without sampling: a level counts the expected tables of the level below, not its rows.

    Of a cell of n rows with concentration c and probability p one level up, c p (digamma(c p + n) - digamma(c p))
    tables are expected. Concentrations, one for each level, are chosen by leaving one row out; three rounds of both.
    """

    def learn(self, task: ParameterTask) -> LearntNetwork:
        families, n_states = task.dag.families, task.counts.n_states
        tables = []
        for family, counted in zip(families, task.counts.tables(families), strict=True):
            levels = hierarchical.FamilyLevels.of(family, counted, n_states)
            table = expected_tables(levels.levels) if levels.levels else levels.table([])
            tables.append(table.reshape(family.shape(n_states)))
        return LearntNetwork(task.network(tables))


def expected_tables(rows: Sequence[Array]) -> Array:
    """P(child | parents) from the rows of each level."""
    counts, concentrations = [each.copy() for each in rows], [2.0] * len(rows)
    top = np.full(rows[0].shape, 1.0 / rows[0].shape[-1])
    for _ in range(3):
        above = [top]
        for counted, m in zip(counts, concentrations, strict=True):
            above.append((counted + m * above[-1]) / (counted.sum(axis=-1, keepdims=True) + m))
        for depth in range(len(rows) - 1, 0, -1):
            n, spread = counts[depth], concentrations[depth] * np.broadcast_to(above[depth], counts[depth].shape)
            expected = np.clip(spread * (digamma(spread + n) - digamma(spread)), np.minimum(n, 1.0), n)
            axes = tuple(axis for axis in range(n.ndim - 1) if rows[depth - 1].shape[axis] < n.shape[axis])
            counts[depth - 1] = expected.sum(axis=axes, keepdims=True)
        p = top
        for depth, counted in enumerate(counts):
            concentrations[depth] = hierarchical.choose_concentrations([counted], [0.25], p)[0.25][0]
            m = concentrations[depth]
            p = (counted + m * p) / (counted.sum(axis=-1, keepdims=True) + m)
    return p


WAYS: dict[str, ParameterLearner] = {
    "Laplace": Frequency(),
    FLOOR: Hierarchical(32.0),
    "least 1/2": Hierarchical(0.5),
    **{f"auto, {errors} standard error{'s' * (errors > 1)}": ErrorsAllowed(errors) for errors in (1, 2, 3)},
    "hierarchical Dirichlet process": HierarchicalDirichletProcess(),
}


def measure(which: str) -> None:
    """Log-losses on two folds of each table of a half, of at most `MOST_ROWS` rows; tables in the record are kept."""
    folder = Path(os.environ.get("TANAGER_DATA", ROOT / "../shared/data"))
    sets = [each for each in find_data_sets(folder) if half(each.name) == which and not each.name.startswith("tfbs")]
    file = ROOT / f"experiments/records/smoothing-{which}.json"
    records: list[Record] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    measured = {(record["set"], record["k"]) for record in records}
    for data_set in sorted(sets, key=lambda each: each.name):
        for k in DEPTHS:
            if (data_set.name, k) in measured:
                continue
            losses = {name: round(float(np.mean([*log_losses(data_set, k, way)])), 5) for name, way in WAYS.items()}
            records.append({"set": data_set.name, "k": k, **losses})
            file.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def log_losses(data_set: DataSet, k: int, way: ParameterLearner) -> Iterator[float]:
    """Of the rows held out, but for those of a class that the training rows lack."""
    X, y = data_set.read()
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
    X, y = X.take(chosen), np.asarray(y)[chosen]
    for training, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y, y):
        clf = BayesianNetworkClassifier(KDependence(k), parameters=way, missing="marginalize")
        clf.fit(X.take(training), y[training])
        known = test[np.isin(y[test], clf.classes_)]
        places = np.searchsorted(clf.classes_, y[known])
        yield from -clf.predict_log_proba(X.take(known))[np.arange(len(known)), places]


def write_table() -> Iterator[str]:
    files = {which: ROOT / f"experiments/records/smoothing-{which}.json" for which in ("first", "second")}
    halves = {which: json.loads(file.read_text(encoding="utf-8")) for which, file in files.items()}
    yield "<!-- written by experiments/smoothing.py; do not edit -->"
    yield ""
    n_sets = {which: len({record["set"] for record in records}) for which, records in halves.items()}
    yield (
        f"Written by `python -m experiments.smoothing` from the records of {commit_of(files['first'])}. k-dependence "
        f"Bayes, k = 1 and 2, at most {MOST_ROWS:,} rows, {N_FOLDS} folds. The rule was chosen on 16 of "
        f"the {n_sets['first']} tables of the first half, the first by name, and confirmed on the {n_sets['second']} "
        "tables of the second half. The ratio is the geometric mean of the log-loss divided by that of hierarchical "
        "smoothing with a least concentration of 32 (values below .001 counted as .001)."
    )
    titles = "ratio | mean log-loss | lower than Laplace"
    yield from ("", f"| way | first half: {titles} | second half: {titles} |", "| --- |" + " ---: |" * 6)
    for way in WAYS:
        cells = []
        for records in halves.values():
            own, floor, plain = (np.array([record[name] for record in records]) for name in (way, FLOOR, "Laplace"))
            ratio = np.exp(np.mean(np.log(np.maximum(own, 0.001) / np.maximum(floor, 0.001))))
            lower = "" if way == "Laplace" else f"{int((own < plain).sum())} of {len(own)}"
            cells += [f"{ratio:.3f}", f"{own.mean():.3f}", lower]
        yield f"| {way} | {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        for chosen in sys.argv[2:] or ["first", "second"]:
            measure(chosen)
    else:
        (ROOT / "docs/smoothing_table.md").write_text("\n".join(write_table()) + "\n", encoding="utf-8")
