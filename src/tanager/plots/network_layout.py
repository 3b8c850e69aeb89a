"""Where the boxes of a layered drawing go: geometry in inches, no picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from tanager.structure.dag import Dag

BOX_HEIGHT = 0.27
BETWEEN_BOXES, BETWEEN_ROWS, BETWEEN_LAYERS = 0.16, 0.2, 0.5
SWEEPS = 6

Edges = Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class Layout:
    """The centre of each box, x to the right and y upwards; the first layer is at y = 0, the middle at x = 0.

    A node stands in the layer below that of its last parent. A layer wider than the page is broken into rows.
    Boxes of one row never meet, and no two rows share a line, so no two boxes meet.
    """

    places: dict[int, tuple[float, float]]
    width: float
    height: float

    @classmethod
    def of(cls, dag: Dag, shown: Collection[int], top: int | None, widths: Mapping[int, float], page: float) -> Layout:
        """Place the nodes shown.

        top     a node alone in the first layer, or None
        widths  of the boxes
        page    the width to keep to
        """
        parents = drawn_parents(dag, shown, top)
        page = max(page, *(widths[node] for node in parents))
        rows, heights = _rows(parents, top, widths, page)
        children: dict[int, list[int]] = {node: [] for node in parents}
        for node, node_parents in parents.items():
            for parent in node_parents:
                children[parent].append(node)
        x = dict.fromkeys(parents, 0.0)
        for sweep in range(SWEEPS):
            # Down: below the parents. Up: above the children. The last sweep goes down.
            down = sweep % 2 == 1
            for row in rows if down else reversed(rows):
                _place(row, x, parents if down else children, widths, page)
        left = min(x[node] - widths[node] / 2 for node in parents)
        right = max(x[node] + widths[node] / 2 for node in parents)
        middle = (left + right) / 2
        places = {node: (x[node] - middle, y) for row, y in zip(rows, heights, strict=True) for node in row}
        return cls(places, right - left, BOX_HEIGHT - heights[-1])


def drawn_parents(dag: Dag, shown: Collection[int], top: int | None) -> dict[int, list[int]]:
    """The parents each node shown is joined to, parents first: `top` only where there is no other."""
    joined = {}
    for node in dag.order:
        if node in shown:
            node_parents = [parent for parent in dag.parents[node] if parent in shown]
            joined[node] = [parent for parent in node_parents if parent != top] or node_parents
    return joined


def _rows(
    parents: Edges, top: int | None, widths: Mapping[int, float], page: float
) -> tuple[list[list[int]], list[float]]:
    """The nodes of each row from left to right, and the y of each row."""
    layer: dict[int, int] = {}
    for node, node_parents in parents.items():
        first = 0 if top in (None, node) else 1
        layer[node] = max((layer[parent] + 1 for parent in node_parents), default=first)
    order = _first_visits(parents)
    has_children = {parent for node_parents in parents.values() for parent in node_parents}
    rows: list[list[int]] = []
    heights: list[float] = []
    y = 0.0
    for number in range(max(layer.values()) + 1):
        members = [node for node in order if layer[node] == number]
        for row in _broken(members, has_children, widths, page):
            rows.append(row)
            heights.append(y)
            y -= BOX_HEIGHT + BETWEEN_ROWS
        y -= BETWEEN_LAYERS - BETWEEN_ROWS
    return rows, heights


def _broken(
    members: Sequence[int], has_children: Collection[int], widths: Mapping[int, float], page: float
) -> list[list[int]]:
    """The rows of a layer, the upper first. Nodes with children stand in the lower: no box hides an edge of theirs."""
    rows: list[list[int]] = []
    width = page
    for node in sorted(members, key=lambda node: node not in has_children):
        width += BETWEEN_BOXES + widths[node]
        if width > page:
            rows.append([])
            width = widths[node]
        rows[-1].append(node)
    place = {node: k for k, node in enumerate(members)}
    return [sorted(row, key=place.__getitem__) for row in reversed(rows)]


def _first_visits(parents: Edges) -> list[int]:
    """Depth first, each node below the last of its parents: the edges of a forest do not cross in this order."""
    below: dict[int | None, list[int]] = {}
    for node, node_parents in parents.items():
        below.setdefault(node_parents[-1] if node_parents else None, []).append(node)
    order: list[int] = []
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(reversed(below.get(node, [])))
    return order


def _place(row: Sequence[int], x: dict[int, float], linked: Edges, widths: Mapping[int, float], page: float) -> None:
    """Move the boxes of a row as near to the mean of the nodes they are linked with as their order and the page allow.

    Taking the least distances off turns "in order and apart" into "not decreasing", and the least squares under it
    into an isotonic regression; cutting that off at bounds is the solution within the bounds.
    """
    wanted = np.array([np.mean([x[other] for other in linked[node]] or [x[node]]) for node in row])
    apart = [(widths[left] + widths[right]) / 2 + BETWEEN_BOXES for left, right in pairwise(row)]
    offsets = np.cumsum([0.0, *apart])
    lowest = (widths[row[0]] - page) / 2
    highest = (page - widths[row[-1]]) / 2 - offsets[-1]
    places = np.clip(isotonic_regression(wanted - offsets).x, lowest, max(lowest, highest)) + offsets
    x.update(zip(row, places.tolist(), strict=True))
