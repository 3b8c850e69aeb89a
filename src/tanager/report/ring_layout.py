"""Where the attributes of a network of pairs stand: on a ring around the class, no two boxes overlapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt

from tanager.report.layout import LINE, Box, box_widths

AROUND_CLASS = 80.0
"""Pixels at least between the class and what stands beside it."""
NARROWEST = 8.0
"""Pixels from the middle to a box at the top or the bottom of the ring."""
ROUNDNESS = 0.42
"""Half the width of the ring, as a share of its height."""
LOWEST, WIDEST_LINE = 330.0, 2 * LINE
"""Pixels of the height that a ring of few attributes is spread over, and from line to line at most."""


def ring_order(weights: Sequence[float], links: Mapping[tuple[int, int], float]) -> list[int]:
    """The attributes so that strongly linked ones are near each other.

    The heaviest goes first; then always the one with the strongest link to an attribute already there, the latest of
    them first; where no link leads on, the heaviest that is left.
    """
    beside: list[dict[int, float]] = [{} for _ in weights]
    for (one, other), strength in links.items():
        beside[one][other] = beside[other][one] = strength
    heaviest = sorted(range(len(weights)), key=lambda node: (-weights[node], node))
    waiting, order = dict.fromkeys(heaviest), list[int]()
    path: list[int] = []
    while waiting:
        while path and not any(node in waiting for node in beside[path[-1]]):
            path.pop()
        if path:
            neighbours = beside[path[-1]]
            found = max((node for node in neighbours if node in waiting), key=lambda node: (neighbours[node], -node))
        else:
            found = next(iter(waiting))
        del waiting[found]
        path.append(found)
        order.append(found)
    return order


def place_ring(names: Sequence[str], order: Sequence[int]) -> list[Box]:
    """A box for every node, the class being the last and in the middle; attributes clockwise from the top right."""
    widths = box_widths(names)
    n_lines = max(1, ceil(len(order) / 2))
    step = max(LINE, min(WIDEST_LINE, LOWEST / n_lines))
    half = max(widths[-1] / 2 + AROUND_CLASS, ROUNDNESS * n_lines * step)
    result = [Box(-widths[-1] / 2, (n_lines - 1) / 2 * step, width) for width in widths]
    for place, node in enumerate(order):
        right = place < n_lines
        line = place if right else 2 * n_lines - 1 - place
        height = (2 * line + 1) / n_lines - 1
        x = max(NARROWEST, half * sqrt(1 - height**2))
        result[node] = Box(x if right else -x - widths[node], line * step, widths[node])
    left = min(box.x for box in result)
    return [Box(box.x - left, box.y, box.width) for box in result]
