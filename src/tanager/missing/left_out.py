"""LeftOut: the mean of all trees is taken over the trees of the attributes that are present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tanager.arrays import Array, Codes
from tanager.missing.rule import Classes, Contributions, GapRule, between
from tanager.network.tree_average import TreeAverageNetwork
from tanager.structure.all_trees import AllTrees

N_POINTS = 8
"""At which the integral below is evaluated; what it misses is smaller than 1e-6 of the log odds, and is added."""


@dataclass(frozen=True)
class LeftOut(GapRule):
    r"""P(c | o) of the cells present o: the mean over all forests of the attributes present, with the same weights.

    With Z_c(x) the sum over forests whose edges p -> i weigh w_pi P(x_i | x_p, c) / P(x_i | c), the log odds are

        log P(c) / P(c') + sum_i log P(x_i | c) / P(x_i | c') + log Z_c / Z_c'.

    The last term is a sum over edges too: along the path of weights w r_c^t r_c'^(1 - t), r being the ratios,
    log Z_c / Z_c' = sum_pi log(r_c / r_c') integral_0^1 P_t(p -> i) dt, P_t the probability of the edge. So an
    attribute adds the mean of what it adds given each parent, and given none, with the parents' probabilities in this
    row as weights.
    """

    name: ClassVar[str] = "left out"
    sentence: ClassVar[str] = "Unknown attributes are left out: the mean is over the trees of the others."

    network: TreeAverageNetwork

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """Not `normalized`: log P(class, cells present)."""
        return self.network.log_joint(codes, normalized)

    def contributions(self, codes: Codes, favoured: Classes, against: Classes, log_odds: Array) -> Contributions:
        with np.errstate(divide="ignore"):
            logs = np.log(self.network.members[0].tables[-1])
        prior = between(np.broadcast_to(logs, (len(codes), logs.shape[1])), favoured, against)
        terms = np.zeros((len(codes), len(self.network.terms)))
        for row in range(len(codes)):
            one = codes[row : row + 1]
            terms[row] = self._terms(one, int(favoured[row]), int(against[row]), float(log_odds[row] - prior[row]))
        return Contributions(prior, terms, np.zeros(len(codes)))

    def _terms(self, codes: Codes, favoured: int, against: int, log_odds: float) -> Array:
        (alone, weights), (other_alone, other_weights) = (
            self.network.row_weights(codes, label) for label in (favoured, against)
        )
        points, lengths = np.polynomial.legendre.leggauss(N_POINTS)
        share = (points[:, np.newaxis, np.newaxis] + 1.0) / 2.0
        edges = np.isfinite(weights[0]) & np.isfinite(other_weights[0])
        apart = np.subtract(weights[0], other_weights[0], out=np.zeros_like(weights[0]), where=edges)
        path = np.where(edges, other_weights + share * apart, -np.inf)
        probability = np.tensordot(lengths / 2.0, AllTrees(path).probability, axes=1)
        alone_odds = (alone - other_alone)[0]
        edge_odds: Array = (probability * apart).sum(axis=0)
        missed = log_odds - alone_odds.sum() - edge_odds.sum()
        sizes = np.abs(edge_odds)
        return alone_odds + edge_odds + missed * sizes / max(sizes.sum(), np.finfo(float).tiny)
