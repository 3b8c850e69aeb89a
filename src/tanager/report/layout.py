"""Where the nodes of a network stand on the page: layers from left to right, no two boxes overlapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from tanager.structure.dag import Dag

LETTER, PADDING, SHORTEST, LONGEST = 7.4, 20.0, 6, 24
"""Pixels of a letter and around a name; letters a box has room for, as its state stands in it, and of a cut name."""
HEIGHT, LINE, BETWEEN = 36.0, 44.0, 36.0
"""Pixels of a box, from line to line, and between layers."""
MANY_LEAVES = 10
CLASS_WIDTH = 130.0
"""Pixels at least, as the class says its most probable state."""


@dataclass(frozen=True)
class Box:
    """Top left corner and width, in pixels; every box is HEIGHT high."""

    x: float
    y: float
    width: float


def place_nodes(names: Sequence[str], dag: Dag) -> list[Box]:
    """A box for every node, the class being the last.

    The layer of a node is the length of the longest path to it. Each node hangs on its last parent (an attribute
    before the class) and stands half-way between those that hang on it; one that holds nothing has a line to itself.
    Childless nodes right under the class, all attributes in a naive Bayes network, share lines in a grid if many.
    """
    widths = box_widths(names)
    layers = _layers(dag)
    hanging = _hanging(dag, layers)
    target = len(names) - 1
    parents = {parent for parent, _ in dag.edges}
    leaves = [node for node in hanging[target] if node not in parents]
    grid = leaves if len(leaves) > MANY_LEAVES else []
    starts = _layer_starts(layers, widths, {*grid})
    lines = _lines(hanging, {*grid})
    result = [Box(starts[layers[node]], lines.get(node, 0.0) * LINE, widths[node]) for node in range(len(widths))]
    if grid:
        first = max((lines[node] for node in lines if node != target), default=-1.0) + 1
        n_columns = ceil(sqrt(len(grid) / 3))
        n_lines = ceil(len(grid) / n_columns)
        step = max(widths[node] for node in grid) + BETWEEN / 4
        for place, node in enumerate(grid):
            x = starts[layers[target]] + widths[target] + BETWEEN + step * (place // n_lines)
            result[node] = Box(x, (first + place % n_lines) * LINE, widths[node])
    return _centre_class(result)


def box_widths(names: Sequence[str]) -> list[float]:
    """Pixels of each node's box, the class being the last."""
    widths = [PADDING + LETTER * max(SHORTEST, min(len(name), LONGEST)) for name in names]
    widths[-1] = max(widths[-1], CLASS_WIDTH)
    return widths


def _layers(dag: Dag) -> list[int]:
    layers = [0] * dag.n_nodes
    for node in dag.order:
        layers[node] = max((layers[parent] + 1 for parent in dag.parents[node]), default=0)
    return layers


def _hanging(dag: Dag, layers: list[int]) -> list[list[int]]:
    """The nodes that hang on each node; those that hang on none come last."""
    target = dag.n_nodes - 1
    result: list[list[int]] = [[] for _ in range(len(layers) + 1)]
    for node in dag.order:
        last = max(dag.parents[node], key=lambda p: (p != target, layers[p], p), default=len(layers))
        result[last].append(node)
    return result


def _layer_starts(layers: list[int], widths: list[float], elsewhere: set[int]) -> list[float]:
    starts = [0.0]
    for layer in range(max(layers)):
        layer_widths = [widths[node] for node in range(len(layers)) if layers[node] == layer and node not in elsewhere]
        starts.append(starts[-1] + max(layer_widths, default=0.0) + BETWEEN)
    return starts


def _lines(hanging: list[list[int]], elsewhere: set[int]) -> dict[int, float]:
    """The line of every node outside the grid. A loop, as a chain of attributes may be longer than Python recurses."""
    lines: dict[int, float] = {}
    n_lines = 0
    stack = [(node, False) for node in reversed(hanging[-1])]
    while stack:
        node, visited = stack.pop()
        beside = [other for other in hanging[node] if other not in elsewhere]
        if beside and not visited:
            stack.append((node, True))
            stack.extend((other, False) for other in reversed(beside))
        elif beside:
            lines[node] = (lines[beside[0]] + lines[beside[-1]]) / 2
        else:
            lines[node] = float(n_lines)
            n_lines += 1
    return lines


def _centre_class(boxes: list[Box]) -> list[Box]:
    """A class without parents is alone in reach of its line, so it may stand in the middle of the page."""
    target = len(boxes) - 1
    if all(box.x > boxes[target].x + boxes[target].width for box in boxes[:target]):
        heights = [box.y for box in boxes[:target]]
        middle = (min(heights) + max(heights)) / 2
        return [*boxes[:target], Box(boxes[target].x, middle, boxes[target].width)]
    return boxes
