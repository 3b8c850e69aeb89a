"""The default tolerance is close enough: P(class | row) against a fit with a tolerance of 1e-7 and the same choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from experiments.law_evidence import DATA
from tanager import BayesianNetworkClassifier
from tanager.experiments.data_sets import find_data_sets
from tanager.parameters import Conditional
from tanager.threads import thread_limit

MAX_ROWS, TIGHT = 6_000, 1e-7
ASKED, ROUNDING = 1e-3, 1e-9
MODELS = {"tan": "tan"}
KEYS = ("set", "model")


def cases() -> Iterator[tuple[str, str]]:
    sets = sorted(find_data_sets(DATA), key=lambda data_set: data_set.n_rows)
    yield from ((data_set.name, model) for data_set in sets if data_set.n_rows <= MAX_ROWS for model in MODELS)


def measure(name: str, model: str) -> dict[str, Any]:
    X, y = next(data_set for data_set in find_data_sets(DATA) if data_set.name == name).read()
    with thread_limit(1):
        return compare(BayesianNetworkClassifier(MODELS[model], parameters="conditional").fit(X, y), X, y)


def compare(clf: BayesianNetworkClassifier, X: pa.Table, y: NDArray[Any]) -> dict[str, Any]:
    """The highest difference of P over the training rows from that of the tight fit, and the bound in the trace.

    Gaps are filled by the column's most frequent value; what they differ by with gaps is told apart.
    """
    tight = BayesianNetworkClassifier(clf.structure, parameters=Conditional(tol=TIGHT, max_iter=100_000)).fit(X, y)
    trace, tight_trace = clf.trace_.parameters, tight.trace_.parameters
    filled = fill_most_frequent(X)
    apart = [float(np.abs(clf.predict_proba(rows) - tight.predict_proba(rows)).max()) for rows in (filled, X)]
    return {
        "rows": len(y),
        "same_choices": choices(trace) == choices(tight_trace),
        "same_trees": asked(clf) == asked(tight),
        "difference": apart[0],
        "with_gaps": apart[1] if filled is not X else None,
        "p_bound": trace.p_bound,
        "mean_of_fits": trace.mean_of_fits,
        "tight_end": tight_trace.end,
    }


def fill_most_frequent(X: pa.Table) -> pa.Table:
    """The table itself where no cell is missing."""
    if not sum(column.null_count for column in X.columns):
        return X
    return pa.table([_fill(column) for column in X.columns], names=X.column_names)


def _fill(column: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    values, counts = plain.drop_null().value_counts().flatten()
    return pc.fill_null(plain, values[int(np.argmax(counts))]) if len(values) else plain


def choices(trace: Any) -> tuple[Any, ...]:
    return trace.strength, *(
        getattr(trace, name, None) for name in ("pairs", "norm_share", "tree_rounds", "tree_share")
    )


def asked(clf: BayesianNetworkClassifier) -> list[int]:
    """The attributes that the trees of the network ask for, split by split: triples are among them."""
    forest = getattr(clf.network_, "forest", None)
    return [] if forest is None else forest.attributes.tolist()


def section(records: pd.DataFrame) -> list[str]:
    lines = [
        "## Near enough to the optimum",
        "",
        "P(class | row) of the default tolerance against a fit with the same strengths, pairs and trees and a "
        f"tolerance of {TIGHT:g}: the highest difference over all training rows and classes (asked {ASKED:g}), and "
        "what the trace promises (`p_bound`, nothing beside trees). Gaps are filled by the column's most frequent "
        "value; the difference of rows as they are is beside it. A star: other triples of attributes or trees were "
        f"taken. Sets of up to {MAX_ROWS:,} rows.",
        "",
        "| model | sets | highest difference | at | above what the trace promises |",
        "| --- | ---: | ---: | --- | ---: |",
    ]
    for model in MODELS:
        found = records[(records["model"] == model) & records["same_choices"]].sort_values("difference")
        if len(found):
            worst = found.iloc[-1]
            above = int((found["difference"] > found["p_bound"].fillna(np.inf) + ROUNDING).sum())
            lines.append(f"| {model} | {len(found)} | {worst['difference']:.1e} | {worst['set']} | {above} |")
    lines += [
        "",
        "| set | rows | model | difference | promised | with gaps | fits averaged |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for record in records.sort_values(["rows", "set", "model"]).to_dict("records"):
        bound = "" if pd.isna(record["p_bound"]) else f"{record['p_bound']:.1e}"
        star = "" if record.get("same_trees", True) else " *"
        difference = f"{record['difference']:.1e}{star}" if record["same_choices"] else "other choices"
        with_gaps = "" if pd.isna(record["with_gaps"]) else f"{record['with_gaps']:.1e}{star}"
        figures = f"{difference} | {bound} | {with_gaps} | {record['mean_of_fits']}"
        lines.append(f"| {record['set']} | {record['rows']:,} | {record['model']} | {figures} |")
    return [*lines, ""]
