"""Weighted: naive Bayes with a weight for each attribute, chosen for P(class | attributes)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tanager.arrays import Array
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.equal_networks import choose_equal_network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace


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
        loss = WeightedLoss(cells, logs, Objective(cells, counts.rows.kept(), engine=counts.engine))
        start = np.ones(counts.n_attributes)
        found = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(start),
            options={"maxiter": self.max_iter, "ftol": 1e-12, "gtol": 1e-6 * max(1.0, counts.rows.n_rows)},
        )
        beta = loss.place(found.x)
        network, _ = choose_equal_network(task, cells.unpack(beta, [np.empty(0)] * task.dag.n_nodes))
        weights = dict(zip(counts.names, found.x.tolist(), strict=False))
        return LearntNetwork(network, WeightedTrace(weights, float(loss(start)[0]), float(found.fun)))


class WeightedLoss:
    """- sum_t log P(c_t | x_t) and its gradient, at weights (n_attributes,).

    The log tables (n_cells, n_classes) of an attribute are multiplied by its weight, those of the class, the last
    family of `cells`, are not.
    """

    def __init__(self, cells: ClassCells, logs: Array, objective: Objective) -> None:
        self._logs = logs
        self._objective = objective
        self._family = np.repeat(np.arange(len(cells.families)), np.diff(cells.offsets))

    def place(self, weights: Array) -> Array:
        beta: Array = self._logs * np.append(weights, 1.0)[self._family, np.newaxis]
        return beta

    def __call__(self, weights: Array) -> tuple[float, Array]:
        value, gradient = self._objective(self.place(weights))
        by_cell = (gradient * self._logs).sum(axis=1)
        return value, np.bincount(self._family, by_cell)[:-1].astype(np.float64)
