"""A network drawn in layers from left to right: the class, then the attributes, each to the right of its parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tanager.network.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASS_COLOUR, NODE_COLOUR, EDGE_COLOUR, CLASS_EDGE_COLOUR = "#f2a65a", "#dbe7f3", "#34547a", "#ecd9c0"
LETTERS_BETWEEN = 7
FONT_SIZE = 9
LETTER_INCHES, LINE_INCHES = 0.074, 0.26


def plot_network(network: Network, ax: Axes | None = None) -> Axes:
    """Draw the nodes and edges of a network, on axes large enough for its names unless others are given.

    Edges from the class, which goes to nearly every node, are faint.
    """
    layout = Layout.of(network)
    if ax is None:
        import matplotlib.pyplot as plt

        size = ((layout.width + 2) * LETTER_INCHES, (layout.height + 1) * LINE_INCHES)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    target = None if network.target is None else network.number(network.target)
    for parent, child in network.dag.edges:
        from_class = parent == target
        start, end = layout.places[parent], layout.places[child]
        ax.annotate(
            "",
            xy=(end[0] - 0.8, end[1]),
            xytext=(start[0] + len(network.nodes[parent]) + 0.8, start[1]),
            zorder=1 if from_class else 2,
            arrowprops={
                "arrowstyle": "-" if from_class else "-|>",
                "color": CLASS_EDGE_COLOUR if from_class else EDGE_COLOUR,
                "lw": 0.8 if from_class else 1.3,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    for node, (x, y) in layout.places.items():
        name = network.nodes[node]
        box = {"boxstyle": "round,pad=0.3", "fc": CLASS_COLOUR if node == target else NODE_COLOUR, "ec": EDGE_COLOUR}
        ax.text(x + len(name) / 2, y, name, ha="center", va="center", fontsize=FONT_SIZE, zorder=3, bbox=box)
    ax.set_xlim(-1.5, layout.width + 1.5)
    ax.set_ylim(-layout.height + 0.2, 0.8)
    ax.set_axis_off()
    return ax


@dataclass(frozen=True)
class Layout:
    """Where the name of each node begins: x in letters, y in lines, downwards from 0.

    A node stands in the column after that of the last of its attribute parents, half-way between the first and the
    last of those to its right; a node with none has a line of its own. So two nodes of one column are at least a line
    apart, and as a column is as wide as its longest name, no two names meet.
    """

    places: dict[int, tuple[float, float]]
    width: float
    height: float

    @classmethod
    def of(cls, network: Network) -> Layout:
        target = None if network.target is None else network.number(network.target)
        right_of: dict[int | None, list[int]] = {}
        column = {} if target is None else {target: 0}
        for node in network.dag.order:
            if node != target:
                attributes = [parent for parent in network.dag.parents[node] if parent != target]
                last = max(attributes, key=lambda parent: (column[parent], parent), default=None)
                column[node] = 1 if last is None else column[last] + 1
                right_of.setdefault(last, []).append(node)
        lines: dict[int, float] = {}
        n_lines = 0

        def place(node: int) -> float:
            nonlocal n_lines
            beside = [place(child) for child in right_of.get(node, [])]
            if not beside:
                beside = [-float(n_lines)]
                n_lines += 1
            lines[node] = (beside[0] + beside[-1]) / 2
            return lines[node]

        roots = [place(node) for node in right_of.get(None, [])]
        if target is not None:
            lines[target] = (roots[0] + roots[-1]) / 2 if roots else 0.0
        starts = {0: 0.0}
        for number in range(max(column.values()) + 1):
            widest = max((len(network.nodes[node]) for node, own in column.items() if own == number), default=0)
            starts[number + 1] = starts[number] + (widest + LETTERS_BETWEEN if widest else 0)
        places = {node: (starts[column[node]], line) for node, line in lines.items()}
        return cls(places, max(starts.values()) - LETTERS_BETWEEN, max(n_lines, 1))
