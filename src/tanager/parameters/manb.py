"""MANB: naive Bayes averaged over all subsets of its attributes, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, logit

from tanager.arrays import Array
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace


@dataclass(frozen=True)
class MANBTrace(ParameterTrace):
    """P(attribute depends on the class | training rows), by attribute."""

    probability: dict[str, float]


class MANB(ParameterLearner):
    """The mean of the naive Bayes networks of all 2^n subsets of attributes, each as probable as the rows make it.

    A network of the mean has edges from the class to the attributes of its subset; its tables are the posterior means
    (N_ck + alpha) / (N_c + alpha r), or (N_k + alpha) / (N + alpha r) without the class. As all factors belong to one
    attribute, the mean is again a naive Bayes network (Dash and Cooper 2002, 2004):

    P(x_i | c) = p_i P(x_i | c, edge) + (1 - p_i) P(x_i | no edge)

    p_i, the probability of the edge given the rows, comes from the marginal likelihoods of the attribute with and
    without it, all Dirichlet parameters alpha.

    alpha  pseudo-rows of every cell
    prior  the probability of an edge before any row is seen
    """

    needs = "families"
    describes_attributes = True
    naive_bayes_only = True

    def __init__(self, alpha: float = 1.0, prior: float = 0.5) -> None:
        self.alpha = alpha
        self.prior = prior

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_structure(task)
        if not self.alpha > 0:
            raise OptionError(f"alpha={self.alpha!r} of MANB must be a number above zero.")
        if not 0 < self.prior < 1:
            raise OptionError(f"prior={self.prior!r} of MANB must be a number between 0 and 1, both excluded.")
        counts, target = task.counts, task.counts.n_attributes
        *attributes, classes = counts.tables([*(Family(i, (target,)) for i in range(target)), Family(target, ())])
        tables, found = [], {}
        for name, counted in zip(counts.names, attributes, strict=False):
            with_edge = counted[0].astype(np.float64)
            without = with_edge.sum(axis=0, keepdims=True)
            gain = self._log_marginal(with_edge) - self._log_marginal(without)
            probability = float(expit(logit(self.prior) + gain))
            found[name] = probability
            tables.append(probability * self._means(with_edge) + (1.0 - probability) * self._means(without))
        frequencies = classes.reshape(1, -1) / classes.sum()
        return LearntNetwork(task.network([*tables, frequencies]), MANBTrace(found))

    def _log_marginal(self, counted: Array) -> float:
        """log P(states | configurations) of rows counted (configurations, states), the tables integrated out."""
        whole = self.alpha * counted.shape[1]
        rows = gammaln(whole) - gammaln(counted.sum(axis=1) + whole)
        cells = gammaln(counted + self.alpha) - gammaln(self.alpha)
        return float(rows.sum() + cells.sum())

    def _means(self, counted: Array) -> Array:
        smoothed = counted + self.alpha
        means: Array = smoothed / smoothed.sum(axis=1, keepdims=True)
        return means
