"""A filling that knows nothing of an attribute: what it holds says nothing of the cells that are missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tanager.arrays import Array
from tanager.missing.filling import Filling
from tanager.network.network import Network


def without_attribute(filling: Filling, attribute: int) -> Filling:
    """The attribute is independent of all else in the filler, every state of it as likely, and corrects nothing.

    P(y | x, c) of a child y becomes P(y | c) = sum_x F(x | c) F(y | x, c).
    """
    filler = filling.filler
    tables = list(filler.tables)
    given_class = _given_class(filler, attribute)
    tables[attribute] = np.full_like(tables[attribute], 1.0 / filler.n_states[attribute])
    for child, parents in enumerate(filler.dag.parents[:-1]):
        if attribute in parents:
            cells = _by_parent(filler, child)
            mean = np.einsum("cx,xcy->cy", given_class, cells)
            tables[child] = np.broadcast_to(mean, cells.shape).reshape(tables[child].shape).copy()
    states = list(filling.states)
    states[attribute] = np.zeros_like(states[attribute])
    return Filling(replace(filler, tables=tuple(tables)), filling.nothing, tuple(states), filling.shift)


def _by_parent(filler: Network, node: int) -> Array:
    """(states of the attribute parent or 1, classes, states) the table of an attribute of the filler."""
    return filler.tables[node].reshape(-1, filler.n_states[-1], filler.n_states[node])


def _given_class(filler: Network, attribute: int) -> Array:
    """(classes, states) F(attribute | class)."""
    target = len(filler.nodes) - 1
    above = [parent for parent in filler.dag.parents[attribute] if parent != target]
    cells = _by_parent(filler, attribute)
    if not above:
        return cells[0]
    found: Array = np.einsum("cp,pcx->cx", _given_class(filler, above[0]), cells)
    return found
