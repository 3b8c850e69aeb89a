"""Everything the page shows, as plain values: the model, how it was learnt, the rows, and how good it is on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.classifiers.training_rows import quality_of_training_table
from tanager.errors import MemoryLimitError, OptionError
from tanager.explain import explain
from tanager.explain.base_rate import baseline_words, log_base_rates
from tanager.gaps.rule import GapRule
from tanager.measures import Predictions, Quality
from tanager.network.network import Network
from tanager.report.data_summary import summarize_columns
from tanager.report.effects import MANY_ATTRIBUTES, STRONGEST, describe_effects
from tanager.report.json_page import Json, pack
from tanager.report.layout import HEIGHT, LONGEST, place_nodes
from tanager.report.learning import describe_learning
from tanager.report.nodes import describe_node
from tanager.report.quality import describe_quality
from tanager.structure.dag import Dag
from tanager.table.batch import Codes
from tanager.table.columns import NumericColumn, RawTable
from tanager.table.training_table import read_rows
from tanager.version import __version__

MAX_ROW_BYTES = 1_000_000
"""Characters that the rows may take in the page."""


@dataclass(frozen=True)
class Rows:
    """The rows given: as read, as codes of all attributes of the network, and their P(class | row)."""

    table: RawTable
    codes: Codes
    proba: NDArray[np.float64]


def collect(
    clf: BayesianNetworkClassifier, X: object = None, y: ArrayLike | None = None, quality: Quality | None = None
) -> dict[str, Json]:
    """The content of the page, ready for JSON."""
    network = clf.network_
    if network.kind == "mixtures":
        raise OptionError(
            "the page answers for one network; this classifier is a mean of several.",
            hint="explain(clf, X) says what each attribute adds; structure='tan' learns one network.",
        )
    rows = None if X is None else _read_rows(clf, X)
    class_codes = None
    if y is not None:
        class_codes = read_rows(X if rows is None else rows.table, y, None, clf.classes_).class_codes.astype(np.intp)
    page: dict[str, Json] = {
        "version": __version__,
        "title": f"{network.nodes[-1]} · {type(clf).__name__}",
        "network": describe_network(network) if network.kind == "tables" else describe_effects(network),
        "gaps": describe_gaps(clf.gaps_),
        "base": {"log_rates": log_base_rates(clf).tolist(), "baseline": baseline_words(network)},
        "learning": describe_learning(clf),
        "rows": None,
        "columns": None,
        "decision": None if clf.decision_ is None else cast(Json, clf.decision_.to_dict()),
        "edits": [str(revision) for revision in clf.edits_],
        "quality": None if X is not None or quality is None else describe_quality(quality),
    }
    if rows is not None:
        page["rows"] = _pack_rows(rows, class_codes)
        page["columns"] = summarize_columns(rows.table, rows.codes, network, class_codes)
        if class_codes is not None:
            held_out = quality_of_training_table(clf, X, clf.classes_[class_codes], quality)
            page["quality"] = describe_quality(_measure(clf, rows.proba, class_codes) if held_out is None else held_out)
    return page


def _measure(clf: BayesianNetworkClassifier, proba: NDArray[np.float64], class_codes: NDArray[np.intp]) -> Quality:
    """The quality of the rows given, which may or may not be new to the model; no split says so."""
    predictions = Predictions(proba, class_codes, np.zeros(len(class_codes), dtype=np.intp))
    return Quality.of(predictions, clf.classes_, np.exp(log_base_rates(clf)), split="")


def describe_network(network: Network) -> dict[str, Json]:
    """Nodes with their states, parents and place, and all tables laid end to end in node order."""
    boxes = place_nodes(network.nodes, network.dag)
    strengths = _edge_strengths(network)
    nodes: list[Json] = [
        {**describe_node(network, node, boxes[node]), "strengths": None if strengths is None else list(strengths[node])}
        for node in range(len(network.nodes))
    ]
    return {
        "kind": "tables",
        "nodes": nodes,
        "order": list(network.dag.order),
        "height": HEIGHT,
        "letters": LONGEST,
        "part": None if strengths is None else _strongest_part(network, strengths),
        "tables": pack(np.concatenate([table.ravel() for table in network.tables])),
    }


def _edge_strengths(network: Network) -> list[list[float]] | None:
    """Information in nats along the edges into each node; None where summing out would not fit in memory."""
    try:
        found = iter(explain(network).edge_strength.tolist())
    except MemoryLimitError:
        return None
    return [[float(f"{next(found):.4g}") for _ in parents] for parents in network.dag.parents]


def _strongest_part(network: Network, strengths: list[list[float]]) -> dict[str, Json] | None:
    """The strongest attributes, each with its parents, and the class, in a layout of their own; None if all are few."""
    target = len(network.nodes) - 1
    if target <= MANY_ATTRIBUTES:
        return None
    chosen: set[int] = set()
    for node in sorted(range(target), key=lambda node: -sum(strengths[node])):
        joined = chosen.union({node}, network.dag.parents[node]) - {target}
        chosen = joined if len(joined) <= STRONGEST else chosen
    kept = [*sorted(chosen), target]
    place = {node: k for k, node in enumerate(kept)}
    dag = Dag(tuple(tuple(place[p] for p in network.dag.parents[node] if p in place) for node in kept))
    boxes = place_nodes([network.nodes[node] for node in kept], dag)
    return {"nodes": list(kept), "x": [box.x for box in boxes], "y": [box.y for box in boxes]}


def _read_rows(clf: BayesianNetworkClassifier, X: object) -> Rows:
    table, codes = clf.encode(X)
    return Rows(table, codes, np.exp(clf.gaps_.log_posterior(codes)))


def _pack_rows(rows: Rows, class_codes: NDArray[np.intp] | None) -> dict[str, Json]:
    """The codes of the rows, or of some evenly spaced ones where all would make the page too large."""
    n_rows, every = rows.table.n_rows, 1
    codes = pack(rows.codes)
    while len(codes) > MAX_ROW_BYTES:
        every *= 2
        codes = pack(rows.codes[::every])
    kept = np.arange(0, n_rows, every)
    entry: dict[str, Json] = {
        "count": n_rows,
        "every": every,
        "kept": len(kept),
        "bytes": rows.codes.dtype.itemsize,
        "codes": codes,
        "classes": None,
        "wrong": None,
    }
    entry["numeric"], entry["values"] = _raw_values(rows.table, kept)
    if class_codes is not None:
        wrong = rows.proba[kept].argmax(axis=1) != class_codes[kept]
        entry["classes"] = pack(class_codes[kept].astype(np.uint16))
        entry["wrong"] = pack(np.flatnonzero(wrong).astype(np.uint32))
    return entry


def _raw_values(table: RawTable, kept: NDArray[np.intp]) -> tuple[list[Json], str | None]:
    """The columns of numbers, and their cells, one column after the other; None where they would be too long."""
    columns = {k: column for k, column in enumerate(table.columns) if isinstance(column, NumericColumn)}
    cells = pack(
        np.concatenate([np.empty(0), *(column.values[kept].astype(np.float64) for column in columns.values())])
    )
    return list(columns), cells if columns and len(cells) <= MAX_ROW_BYTES else None


def describe_gaps(rule: GapRule) -> dict[str, Json]:
    """The rule's name, its words, and its numbers, arrays of which are packed."""
    return {"meaning": rule.name, "words": rule.sentence, "rest": rule.rest, **_packed(rule.constants())}


def _packed(constants: dict[str, Any]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in constants.items():
        if isinstance(value, dict):
            found[key] = _packed(value)
        else:
            found[key] = pack(value) if isinstance(value, np.ndarray) else value
    return found
