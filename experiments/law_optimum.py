"""The default tolerance is close enough: P(class | row) against a fit with a smaller tolerance and the same choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from experiments.law_evidence import DATA
from experiments.studies.data_sets import find_data_sets
from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.additive.choose import CLOSE
from tanager.parameters import Conditional
from tanager.runtime.resources import thread_limit

MAX_ROWS, TIGHT = 6_000, 1e-7
TIMES_TIGHTER = 1_000
ASKED, ROUNDING = 1e-3, 1e-9
MODELS = ("additive", "tan")
KEYS = ("set", "model")


def cases() -> Iterator[tuple[str, str]]:
    sets = sorted(find_data_sets(DATA), key=lambda data_set: data_set.n_rows)
    yield from ((data_set.name, model) for data_set in sets if data_set.n_rows <= MAX_ROWS for model in MODELS)


def measure(name: str, model: str) -> dict[str, Any]:
    X, y = next(data_set for data_set in find_data_sets(DATA) if data_set.name == name).read()
    with thread_limit(1):
        return (compare_additive if model == "additive" else compare_tan)(X, y)


def compare_additive(X: pa.Table, y: NDArray[Any]) -> dict[str, Any]:
    """The readable terms alone: trees are grown, not minimised."""
    clf = AdditiveClassifier(trees=False).fit(X, y)
    with patch("tanager.additive.fit.CLOSE", CLOSE / TIMES_TIGHTER):
        tight = AdditiveClassifier(trees=False).fit(X, y)
    same = clf.trace_.validation_losses == tight.trace_.validation_losses
    return {"rows": len(y), "same_choices": same, "reported": clf.trace_.change_of_p, **differences(clf, tight, X)}


def compare_tan(X: pa.Table, y: NDArray[Any]) -> dict[str, Any]:
    clf, tight = (
        BayesianNetworkClassifier("tan", parameters=parameters).fit(X, y)
        for parameters in (Conditional(), Conditional(tol=TIGHT, max_iter=100_000))
    )
    own, other = clf.trace_.parameters, tight.trace_.parameters
    same = own.strength == other.strength
    return {"rows": len(y), "same_choices": same, "reported": own.p_bound, **differences(clf, tight, X)}


def differences(clf: Any, tight: Any, X: pa.Table) -> dict[str, float | None]:
    """The highest difference of P over the training rows from that of the tight fit.

    Missing cells are filled by the column's most frequent value; the difference of rows as they are is beside it.
    """
    filled = fill_most_frequent(X)
    apart = [float(np.abs(clf.predict_proba(rows) - tight.predict_proba(rows)).max()) for rows in (filled, X)]
    return {"difference": apart[0], "with_gaps": apart[1] if filled is not X else None}


def fill_most_frequent(X: pa.Table) -> pa.Table:
    """The table itself where no cell is missing."""
    if not sum(column.null_count for column in X.columns):
        return X
    return pa.table([_fill(column) for column in X.columns], names=X.column_names)


def _fill(column: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    values, counts = plain.drop_null().value_counts().flatten()
    return pc.fill_null(plain, values[int(np.argmax(counts))]) if len(values) else plain


def section(records: pd.DataFrame) -> list[str]:
    lines = [
        "## Near enough to the optimum",
        "",
        "P(class | row) of the default tolerance against a fit with the same choices and a smaller tolerance "
        f"({TIMES_TIGHTER:,} times smaller for the additive model, whose trees are left out, {TIGHT:g} for tables): "
        f"the highest difference over all training rows and classes (asked {ASKED:g}), and what the trace reports "
        "(`change_of_p`, an estimate, and `p_bound`). Missing cells are filled by the column's most frequent value; "
        f"the difference of rows as they are is beside it. Sets of up to {MAX_ROWS:,} rows.",
        "",
        "| model | sets | highest difference | at | above what the trace reports |",
        "| --- | ---: | ---: | --- | ---: |",
    ]
    for model in MODELS:
        found = records[(records["model"] == model) & records["same_choices"]].sort_values("difference")
        if len(found):
            worst = found.iloc[-1]
            above = int((found["difference"] > found["reported"].fillna(np.inf) + ROUNDING).sum())
            lines.append(f"| {model} | {len(found)} | {worst['difference']:.1e} | {worst['set']} | {above} |")
    lines += [
        "",
        "| set | rows | model | difference | reported | with missing cells |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for record in records.sort_values(["rows", "set", "model"]).to_dict("records"):
        reported = "" if pd.isna(record["reported"]) else f"{record['reported']:.1e}"
        difference = f"{record['difference']:.1e}" if record["same_choices"] else "other choices"
        with_gaps = "" if pd.isna(record["with_gaps"]) else f"{record['with_gaps']:.1e}"
        figures = f"{difference} | {reported} | {with_gaps}"
        lines.append(f"| {record['set']} | {record['rows']:,} | {record['model']} | {figures} |")
    return [*lines, ""]
