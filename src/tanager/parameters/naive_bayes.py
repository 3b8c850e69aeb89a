"""Naive Bayes whose attributes count in part: averaged over all subsets of them, or each with a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logit

from tanager.arrays import Array
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.parameters.class_cells import ClassCells, choose_equal_network
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.frequency import Frequency
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
        tables, probabilities = [], {}
        for name, counted in zip(counts.names, attributes, strict=False):
            with_edge = counted[0].astype(np.float64)
            without = with_edge.sum(axis=0, keepdims=True)
            gain = self._log_marginal(with_edge) - self._log_marginal(without)
            probability = float(expit(logit(self.prior) + gain))
            probabilities[name] = probability
            tables.append(probability * self._means(with_edge) + (1.0 - probability) * self._means(without))
        frequencies = classes.reshape(1, -1) / classes.sum()
        return LearntNetwork(task.network([*tables, frequencies]), MANBTrace(probabilities))

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


@dataclass(frozen=True)
class WeightedTrace(ParameterTrace):
    """The weights, by attribute, and the log loss of the training rows in nats: with all weights 1, and with these."""

    weights: dict[str, float]
    loss_start: float
    loss: float


class Weighted(ParameterLearner):
    """P(c | x) proportional to P(c) prod_i P(x_i | c)^w_i, 0 <= w_i <= 1 (WANBIA-CLL, Zaidi et al. 2013).

    P are smoothed frequencies; the weights maximise sum_t log P(c_t | x_t), from all weights 1. This is concave in the
    weights. The network has P(class | attributes) of the weighted product; of all such networks it is the most likely.

    smoothing, alpha  of the frequencies, as `Frequency`'s
    max_iter          most iterations of L-BFGS-B
    """

    needs = "passes"
    naive_bayes_only = True

    def __init__(self, smoothing: str = "laplace", alpha: float | None = None, max_iter: int = 500) -> None:
        self.smoothing = smoothing
        self.alpha = alpha
        self.max_iter = max_iter

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_structure(task)
        counts = task.counts
        cells = ClassCells.of(task.dag, counts.n_states)
        logs = np.log(cells.pack(Frequency(self.smoothing, self.alpha).tables(task)))
        objective = Objective(cells, counts.rows.kept(), engine=counts.engine)
        family = np.repeat(np.arange(len(cells.families)), np.diff(cells.offsets))

        def place(weights: Array) -> Array:
            """The log tables of an attribute times its weight; those of the class are the last."""
            beta: Array = logs * np.append(weights, 1.0)[family, np.newaxis]
            return beta

        def loss(weights: Array) -> tuple[float, Array]:
            value, gradient = objective(place(weights))
            return value, np.bincount(family, (gradient * logs).sum(axis=1))[:-1].astype(np.float64)

        start = np.ones(counts.n_attributes)
        end = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(start),
            options={"maxiter": self.max_iter, "ftol": 1e-12, "gtol": 1e-6 * max(1.0, counts.rows.n_rows)},
        )
        network, _ = choose_equal_network(task, cells.unpack(place(end.x), [np.empty(0)] * task.dag.n_nodes))
        weights = dict(zip(counts.names, end.x.tolist(), strict=False))
        return LearntNetwork(network, WeightedTrace(weights, float(loss(start)[0]), float(end.fun)))
