"""The default model with nothing known, or one cell, against the frequencies of its training rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from experiments.studies.data_sets import find_data_sets
from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.runtime.resources import thread_limit
from tanager.table.read_columns import read_columns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parent.parent / "../shared/data"))
MAX_ROWS = 60_000
MIN_ROWS_OF_STATE, MIN_ROWS_ASKED = 30, 500
MAX_STATES_OF_SET = 300
ASKED_NOTHING, ASKED_ONE = 0.005, 0.02
KEYS = ("set",)


def cases() -> Iterator[tuple[str]]:
    sets = sorted(find_data_sets(DATA), key=lambda data_set: data_set.n_rows)
    yield from ((data_set.name,) for data_set in sets if data_set.n_rows <= MAX_ROWS)


def measure(name: str) -> dict[str, Any]:
    X, y = next(data_set for data_set in find_data_sets(DATA) if data_set.name == name).read()
    with thread_limit(1):
        return compare(AdditiveClassifier().fit(X, y), X, y)


def compare(clf: BayesianNetworkClassifier, X: pa.Table, y: NDArray[Any]) -> dict[str, Any]:
    """Distances of P(class | evidence) from the class frequencies: the highest with none, mean and highest with one."""
    class_codes = np.searchsorted(clf.classes_, y)
    frequencies = np.bincount(class_codes) / len(y)
    nothing = np.abs(clf.predict_proba(only(X, None, np.array([0]))) - frequencies)
    codes = clf.encoder_.encode(read_columns(X))
    by_state = [count_classes(codes[:, node], class_codes, n) for node, n in enumerate(clf.model_.n_states[:-1])]
    states = [(node, k) for node, own in enumerate(by_state) for k in np.flatnonzero(own.sum(1) >= MIN_ROWS_OF_STATE)]
    distances = [np.empty((0, len(frequencies)))]
    for place in np.random.default_rng(0).permutation(len(states))[:MAX_STATES_OF_SET]:
        node, state = states[place]
        p = clf.predict_proba(only(X, node, np.flatnonzero(codes[:, node] == state)[:1]))
        distances.append(np.abs(p - by_state[node][state] / by_state[node][state].sum()))
    one = np.concatenate(distances)
    return {
        "rows": len(y),
        "trees": clf.trace_.tree_rounds > 0,
        "nothing": float(nothing.max()),
        "states": len(one),
        "one": float(one.mean()) if len(one) else None,
        "highest": float(one.max()) if len(one) else None,
    }


def count_classes(codes: NDArray[np.integer], class_codes: Ints, n_states: int) -> Floats:
    """(n_states, n_classes) of the cells present."""
    counts = np.zeros((n_states + 1, int(class_codes.max()) + 1))
    np.add.at(counts, (codes, class_codes), 1.0)
    return counts[:-1]


def only(X: pa.Table, attribute: int | None, rows: Ints) -> pa.Table:
    """These rows with all cells missing but those of one attribute."""
    columns = [pa.nulls(len(rows), column.type) for column in X.columns]
    if attribute is not None:
        columns[attribute] = X.column(attribute).take(pa.array(rows))
    return pa.table(columns, names=X.column_names)


def section(records: pd.DataFrame) -> list[str]:
    large = records[records["rows"] > MIN_ROWS_ASKED]
    lines = [
        "## No evidence, and one cell",
        "",
        "The default model fitted to all rows of a set. P(class | no cell) against the class frequencies, the highest "
        f"difference (asked {ASKED_NOTHING}); P(class | one cell) against the class frequencies of the training rows "
        f"that have it, over the states (bins of numbers) of {MIN_ROWS_OF_STATE} rows or more, {MAX_STATES_OF_SET} of "
        f"them drawn where there are more, and all classes: mean difference (asked "
        f"{ASKED_ONE} on sets of more than {MIN_ROWS_ASKED} rows) and highest.",
        "",
        f"{len(records)} sets of up to {MAX_ROWS:,} rows. No evidence: highest {records['nothing'].max():.4f}. One "
        f"cell, {len(large)} sets of more than {MIN_ROWS_ASKED} rows: mean {large['one'].mean():.4f}, highest mean of "
        f"a set {large['one'].max():.4f}.",
        "",
        "| set | rows | trees | no evidence | states | one cell, mean | one cell, highest |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for record in records.sort_values(["rows", "set"]).to_dict("records"):
        one = "| |" if record["states"] == 0 else f"{record['one']:.4f} | {record['highest']:.3f} |"
        trees = "yes" if record["trees"] else ""
        figures = f"{record['nothing']:.4f} | {record['states']} | {one}"
        lines.append(f"| {record['set']} | {record['rows']:,} | {trees} | {figures}")
    return [*lines, ""]
