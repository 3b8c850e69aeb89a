"""What each attribute adds to the log odds of a row: the chain rule along the network (`Explanation`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.explain.cells import Cells, Model
from tanager.explain.edge_information import family_joints
from tanager.explain.effect_terms import effects_of_rows
from tanager.explain.explanation import Explanation
from tanager.gaps.skip import cell_probabilities, family_terms
from tanager.gaps.sum_out import log_joint_with_gaps
from tanager.network.additive import AdditiveNetwork
from tanager.network.inference.triangulate import relevant_nodes
from tanager.network.network import Network
from tanager.table.batch import code_dtype
from tanager.table.schema import Category

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Classes = NDArray[np.intp]


def explain_rows(model: Model, X: object, against: Category | None = None) -> Explanation:
    """See `tanager.explain.explain`."""
    cells = Cells.read(model, X)
    rows = np.arange(len(cells.codes))
    logs = cells.log_posterior
    if logs.shape[1] < 2:
        raise OptionError(f"the class {cells.network.nodes[-1]!r} has one state, so there is no decision to explain.")
    if against is None:
        order = np.argsort(-logs, axis=1, kind="stable")  # the first of equally probable classes, as in `predict`
        favoured, other = order[:, 0], order[:, 1]
    else:
        other = np.full(len(rows), cells.network.code(cells.network.nodes[-1], against))
        rivals = logs.copy()
        rivals[:, other] = -np.inf
        favoured = rivals.argmax(axis=1)
    network, odds = cells.network, logs[rows, favoured] - logs[rows, other]
    if isinstance(network, AdditiveNetwork):
        terms = _effect_terms(network, cells, favoured, other)
    elif cells.gap == "summed out" or cells.present.all():
        terms = _terms(network, cells, favoured, other)
    else:
        terms = _skipping_terms(network, cells, favoured, other)
    prior, contributions = terms[:, -1], terms[:, :-1]
    remainder = np.zeros(len(rows))
    if cells.gap == "averaged over":
        gappy = ~cells.present.all(axis=1)
        summed = terms.sum(axis=1)
        # Odds that a cell present makes infinite are so in every draw: the remainder is then nothing.
        np.subtract(odds, summed, out=remainder, where=gappy & np.isfinite(summed))
    return Explanation(cells, favoured, other, prior, contributions, remainder, odds)


def _terms(network: Network, cells: Cells, favoured: Classes, against: Classes) -> Floats:
    """(n_rows, n_nodes) terms of the chain rule, favoured less against; the class last."""
    codes = cells.codes
    target = len(network.nodes) - 1
    present = np.column_stack([cells.present, np.ones(len(codes), dtype=bool)])
    rank = _chain(network)
    terms = np.zeros(present.shape)
    for node, family in enumerate(network.dag.families):
        whole = present[:, family.nodes].all(axis=1)
        terms[whole, node] = _looked_up(network, node, codes[whole], favoured[whole], against[whole])
        hard = present[:, node] & ~whole
        if hard.any() and rank[node] >= rank[target]:  # terms before the class do not depend on it
            odds = _prefix_odds(network, codes[hard], favoured[hard], against[hard], rank <= rank[node])
            if node != target:
                before = _prefix_odds(network, codes[hard], favoured[hard], against[hard], rank < rank[node])
                # Odds that earlier cells have made infinite stay so: later ones add nothing.
                odds = np.subtract(odds, before, out=np.zeros_like(odds), where=np.isfinite(before))
            terms[hard, node] = odds
    return terms


def _skipping_terms(network: Network, cells: Cells, favoured: Classes, against: Classes) -> Floats:
    """As `_terms`, where a family with a missing cell adds its mean (`log_joint_skipping`) instead of a sum."""
    rows = np.arange(len(cells.codes))
    codes = cells.codes.astype(code_dtype(max(network.n_states)))
    # Where the model averages, any mean will do, as the remainder makes up for it: also one of a network too large for
    # the exact one.
    shares = (cell_probabilities if cells.gap == "left out" else family_joints)(network)
    terms = np.empty((len(rows), len(network.nodes)))
    for node, family in enumerate(network.dag.families):
        by_class = family_terms(network, family, shares[node], codes)
        by_class = np.broadcast_to(by_class, (len(rows), network.n_states[-1]))  # one column for one without the class
        terms[:, node] = by_class[rows, favoured] - by_class[rows, against]
    return terms


def _effect_terms(network: AdditiveNetwork, cells: Cells, favoured: Classes, against: Classes) -> Floats:
    """(n_rows, n_terms + 1) main effects, pair effects, the intercept."""
    rows, codes = np.arange(len(cells.codes)), cells.codes.astype(code_dtype(max(network.n_states)))
    terms = [effect[rows, favoured] - effect[rows, against] for effect in effects_of_rows(network, codes)]
    return np.column_stack([*terms, network.intercept[favoured] - network.intercept[against]])


def _looked_up(network: Network, node: int, codes: Codes, favoured: Classes, against: Classes) -> Floats:
    """log P(x_i | parents, favoured) - log P(x_i | parents, against) of rows with the whole family present."""
    joint = network.log_joint
    cells = joint.offsets[node] + codes[:, joint.nodes[node]] @ joint.strides[node]
    # A cell may be impossible under one class, which makes the odds infinite, but not under the more probable one.
    odds: Floats = joint.tables[cells, favoured] - joint.tables[cells, against]
    return odds


def _chain(network: Network) -> NDArray[np.int64]:
    """The place of each node in the chain rule: ancestors of the class, the class, then the others in their order."""
    target = len(network.nodes) - 1
    above = relevant_nodes(network.dag, [target])
    order = sorted(network.dag.order, key=lambda node: node not in above)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _prefix_odds(
    network: Network, codes: Codes, favoured: Classes, against: Classes, kept: NDArray[np.bool_]
) -> Floats:
    """log P(favoured, cells kept) - log P(against, cells kept) of each row."""
    masked = np.where(kept[:-1], codes, np.array(network.n_states[:-1]))
    joint = log_joint_with_gaps(network, masked)
    rows = np.arange(len(codes))
    return joint[rows, favoured] - joint[rows, against]
