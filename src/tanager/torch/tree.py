"""The best tree of very many attributes on a device: neither the pair tables nor the gains fit through a cable.

10,000 attributes of 3 states have 50 million pair tables, 7 GB, and 0.8 GB of gains. Importing this module imports
torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.scores.protocol import FamilyScore
from tanager.structure.tree import NO_PARENT, Parents
from tanager.table.rows import EncodedBatch
from tanager.torch.engine import OneHots, StateColumns, TorchEngine
from tanager.torch.rows import with_less_memory

# Cells of all pair tables up to which they go to the host, which also knows other scores, missing cells, constraints.
CELLS_WORTH_HOST = 1 << 23
# Bytes for each entry of a block of gains: the products, their logarithms and two sums.
BYTES_PER_PAIR = 64
# Rows of the gains looked at together in a round of the spanning tree.
ROUND_BYTES = 1 << 28


@dataclass(frozen=True)
class DeviceTree:
    """The parent of each attribute, what it gains, and the score of the structure without these edges."""

    parents: Parents
    gains: NDArray[np.float64]
    naive_score: float


def tree_on_device(counts: CountStore, score: FamilyScore, root: int, forest: bool) -> DeviceTree | None:
    """The best tree, or None where the ordinary way serves."""
    states = np.array(counts.n_states[:-1])
    n_cells = counts.n_classes * (int(states.sum()) ** 2 - int((states**2).sum())) // 2
    formula = _formula(counts, score)
    here = counts.rows.place == "memory"
    even = len(states) * int(states.max(initial=0)) <= 2 * int(states.sum())
    if not here or formula is None or n_cells <= CELLS_WORTH_HOST or counts.rows.incomplete.any() or not even:
        return None
    engine = cast(TorchEngine, counts.engine)
    gains, alone = with_less_memory(
        lambda n_bytes: edge_gains(engine, counts, *formula, n_bytes),
        engine.device,
        "comparing all pairs of attributes",
    )
    class_family = Family(counts.n_attributes, ())
    return DeviceTree(*maximum_spanning_tree(gains, root, forest), alone + score.total([class_family], counts))


def _formula(counts: CountStore, score: FamilyScore) -> tuple[Sequence[Term], Sequence[Term]] | None:
    """The terms of an attribute with and without an attribute parent, if N log N is all they need."""
    if not (isinstance(score, MarginSums) and score.score_equivalent) or counts.n_attributes < 2:
        return None
    target = counts.n_attributes
    pair = score.formula(Family(1, (0, target)), counts.n_states)
    alone = score.formula(Family(1, (target,)), counts.n_states)
    return (pair, alone) if all(term.function is xlogx for term in (*pair, *alone)) else None


def edge_gains(
    engine: TorchEngine, counts: CountStore, pair: Sequence[Term], alone: Sequence[Term], n_bytes: int
) -> tuple[torch.Tensor, float]:
    """(n, n) gains of one attribute parent beside the class, symmetric, zero on the diagonal; and the terms without.

    No cell is missing. Then the margins of a pair that miss one of its attributes are those of the other alone, and
    only N_jck and N_jk have to be summed pair by pair.
    """
    rows = engine.rows(cast(EncodedBatch, counts.rows))
    n_attributes, n_states = counts.n_attributes, max(counts.n_states[:-1])
    one_hots = OneHots(rows, StateColumns.by_state(n_attributes, n_states, rows.device), n_bytes)
    by_class = one_hots.sums().reshape(-1, n_states, n_attributes)
    known = {
        "c": _xlogx(by_class[:, :, 0].sum(dim=1)).sum(),
        "": _xlogx(by_class[:, :, 0].sum()),
        "ck": _xlogx(by_class).sum(dim=(0, 1)),
        "k": _xlogx(by_class.sum(dim=0)).sum(dim=0),
    }
    known |= {"jc": known["ck"][:, None], "j": known["k"][:, None]}
    weight = {margin: sum(term.coefficient for term in pair if term.margin == margin) for margin in ("jck", "jk")}
    fixed = torch.zeros((n_attributes, n_attributes), dtype=torch.float64, device=rows.device)
    for term in pair:
        if term.margin not in weight:
            fixed += term.coefficient * known[term.margin]
    without = sum((term.coefficient * known[term.margin.replace("j", "")] for term in alone), fixed.new_zeros(()))
    fixed -= without
    # Blocks of an eighth of the rows follow the triangle closely enough.
    length = min(max(1, n_bytes // (BYTES_PER_PAIR * n_attributes)), -(-n_attributes // 8))
    for first in range(0, n_attributes, length):
        block = fixed[first : first + length, first:]
        _add_cells(one_hots, n_attributes, n_states, first, weight, block)
    fixed.triu_(1)
    return fixed + fixed.T, float(without.expand(n_attributes).sum())


def _add_cells(
    one_hots: OneHots, n_attributes: int, n_states: int, first: int, weight: dict[str, float], block: torch.Tensor
) -> None:
    """Add the sums over N_jck and N_jk of the pairs of a block of rows with all later attributes."""
    for x in range(n_states):
        left = slice(x * n_attributes + first, x * n_attributes + first + len(block))
        for y in range(n_states):
            right = slice(y * n_attributes + first, (y + 1) * n_attributes)
            total: torch.Tensor | None = None
            for c in range(one_hots.n_classes):
                product = one_hots.product(c, left, right).to(torch.float64)
                total = product.clone() if total is None else total.add_(product)
                block.add_(_xlogx(product), alpha=weight["jck"])
            if weight["jk"] and total is not None:
                block.add_(_xlogx(total), alpha=weight["jk"])


def _xlogx(counts: torch.Tensor) -> torch.Tensor:
    return torch.special.xlogy(counts, counts)


def maximum_spanning_tree(
    weights: torch.Tensor, root: int = 0, forest: bool = False
) -> tuple[Parents, NDArray[np.float64]]:
    """As `spanning.maximum_spanning_tree`, with the weight of each node's edge to its parent (Boruvka 1926).

    Every round each component takes its best edge out, so rounds are few and each is one look at all weights. Of equal
    edges the one with the lowest numbers is taken, which is an order of all edges, so no cycle can close.
    """
    n_nodes = len(weights)
    nodes = np.arange(n_nodes)
    label, n_components = nodes, n_nodes
    edges = np.empty(0, np.int64)  # lower number * n_nodes + higher number
    while n_components > 1:
        best, partner = _best_edges(weights, label)
        leaving = np.minimum(nodes, partner) * n_nodes + np.maximum(nodes, partner)
        chosen = np.unique(_best_of_each(label, n_components, best, leaving))
        edges = np.append(edges, chosen)
        low, high = np.divmod(chosen, n_nodes)
        n_components, merged = connected_components(_graph(label[low], label[high], n_components), directed=False)
        label = merged.astype(np.int64)[label]
    parents = np.full(n_nodes, NO_PARENT, dtype=np.int64)
    gains = np.zeros(n_nodes)
    if n_nodes > 1:
        _, above = breadth_first_order(_graph(*np.divmod(edges, n_nodes), n_nodes), root, directed=False)
        children = np.flatnonzero(nodes != root)
        parents[children] = above[children]
        at = torch.from_numpy(parents[children]).to(weights.device), torch.from_numpy(children).to(weights.device)
        gains[children] = weights[at].cpu().numpy()
    if forest:
        parents[gains <= 0], gains[gains <= 0] = NO_PARENT, 0.0
    return parents, gains


def _best_of_each(
    label: NDArray[np.int64], n_components: int, best: NDArray[np.float64], edges: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each component the best of its nodes' edges, the lowest number of equal ones."""
    highest = np.full(n_components, -np.inf)
    np.maximum.at(highest, label, best)
    equal = best == highest[label]
    lowest = np.full(n_components, np.iinfo(np.int64).max)
    np.minimum.at(lowest, label[equal], edges[equal])
    return lowest


def _graph(low: NDArray[np.int64], high: NDArray[np.int64], n_nodes: int) -> sparse.csr_array:
    return sparse.coo_array((np.ones(len(low)), (low, high)), shape=(n_nodes, n_nodes)).tocsr()


def _best_edges(weights: torch.Tensor, label: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each node its best edge to another component and where it leads, the lowest number of equal ones."""
    component = torch.from_numpy(label).to(weights.device)
    best = torch.empty(len(weights), dtype=weights.dtype, device=weights.device)
    partner = torch.empty(len(weights), dtype=torch.int64, device=weights.device)
    length = max(1, ROUND_BYTES // (8 * len(weights)))
    for first in range(0, len(weights), length):
        part = slice(first, first + length)
        inside = component[part, None] == component[None, :]
        best[part], partner[part] = weights[part].masked_fill(inside, -torch.inf).max(dim=1)
    return best.cpu().numpy(), partner.cpu().numpy()
