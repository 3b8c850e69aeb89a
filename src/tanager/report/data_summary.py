"""How the rows are spread over each column: gaps, counts of the states, histograms under the cut points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AdditiveModel
from tanager.arrays import Codes
from tanager.network.network import Network
from tanager.report.json_page import Json, number
from tanager.table.columns import Column, NumericColumn, RawTable, gaps
from tanager.table.schema import ColumnSchema, format_values

BARS = 28
MAX_STATES_LISTED = 20
MAX_CLASSES_APART = 6


def group_classes(class_codes: NDArray[np.intp] | None, n_classes: int) -> list[list[int]]:
    """The classes whose rows are drawn in one colour: each its own; of many the most frequent, then all others."""
    if class_codes is None:
        return [list(range(n_classes))]
    if n_classes <= MAX_CLASSES_APART:
        return [[label] for label in range(n_classes)]
    order = np.argsort(-np.bincount(class_codes, minlength=n_classes), kind="stable").tolist()
    return [*([label] for label in order[: MAX_CLASSES_APART - 1]), sorted(order[MAX_CLASSES_APART - 1 :])]


def summarize_columns(
    table: RawTable, codes: Codes, network: Network | AdditiveModel, class_codes: NDArray[np.intp] | None
) -> list[Json]:
    """One entry per column of the table: gaps, cells unseen in training, and bars: (bar, group of classes) counts.

    Hidden nodes of the network, which come after those of the columns, have nothing to show.
    """
    groups = group_classes(class_codes, network.n_states[-1])
    group_of = np.zeros(network.n_states[-1], dtype=np.intp)
    for group, labels in enumerate(groups):
        group_of[labels] = group
    of_row = np.zeros(table.n_rows, dtype=np.intp) if class_codes is None else group_of[class_codes]
    return [
        _summarize(column, schema, codes[:, node], of_row, len(groups))
        for node, (column, schema) in enumerate(zip(table.columns, network.columns, strict=False))
    ]


def _summarize(
    column: Column, schema: ColumnSchema, codes: NDArray[np.unsignedinteger], groups: NDArray[np.intp], n_groups: int
) -> dict[str, Json]:
    empty = gaps(column)
    entry: dict[str, Json] = {
        "missing": int(empty.sum()),
        "unseen": int(((codes == schema.missing_code) & ~empty).sum()),
    }
    if schema.kind == "numeric" and isinstance(column, NumericColumn) and not empty.all():
        return {**entry, **_histogram(column, schema, groups, n_groups, empty)}
    present = codes < schema.n_states
    counts = _counts(codes[present].astype(np.intp), groups[present], schema.n_states, n_groups)
    most = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_STATES_LISTED]
    return {**entry, "states": most.tolist(), "n_states": schema.n_states, "bars": counts[most].tolist()}


def _histogram(
    column: NumericColumn, schema: ColumnSchema, groups: NDArray[np.intp], n_groups: int, empty: NDArray[np.bool_]
) -> dict[str, Json]:
    """Equal bars over the middle 99 % of the values and all coarse cuts; what lies outside is in the end bars."""
    cuts = schema.coarse.cuts
    values = column.values[~empty].astype(np.float64)
    low, high = np.quantile(values, [0.005, 0.995])
    low, high = min([low, *cuts]), max([high, *cuts])
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    bar = np.clip(((values - low) / (high - low) * BARS).astype(np.intp), 0, BARS - 1)
    edges = [f"{low:.4g}", f"{high:.4g}"] if schema.unit == "number" else format_values([low, high], schema.unit)
    return {
        "bars": _counts(bar, groups[~empty], BARS, n_groups).tolist(),
        "edges": list(edges),
        "cuts": [number((cut - low) / (high - low), 6) for cut in cuts],
        "cut_labels": list(format_values(cuts, schema.unit)),
    }


def _counts(bars: NDArray[np.intp], groups: NDArray[np.intp], n_bars: int, n_groups: int) -> NDArray[np.intp]:
    return np.bincount(bars * n_groups + groups, minlength=n_bars * n_groups).reshape(n_bars, n_groups)
