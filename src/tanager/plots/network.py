"""A network drawn in layers: the class on top, each attribute below its parents, edges as wide as they are strong.

The boxes are placed first, in inches, and drawn then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from tanager.additive.importance import effect_strength
from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array
from tanager.classifiers.base import edge_strength
from tanager.errors import OptionError
from tanager.plots.charts import BLUE, FONT_SIZE, TEXT_COLOUR, shorten, text_inches
from tanager.structure.dag import Dag

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType as Colour

BOX_HEIGHT = 0.27
BETWEEN_BOXES, BETWEEN_ROWS, BETWEEN_LAYERS = 0.16, 0.2, 0.5
SWEEPS = 6

Edges = Mapping[int, Sequence[int]]
CLASS_COLOUR, PLAIN_EDGE = "#e08a2e", "#9aa7b5"
NOTE_SIZE = 8.0
PAGE = 12.0
PADDING, MARGIN = 0.12, 0.15
MAX_NODE_LETTERS = 28
FEW_PAIRS = 12


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


def plot_network(network: AnyModel, ax: Axes | None = None, *, max_attributes: int = 60) -> Axes:
    """Draw a network, on axes large enough for its names unless others are given.

    An edge is as wide as the information between its ends given the child's other parents. Nodes are coloured by their
    information about the class. A node below the first attributes whose box is outlined in the colour of the class is a
    child of the class too; its edge is not drawn. Of a network with more than `max_attributes` attributes the strongest
    are drawn.

    Of an additive model an edge is as wide as the effect of its pair is strong, and nodes are coloured by the
    strength of their main effects. Its strongest pairs are drawn, 12 or as many as there are attributes.

    Of a mean of networks the edges that all of them have are drawn.

    Parameters
    ----------
    network : Network, AdditiveModel, MixtureNetwork or TreeAverageNetwork
    ax : matplotlib Axes, optional
        Names are made smaller where they would not fit.
    max_attributes : int
    """
    import matplotlib as mpl

    target = None if network.target is None else len(network.nodes) - 1
    weights = node_strength(network)
    attributes = strongest_attributes(weights[:target], max_attributes)
    shown = {*attributes, *([] if target is None else [target])}
    drawn = _with_strongest_pairs(network, attributes)
    dag, strength = drawn.dag, edge_strength(drawn)
    # A class with parents has a place below them like any node.
    top = None if target is None or network.dag.parents[target] else target
    names = {node: shorten(network.nodes[node], MAX_NODE_LETTERS) for node in shown}
    widths = {node: text_inches(name) + 2 * PADDING for node, name in names.items()}
    layout = Layout.of(dag, shown, top, widths, PAGE)
    note = _note(network, drawn, len(attributes))
    ax, scale = _axes(ax, layout, text_inches(note, NOTE_SIZE))
    fills = mpl.colormaps["Blues"](0.75 * weights / max(weights[:target].max(), 1e-12))
    outlined = set() if target is None else {child for parent, child in network.dag.edges if parent == target}
    _draw_edges(ax, dag, layout, strength, _largest(drawn, dag, strength, top), top, scale)
    for node, (x, y) in layout.places.items():
        is_class = node == target
        fill = CLASS_COLOUR if is_class else fills[node]
        _draw_box(ax, (x, y), names[node], widths[node], fill, is_class or node in outlined, scale)
    size = NOTE_SIZE * scale
    ax.text(0, -layout.height, note, ha="center", va="top", fontsize=size, color=TEXT_COLOUR, parse_math=False)
    return ax


def node_strength(network: AnyModel) -> Array:
    """The strength of each node's edge from or to the class; in a network without a class, of all its edges."""
    weights = np.zeros(len(network.nodes))
    for edge, nats in zip(network.dag.edges, edge_strength(network), strict=True):
        if network.target is None or len(network.nodes) - 1 in edge:
            weights[[*edge]] += nats
    return weights


def strongest_attributes(weights: Array, most: int) -> list[int]:
    """The attributes of the largest weights, in their order."""
    if most < 1:
        raise OptionError(f"max_attributes={most} leaves nothing to draw; expected 1 or more.")
    return sorted(np.argsort(-weights, kind="stable")[:most].tolist())


def strongest_pairs(network: AdditiveModel, shown: Collection[int]) -> list[int]:
    """The strongest pairs of attributes shown, in their order: 12, or as many as there are attributes."""
    here = set(shown)
    order = np.argsort(-effect_strength(network)[len(network.mains) :], kind="stable").tolist()
    return sorted([pair for pair in order if here.issuperset(network.pairs[pair])][: max(FEW_PAIRS, len(here))])


