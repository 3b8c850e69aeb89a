"""Naive Bayes whose attributes count in part: averaged over subsets of them, weighted, or without some parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.special import expit

from tanager.arrays import Array, Flags, Ints
from tanager.counts.count_store import CountStore
from tanager.network.log_joint import normalize_log
from tanager.parameters.class_cells import ClassCells, choose_equal_network
from tanager.parameters.conditional.objectives import Objective, indicators
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.registry import check_option
from tanager.runtime.resources import one_blas_thread
from tanager.structure.dag import Dag
from tanager.structure.family_terms import level
from tanager.table.rows import EncodedBatch

# Of `Pruned`:
RIDGE = 1e-3  # keeps the scale finite along shifts of a centred table, which change nothing
TOLERANCE = 1e-3  # largest scaled gradient; CLL+ is then within about its square per parameter of the maximum
# Of two classes, the parameters of a cell often gain the same but for rounding and for what the optimiser leaves.
SMALLEST_GAIN = 1e-5
PART_ROWS = 4_096


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


@dataclass(frozen=True)
class PrunedTrace(ParameterTrace):
    """What was left out, and what that gained.

    parameters           in all, the class's included
    kept                 of them
    kept_by_attribute    the class's not included
    objective_start      CLL+ of cNB, before pruning
    objective            CLL+ after it
    marginal_difference  of the tables' class-free marginals from those of the rows, the largest
    """

    parameters: int
    kept: int
    kept_by_attribute: dict[str, int]
    objective_start: float
    objective: float
    marginal_difference: float | None


class Pruned(ParameterLearner):
    """pNB of Roos et al. 2005 (5.6): start from cNB and drop parameters beta_{c, x_i = k} while CLL+ rises.

    cNB is naive Bayes at the maximum of CLL+, the conditional log likelihood plus the logarithm of a prior for each
    parameter, theta (1 - theta) with theta = exp(beta) / (1 + exp(beta)) (`PrunedObjective`).

    The parameter whose removal raises CLL+ most, the others as they are, goes; its prior term goes too. Then all
    others are optimised again, from where they were. When no removal gains at once, the least costly is tried; if CLL+
    is not higher after optimising, that step is undone and the search ends. A removed parameter is 0 in the logistic
    form: it says nothing for or against its class. The class's own parameters go in the same way.

    Only for naive Bayes; the terms of missing cells are left out. For that the tables of an attribute are centred
    (5.4, equation 22).

    centred  "missing": the tables of attributes with missing cells, where the paper needs it; "all": all tables. A
             centred table costs more to prune, as its other parameters no longer compensate for the one left out.
    """

    needs = "passes"
    naive_bayes_only = True

    def __init__(self, centred: Literal["missing", "all"] = "missing") -> None:
        self.centred = centred

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_structure(task)
        counts = task.counts
        check_option("centred", self.centred, ["missing", "all"])
        model = PrunedObjective(counts, centre_all=self.centred == "all")
        with one_blas_thread():
            start = fit_conditional(model)
            pruned = prune(model, start)
        kept = np.bincount(model.attributes, pruned.kept[:-1].sum(axis=1), counts.n_attributes).astype(int)
        logs = model.cells.unpack(pruned.beta, [np.empty(0)] * task.dag.n_nodes)
        network, marginal_difference = choose_equal_network(task, logs)
        trace = PrunedTrace(
            parameters=int(start.kept.sum()),
            kept=int(pruned.kept.sum()),
            kept_by_attribute=dict(zip(counts.names, kept.tolist(), strict=False)),
            objective_start=start.objective,
            objective=pruned.objective,
            marginal_difference=marginal_difference,
        )
        return LearntNetwork(network, trace)


@dataclass(frozen=True)
class Fit:
    """Parameters beta and which of them are kept, (n_cells, n_classes); and CLL+ there."""

    beta: Array
    kept: Flags
    objective: float


def fit_conditional(model: PrunedObjective) -> Fit:
    """cNB: every parameter but those of attributes with one state."""
    kept = np.ones(model.shape, dtype=bool)
    kept[:-1] = model.sizes > 1
    return optimize(model, np.zeros(model.shape), kept)


def prune(model: PrunedObjective, fit: Fit) -> Fit:
    """Leave out parameters one at a time, the others optimised again (Roos et al. 2005, 5.6)."""
    while fit.kept.any():
        kept = fit.kept.copy()
        kept.flat[level(model.gains(fit.beta, kept), SMALLEST_GAIN).argmax()] = False
        shorter = optimize(model, np.where(kept, fit.beta, 0.0), kept)
        if shorter.objective <= fit.objective:
            break
        fit = shorter
    return fit


def optimize(model: PrunedObjective, start: Array, kept: Flags) -> Fit:
    """The maximum of CLL+ over the kept parameters, by L-BFGS where the second derivative along each is about one."""
    if not kept.any():
        return Fit(start, kept, model(start, kept)[0])
    directions = model.directions(kept)
    diagonal = directions.power(2).T @ model.curvature(start, kept).reshape(-1)
    basis = csr_array(directions @ diags_array(1.0 / np.sqrt(diagonal + RIDGE)))

    def place(scaled: Array) -> Array:
        return start + (basis @ scaled).reshape(start.shape)

    def descend(scaled: Array) -> tuple[float, Array]:
        objective, gradient = model(place(scaled), kept)
        return -objective, -(basis.T @ gradient.reshape(-1))

    end = minimize(
        descend,
        np.zeros(basis.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": TOLERANCE, "ftol": 1e-13, "maxiter": 10_000, "maxfun": 100_000},
    )
    return Fit(place(end.x), kept, -float(end.fun))


class PrunedObjective:
    r"""CLL+ = sum_t w_t log P(c_t | x_t) + log prior (Roos et al. 2005, eq. 24 and 25).

    log P(c | x) = beta_c + sum_i beta_{c, x_i} - log sum_c' exp(...), over the attributes i present in the row.
    beta and the mask of kept parameters are (n_cells, n_classes): a row for each state of each attribute, then one for
    the class. A parameter left out is 0. In a centred table beta_{c, i, .} with all r of its parameters,
    sum_k P(x_i = k) beta_{c,i,k} = 0 (eq. 22), P being frequencies; with one left out, that one is the reference.

    Uniform prior (5.5), for each kept parameter by itself: theta (1 - theta), theta = exp(beta) / (1 + exp(beta)). A
    kept parameter costs -log P(beta) >= -log P(0) = log 4, and more the larger it is: there is one finite maximum.

    attributes  (n_cells - 1,) whose state each cell is
    sizes       (n_cells - 1, 1) states of the cell's attribute
    shares      (n_cells - 1, 1) P(x_i = k) among the rows in which x_i is present
    centred     (n_cells - 1, 1) whether the tables of the cell's attribute are centred
    """

    def __init__(self, counts: CountStore, centre_all: bool = False) -> None:
        """`counts` of the rows, and the rows; `centre_all`: not only tables of attributes with missing cells."""
        dag = Dag.augmented_naive_bayes([()] * counts.n_attributes)
        self.cells = ClassCells.of(dag, counts.n_states)
        self.shape = (self.cells.n_cells, self.cells.n_classes)
        self.attributes: Ints = np.repeat(np.arange(counts.n_attributes), self.cells.widths)
        self.sizes = self.cells.sum_states(np.ones(self.shape))[:-1, :1]
        counted = self.cells.pack(counts.tables(dag.families))
        of_attributes = self.cells.sum_states(counted)[:-1].sum(axis=1, keepdims=True)
        self.shares = counted[:-1].sum(axis=1, keepdims=True) / np.maximum(of_attributes, np.finfo(float).tiny)
        self.centred: Flags = (counts.rows.incomplete | centre_all)[self.attributes, np.newaxis]
        self._rows = counts.rows.kept()
        self._loss = Objective(self.cells, self._rows, engine=counts.engine)

    @staticmethod
    def costs(beta: Array) -> Array:
        """-log theta (1 - theta), what a parameter of each value costs."""
        costs: Array = 2.0 * np.logaddexp(0.0, beta) - beta
        return costs

    def __call__(self, beta: Array, kept: Flags) -> tuple[float, Array]:
        """CLL+ and its gradient by every entry of beta."""
        loss, slopes = self._loss(beta)
        return float(-self.costs(beta)[kept].sum()) - loss, kept * (1.0 - 2.0 * expit(beta)) - slopes

    def gains(self, beta: Array, kept: Flags) -> Array:
        """By how much CLL+ rises when one parameter alone is left out; -inf for one that is or cannot be."""
        result = self._rows.sum(partial(removal_gains, cells=self.cells, beta=beta), "gains")
        return np.where(kept, result + self.costs(beta), -np.inf)

    def curvature(self, beta: Array, kept: Flags) -> Array:
        """(n_cells, n_classes) the diagonal of -d2 CLL+ / d beta2."""
        theta = expit(beta)
        of_loss: Array = self._rows.sum(partial(loss_curvature, cells=self.cells, beta=beta), "curvature")
        return of_loss + kept * 2.0 * theta * (1.0 - theta)

    def directions(self, kept: Flags) -> csr_array:
        """(n_cells n_classes, n_kept) how beta may move: a direction per kept parameter, centred where its table is."""
        n_classes = self.shape[1]
        cells, classes = np.nonzero(kept)
        columns = np.zeros(kept.shape, dtype=np.int64)
        columns[cells, classes] = np.arange(len(cells))
        whole = self.centred & (self.cells.sum_states(kept.astype(np.float64))[:-1] == self.sizes)
        members = csr_array((np.ones(len(self.attributes)), (np.arange(len(self.attributes)), self.attributes)))
        one, other = (members @ members.T).nonzero()  # all pairs of cells of the same attribute
        pair, c = np.nonzero(whole[one])
        rows = np.append(cells * n_classes + classes, other[pair] * n_classes + c)
        entries = np.append(np.ones(len(cells)), -self.shares[one[pair], 0])
        places = rows, np.append(columns[cells, classes], columns[one[pair], c])
        return csr_array((entries, places), shape=(kept.size, len(cells)))


def removal_gains(block: EncodedBatch, cells: ClassCells, beta: Array) -> Array:
    """(n_cells, n_classes) by how much sum_t w_t log P(c_t | x_t) rises when one entry of beta alone becomes 0."""
    result = np.zeros(beta.shape)
    for part, members, logs in _parts(block, cells, beta):
        log_others = np.log(np.maximum(-np.expm1(logs), np.finfo(float).tiny))  # log(1 - P(c | x))
        rows = np.repeat(np.arange(part.n_rows), np.diff(members.indptr))
        weights, classes = part.row_weights[rows], part.class_codes[rows]
        for c in range(part.n_classes):
            value = beta[members.indices, c]
            fall = np.logaddexp(log_others[rows, c], logs[rows, c] - value)
            fall += np.where(classes == c, value, 0.0)
            result[:, c] -= np.bincount(members.indices, weights * fall, minlength=len(beta))
    return result


def loss_curvature(block: EncodedBatch, cells: ClassCells, beta: Array) -> Array:
    """(n_cells, n_classes) the diagonal of the second derivatives of -sum_t w_t log P(c_t | x_t)."""
    result = np.zeros(beta.shape)
    for part, members, logs in _parts(block, cells, beta):
        p = np.exp(logs)
        result += members.T @ (part.row_weights[:, np.newaxis] * p * (1.0 - p))
    return result


def _parts(block: EncodedBatch, cells: ClassCells, beta: Array) -> Iterator[tuple[EncodedBatch, csr_array, Array]]:
    """Some rows at a time, the cells they are in, (n_rows, n_cells), and log P(c | x), (n_rows, n_classes)."""
    for first in range(0, block.n_rows, PART_ROWS):
        part = block.take(slice(first, first + PART_ROWS))
        members = indicators(cells, part)
        yield part, members, normalize_log(members @ beta)
