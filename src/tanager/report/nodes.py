"""The columns of a network as the page needs them: names, states, and where numbers are cut."""

from __future__ import annotations

from tanager.additive.model import AnyModel
from tanager.report.json_page import Json
from tanager.report.layout import Box
from tanager.table.schema import ColumnSchema, format_values


def describe_node(network: AnyModel, node: int, box: Box) -> dict[str, Json]:
    """What the page knows of a node, whatever kind of network it is in."""
    column = network.columns[node]
    return {
        "name": column.name,
        "kind": column.kind,
        "states": [str(state) for state in column.states],
        "cuts": list(column.cuts),
        "cut_labels": None if column.unit == "number" else list(format_values(column.cuts, column.unit)),
        "gap": column.gap_state,
        "unit": column.unit,
        "ordered": column.ordered,
        "parents": list(network.dag.parents[node]),
        "x": box.x,
        "y": box.y,
        "width": box.width,
    }


def describe_coarse(column: ColumnSchema) -> dict[str, Json]:
    """The coarse states of a column, and the one that each of its states is in."""
    return {"coarse": [str(state) for state in column.coarse.states], "groups": column.coarse_codes[:-1].tolist()}