def _with_strongest_pairs(network: AnyModel, shown: Collection[int]) -> AnyModel:
    if not isinstance(network, AdditiveModel):
        return network
    kept = strongest_pairs(network, shown)
    return replace(
        network, pairs=tuple(network.pairs[pair] for pair in kept), tables=tuple(network.tables[pair] for pair in kept)
    )


def _note(network: AnyModel, drawn: AnyModel, n_shown: int) -> str:
    n_attributes = len(network.nodes) - (network.target is not None)
    part = f"the {n_shown} strongest of {n_attributes} attributes; " if n_shown < n_attributes else ""
    edges = "wider edge: more information between its ends"
    if isinstance(network, AdditiveModel) and isinstance(drawn, AdditiveModel):
        if len(drawn.pairs) < len(network.pairs):
            part += f"the {len(drawn.pairs)} strongest of {len(network.pairs)} pairs; "
        edges = "wider edge: stronger effect of the pair"
    if network.target is None:
        return f"{part}{edges}"
    target = shorten(network.target, MAX_NODE_LETTERS)
    colour = f"darker: more informative about {target}"
    if isinstance(network, AdditiveModel):
        return f"{part}{colour}; {edges}"  # every attribute is a child of the class
    return f"{part}{colour}; {edges}; orange outline: child of {target}"


def _axes(ax: Axes | None, layout: Layout, note_width: float) -> tuple[Axes, float]:
    """Axes in inches of the layout, and how much smaller than that the page is."""
    width = max(layout.width, note_width) + 2 * MARGIN
    height = layout.height + BOX_HEIGHT + 2 * MARGIN
    if ax is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(width, height))
        ax = figure.add_axes((0, 0, 1, 1))
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    ax.set_xlim(-width / 2, width / 2)
    ax.set_ylim(BOX_HEIGHT / 2 + MARGIN - height, BOX_HEIGHT / 2 + MARGIN)
    ax.set_axis_off()
    return ax, min(1.0, box.width / width, box.height / height)


def _draw_edges(
    ax: Axes, dag: Dag, layout: Layout, strength: Array, largest: tuple[float, float], top: int | None, scale: float
) -> None:
    """`largest`: what the widest edge between attributes and the widest one from `top` stand for."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    drawn = drawn_parents(dag, layout.places, top)
    for (parent, child), nats in zip(dag.edges, strength, strict=True):
        if parent not in drawn.get(child, ()):
            continue
        (x0, y0), (x1, y1) = layout.places[parent], layout.places[child]
        y0, y1 = y0 - BOX_HEIGHT / 2, y1 + BOX_HEIGHT / 2
        bend = min(0.5 * (y0 - y1), 0.5)
        curve = Path([(x0, y0), (x0, y0 - bend), (x1, y1 + bend), (x1, y1)], [1, 4, 4, 4])
        width = 0.6 + 3.0 * nats / largest[parent == top]
        ax.add_patch(
            FancyArrowPatch(
                path=curve,
                arrowstyle="-|>",
                mutation_scale=(6 + 2 * width) * scale,
                lw=width * scale,
                color=CLASS_COLOUR if parent == top else BLUE,
                alpha=0.4 if parent == top else 0.8,
                zorder=1,
                shrinkA=0,
                shrinkB=0,
            )
        )


def _largest(network: AnyModel, dag: Dag, strength: Array, top: int | None) -> tuple[float, float]:
    """What the widest edge between attributes and the widest one from `top` stand for.

    Pair effects are compared with each other: beside main effects all of them would be thin.
    """
    from_top = np.array([parent == top for parent, _ in dag.edges], dtype=bool)
    between, beside = (max(strength[which].max(initial=0.0), 1e-12) for which in (~from_top, from_top))
    return (between, beside) if isinstance(network, AdditiveModel) else (max(between, beside),) * 2


def _draw_box(
    ax: Axes, place: tuple[float, float], name: str, width: float, fill: Colour, outlined: bool, scale: float
) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    corner = (x - width / 2 + 0.05, y - BOX_HEIGHT / 2 + 0.05)
    ax.add_patch(
        FancyBboxPatch(
            corner,
            width - 0.1,
            BOX_HEIGHT - 0.1,
            boxstyle="round,pad=0.05",
            facecolor=fill,
            edgecolor=CLASS_COLOUR if outlined else PLAIN_EDGE,
            lw=(1.4 if outlined else 1.0) * scale,
            ls="-" if outlined else "--",
            zorder=2,
        )
    )
    luminance = float(np.dot(to_rgb(fill), (0.299, 0.587, 0.114)))
    colour = "white" if luminance < 0.5 else "black"
    text = ax.text(x, y, name, fontsize=FONT_SIZE * scale, color=colour, zorder=3, parse_math=False)
    text.set(ha="center", va="center_baseline")
