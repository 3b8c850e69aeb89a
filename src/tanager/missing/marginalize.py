"""SummedOut, Mixed and LeftOut: exact rules for unknown cells of networks that describe their attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, ClassCodes, Codes, Flags
from tanager.missing.rule import Contributions, MissingRule, answer_apart, between
from tanager.network.inference.elimination_plan import relevant_nodes
from tanager.network.log_joint import normalize_log
from tanager.network.mixture import MixtureNetwork, TreeAverageNetwork
from tanager.network.network import Network
from tanager.runtime.resources import map_threads
from tanager.table.columns import code_dtype

MAX_SHARE_APART = 0.5  # of a larger share of rows to sum out, taking them apart costs more than it saves
BLOCK_ROWS = 8_192


@dataclass(frozen=True)
class SummedOut(MissingRule):
    r"""P(c | o) = sum_m P(c, o, m) / P(o), of the known cells o and the unknown cells m.

    With the class first and parents before children, the chain rule gives log P(c, o) = log P(c) + sum_i
    log P(o_i | o_1 .. o_{i-1}, c): these are the terms. Where all parents of an attribute are known its term is that
    of its own table, whatever else the row holds. An unknown cell adds 0: its states sum to one.
    """

    name: ClassVar[str] = "summed out"
    sentence: ClassVar[str] = "Attributes that are not given are summed out."

    network: Network

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """Not `normalized`: log P(class, known cells).

        A look-up per family is exact for a row whose unknown cells are in attributes that are no parent and have none
        but the class (`LogJoint`); the other rows go through the junction tree.
        """
        hard = self._is_linked(codes)
        if hard.sum() > MAX_SHARE_APART * len(hard):
            hard[:] = True
        return answer_apart(
            codes,
            hard,
            lambda rows: self.network.log_joint(rows, normalized),
            lambda rows: self._sum_out(rows, normalized),
        )

    def contributions(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, log_odds: Array) -> Contributions:
        network, target = self.network, len(self.network.nodes) - 1
        present = np.column_stack([codes < np.array(network.n_states[:-1]), np.ones(len(codes), dtype=bool)])
        rank = _chain(network)
        terms = np.zeros(present.shape)
        for node, family in enumerate(network.dag.families):
            whole = present[:, family.nodes].all(axis=1)
            logs = network.log_joint.family(node, codes[whole])
            # A cell may be impossible under one class, which makes the odds infinite, but not under the likelier one.
            terms[whole, node] = between(logs, favoured[whole], against[whole])
            hard = present[:, node] & ~whole
            if hard.any() and rank[node] >= rank[target]:  # terms before the class do not depend on it
                odds = self._prefix_odds(codes[hard], favoured[hard], against[hard], rank <= rank[node])
                if node != target:
                    before = self._prefix_odds(codes[hard], favoured[hard], against[hard], rank < rank[node])
                    # Odds that earlier cells have made infinite stay so: later ones add nothing.
                    odds = np.subtract(odds, before, out=np.zeros_like(odds), where=np.isfinite(before))
                terms[hard, node] = odds
        return Contributions.of(terms)

    def _prefix_odds(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, kept: Flags) -> Array:
        """log P(favoured, cells kept) - log P(against, cells kept) of each row."""
        masked = np.where(kept[:-1], codes, np.array(self.network.n_states[:-1]))
        return between(self.log_posterior(masked, normalized=False), favoured, against)

    def _is_linked(self, codes: Codes) -> Flags:
        """(n_rows,) whether an unknown attribute is a parent, or has an attribute as parent."""
        target = len(self.network.nodes) - 1
        linked = {node for edge in self.network.dag.edges if edge[0] != target for node in edge} - {target}
        hard = np.zeros(len(codes), dtype=bool)
        for node in linked:
            hard |= codes[:, node] == self.network.n_states[node]
        return hard

    def _sum_out(self, codes: Codes, normalized: bool) -> Array:
        n_classes = self.network.n_states[-1]
        dtype = np.promote_types(codes.dtype, code_dtype(n_classes))
        unlabelled = np.empty((len(codes), codes.shape[1] + 1), dtype=dtype, order="F")
        unlabelled[:, :-1] = codes
        unlabelled[:, -1] = n_classes
        result = self.network.class_tree.log_joint(self.network.tables, unlabelled)
        if normalized:
            blocks = range(0, len(result), BLOCK_ROWS)
            map_threads(lambda first: normalize_log(result[first : first + BLOCK_ROWS]), blocks)
        return result


def _chain(network: Network) -> NDArray[np.int64]:
    """The place of each node in the chain rule: ancestors of the class, the class, then the others in their order."""
    target = len(network.nodes) - 1
    above = relevant_nodes(network.dag, [target])
    order = sorted(network.dag.order, key=lambda node: node not in above)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


@dataclass(frozen=True)
class Mixed(MissingRule):
    """P(c | o) = sum_m w_m P_m(c, o) / sum_m w_m P_m(o), of the known cells o."""

    name: ClassVar[str] = "summed out"
    sentence: ClassVar[str] = "Attributes that are not given are summed out."

    network: MixtureNetwork

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """Not `normalized`: log P(class, known cells)."""
        if not self.has_unknown(codes).any():
            return self.network.log_joint(codes, normalized)
        members = map(SummedOut, self.network.members)
        result = self.network.mix(member.log_posterior(codes, normalized=False) for member in members)
        return normalize_log(result) if normalized else result


@dataclass(frozen=True)
class LeftOut(MissingRule):
    """P(c | o) of the known cells o: the mean over all forests of the known attributes, with the same weights."""

    name: ClassVar[str] = "left out"
    sentence: ClassVar[str] = "Attributes that are not given are left out: the mean is over the trees of the others."

    network: TreeAverageNetwork

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """Not `normalized`: log P(class, known cells)."""
        return self.network.log_joint(codes, normalized)
