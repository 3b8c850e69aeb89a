"""The rows on the page: their codes, histograms of each column, and data checks."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.additive.model import AdditiveModel
from tanager.arrays import Array, Codes
from tanager.check.examine import examine
from tanager.classifiers.base import TableClassifier, encode_table
from tanager.errors import DataError
from tanager.network.network import Network
from tanager.report.json_page import Json, number, pack
from tanager.table.columns import Column, NumericColumn, RawTable, missing_cells
from tanager.table.read_columns import read_mixed
from tanager.table.schema import ColumnSchema, format_values
from tanager.table.training_table import read_rows

MAX_CODE_BYTES, MAX_VALUE_BYTES = 2_000_000, 1_000_000
"""Of the codes of rows on the page, and characters of their packed numbers."""
BARS = 28
MAX_STATES_LISTED = 20
MAX_CLASSES_APART = 6


@dataclass(frozen=True)
class PageRows:
    """Rows as read, as codes of all attributes of the network, and their P(class | row); their classes if known.

    numbers  (n_rows,) what people call each row: its number in its file, ascending, or counted from 0
    """

    table: RawTable
    codes: Codes
    proba: Array
    class_codes: NDArray[np.intp] | None
    numbers: NDArray[np.integer]

    @classmethod
    def read(
        cls, clf: TableClassifier, X: object, y: ArrayLike | None, numbers: NDArray[np.integer] | None = None
    ) -> PageRows:
        table, codes = encode_table(clf, X)
        labels = None if y is None else read_rows(table, y, None, clf.classes_).class_codes.astype(np.intp)
        numbers = np.arange(table.n_rows) if numbers is None else numbers
        return cls(table, codes, np.exp(clf.missing_rule_.log_posterior(codes)), labels, numbers)

    @property
    def every(self) -> int:
        """k if every k-th row is on the page: all may make it too large."""
        return max(1, ceil(self.codes.nbytes / MAX_CODE_BYTES))

    @property
    def on_page(self) -> NDArray[np.intp]:
        """The numbers of the rows on the page."""
        return np.arange(0, self.table.n_rows, self.every)

    def describe(self, wrong: NDArray[np.intp] | None) -> dict[str, Json]:
        """Of the rows on the page the codes, the classes, those predicted wrongly, and numbers as read."""
        kept, codes = self.on_page, self.class_codes
        numeric = {k: column for k, column in enumerate(self.table.columns) if isinstance(column, NumericColumn)}
        cells = (column.values[kept].astype(np.float64) for column in numeric.values())
        values = pack(np.concatenate([np.empty(0), *cells]))
        return {
            "count": self.table.n_rows,
            "every": self.every,
            "kept": len(kept),
            "bytes": self.codes.dtype.itemsize,
            "codes": pack(self.codes[kept]),
            "numbers": pack(np.diff(self.numbers[kept], prepend=0).astype(np.uint32)),
            "classes": None if codes is None else pack(codes[kept].astype(np.uint16)),
            "wrong": None if wrong is None else pack(np.flatnonzero(np.isin(kept, wrong)).astype(np.uint32)),
            "numeric": list(numeric),
            "values": values if numeric and len(values) <= MAX_VALUE_BYTES else None,
        }


def describe_data(clf: TableClassifier, X: object, y: ArrayLike | None, rows: PageRows | None) -> dict[str, Json]:
    """The columns of the rows and the issues that data checks find in them."""
    if rows is None:
        return {"columns": None, "class_groups": None, "findings": None}
    network = cast(Network | AdditiveModel, clf.model_)
    try:
        findings = examine(read_mixed(X), y, class_name=network.nodes[-1]).findings
    except DataError:  # a table that is fine to predict, such as one without rows
        findings = ()
    groups = group_classes(rows.class_codes, network.n_states[-1])
    return {
        "columns": summarize_columns(rows, network, groups),
        "class_groups": [list[Json](group) for group in groups],
        "findings": [
            {"severity": each.severity, "words": str(each), "line": each.line, "remedy": each.option}
            for each in findings
        ],
    }


def group_classes(class_codes: NDArray[np.intp] | None, n_classes: int) -> list[list[int]]:
    """The classes whose rows are drawn in one colour: each its own; of many the most frequent, then all others."""
    if class_codes is None:
        return [list(range(n_classes))]
    if n_classes <= MAX_CLASSES_APART:
        return [[label] for label in range(n_classes)]
    order = np.argsort(-np.bincount(class_codes, minlength=n_classes), kind="stable").tolist()
    return [*([label] for label in order[: MAX_CLASSES_APART - 1]), sorted(order[MAX_CLASSES_APART - 1 :])]


def summarize_columns(rows: PageRows, network: Network | AdditiveModel, groups: list[list[int]]) -> list[Json]:
    """One entry per column of the table: missing and unseen cells, and bars: (bar, group of classes) counts.

    Hidden nodes of the network, which come after those of the columns, have nothing to show.
    """
    group_of = np.zeros(network.n_states[-1], dtype=np.intp)
    for group, labels in enumerate(groups):
        group_of[labels] = group
    of_row = np.zeros(rows.table.n_rows, np.intp) if rows.class_codes is None else group_of[rows.class_codes]
    return [
        _summarize(column, schema, rows.codes[:, node], of_row, len(groups))
        for node, (column, schema) in enumerate(zip(rows.table.columns, network.columns, strict=False))
    ]


def _summarize(
    column: Column, schema: ColumnSchema, codes: NDArray[np.unsignedinteger], groups: NDArray[np.intp], n_groups: int
) -> dict[str, Json]:
    empty = missing_cells(column)
    entry: dict[str, Json] = {
        "missing": int(empty.sum()),
        "unseen": int(((codes == schema.missing_code) & ~empty).sum()),
    }
    if schema.kind == "numeric" and isinstance(column, NumericColumn) and not empty.all():
        return {**entry, **_histogram(column, schema, groups, n_groups, empty)}
    present = codes < schema.n_states
    counts = _counts(codes[present].astype(np.intp), groups[present], schema.n_states, n_groups)
    most = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_STATES_LISTED]
    return {**entry, "states": most.tolist(), "bars": counts[most].tolist()}


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
