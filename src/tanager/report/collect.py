"""Everything the page shows, as plain values: the model, how it was learnt, the rows, and how good it is on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.additive.model import AdditiveModel
from tanager.arrays import Codes
from tanager.check import check
from tanager.classifiers.base import TableClassifier, encode_table
from tanager.errors import DataError, MemoryLimitError, OptionError
from tanager.explain import explain
from tanager.explain.explanation import baseline_words, log_base_rates
from tanager.metrics import Quality
from tanager.network.network import Network
from tanager.report.about import About, make_card
from tanager.report.associations import describe_associations
from tanager.report.data_summary import group_classes, summarize_columns
from tanager.report.drivers import describe_drivers
from tanager.report.effects import MANY_ATTRIBUTES, STRONGEST, describe_effects
from tanager.report.failures import describe_examples, describe_groups, describe_mistakes
from tanager.report.gaps import describe_gaps
from tanager.report.intervals import describe_intervals, with_bands
from tanager.report.json_page import Json, pack, to_page_json
from tanager.report.judged_rows import JudgedRows, judge_rows
from tanager.report.layout import HEIGHT, LONGEST, place_nodes
from tanager.report.learning import describe_learning
from tanager.report.nodes import describe_node
from tanager.report.quality import describe_quality
from tanager.report.thresholds import describe_decision
from tanager.structure.dag import Dag
from tanager.table.columns import NumericColumn, RawTable
from tanager.table.training_table import read_rows
from tanager.version import __version__

MAX_ROW_BYTES = 1_000_000
"""Characters that the rows may take in the page."""
ROOM_FOR_ALL = 2_700_000
"""Characters of the content, with a posterior that answers for any evidence: with its scripts a page has 3 MB."""
ROOM_FOR_POSTERIOR = 700_000
"""Characters that a posterior may always take: of two classes it hardly has more."""


@dataclass(frozen=True)
class Rows:
    """The rows given: as read, as codes of all attributes of the network, and their P(class | row)."""

    table: RawTable
    codes: Codes
    proba: NDArray[np.float64]


def collect(
    clf: TableClassifier,
    X: object = None,
    y: ArrayLike | None = None,
    quality: Quality | None = None,
    about: About | None = None,
) -> dict[str, Json]:
    """The content of the page, ready for JSON."""
    rows = None if X is None else _read_rows(clf, X)
    class_codes = None
    if y is not None:
        class_codes = read_rows(X if rows is None else rows.table, y, None, clf.classes_).class_codes.astype(np.intp)
        clf = clf if rows is None else with_bands(clf, X, y, rows.codes, class_codes)
    network = clf.model_
    if network.kind == "mixtures" or network.kind == "trees":
        raise OptionError(
            "the page answers for one network; this classifier is a mean of several.",
            hint="explain(clf, X) says what each attribute adds; structure='tan' learns one network.",
        )
    judged = None if quality is None or X is not None else JudgedRows(quality, None)
    if rows is not None and class_codes is not None:
        judged = judge_rows(clf, X, rows.codes, class_codes, rows.proba, quality)
    facts = (About() if about is None else about).describe(clf)
    page: dict[str, Json] = {
        "version": __version__,
        "title": facts["title"],
        "about": facts,
        "network": describe_network(network) if network.kind == "tables" else describe_effects(network),
        "gaps": describe_gaps(clf.gaps_),
        "base": {"log_rates": log_base_rates(clf).tolist(), "baseline": baseline_words(network)},
        "learning": describe_learning(clf),
        "drivers": describe_drivers(clf, None if rows is None else rows.codes, class_codes),
        "rows": None if rows is None else _pack_rows(rows, class_codes),
        "quality": None if judged is None else describe_quality(judged.quality, clf.decision_),
        "decision": None if clf.decision_ is None else cast(Json, clf.decision_.to_dict()),
        "edits": [str(revision) for revision in clf.edits_],
        "decision_quality": None if judged is None else describe_decision(clf.decision_, judged.quality),
        **_describe_judged(clf, rows, judged),
        **_describe_data(clf, X, y, rows, class_codes),
    }
    room = max(ROOM_FOR_POSTERIOR, ROOM_FOR_ALL - len(to_page_json(page)))
    intervals = describe_intervals(clf, None if rows is None else rows.codes[:: _thinning(rows)[1]], room)
    return {**page, "intervals": intervals, "card": make_card(page)}


def _describe_judged(clf: TableClassifier, rows: Rows | None, judged: JudgedRows | None) -> dict[str, Json]:
    """Examples, mistakes and groups, where it is known which row each prediction is of."""
    if rows is None or judged is None or judged.rows is None:
        return {"examples": None, "mistakes": None, "groups": None}
    on_page = np.arange(0, rows.table.n_rows, _thinning(rows)[1])
    return {
        "examples": describe_examples(judged, on_page),
        "mistakes": describe_mistakes(judged, on_page),
        "groups": describe_groups(clf.model_.columns[: clf.n_features_in_], rows.codes, judged),
    }


def _describe_data(
    clf: TableClassifier,
    X: object,
    y: ArrayLike | None,
    rows: Rows | None,
    class_codes: NDArray[np.intp] | None,
) -> dict[str, Json]:
    """The columns of the rows given, what the table doctor finds in them, and how they go together."""
    if rows is None:
        return {"columns": None, "class_groups": None, "findings": None, "associations": None}
    network = cast(Network | AdditiveModel, clf.model_)
    columns = network.columns[: clf.n_features_in_]
    ranked = np.argsort(-clf.feature_importances_, kind="stable").tolist()
    try:
        findings = check(X, y).findings
    except DataError:  # a table that is fine to predict, such as one without rows
        findings = ()
    return {
        "columns": summarize_columns(rows.table, rows.codes, network, class_codes),
        "class_groups": [list(group) for group in group_classes(class_codes, network.n_states[-1])],
        "findings": [{"severity": each.severity, "words": str(each), "remedy": each.option} for each in findings],
        "associations": describe_associations(columns, rows.codes, ranked),
    }


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


def _read_rows(clf: TableClassifier, X: object) -> Rows:
    table, codes = encode_table(clf, X)
    return Rows(table, codes, np.exp(clf.gaps_.log_posterior(codes)))


def _pack_rows(rows: Rows, class_codes: NDArray[np.intp] | None) -> dict[str, Json]:
    """The codes of the rows, or of some evenly spaced ones where all would make the page too large."""
    n_rows = rows.table.n_rows
    codes, every = _thinning(rows)
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


def _thinning(rows: Rows) -> tuple[str, int]:
    """The packed codes of the rows on the page, which are every so-manieth."""
    every, codes = 1, pack(rows.codes)
    while len(codes) > MAX_ROW_BYTES:
        every *= 2
        codes = pack(rows.codes[::every])
    return codes, every


def _raw_values(table: RawTable, kept: NDArray[np.intp]) -> tuple[list[Json], str | None]:
    """The columns of numbers, and their cells, one column after the other; None where they would be too long."""
    columns = {k: column for k, column in enumerate(table.columns) if isinstance(column, NumericColumn)}
    cells = pack(
        np.concatenate([np.empty(0), *(column.values[kept].astype(np.float64) for column in columns.values())])
    )
    return list(columns), cells if columns and len(cells) <= MAX_ROW_BYTES else None
