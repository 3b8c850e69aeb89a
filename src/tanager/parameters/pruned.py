"""Pruned: naive Bayes at the maximum of its conditional posterior, without the parameters that do not pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array

from tanager.arrays import Array, Flags
from tanager.parameters.equal_networks import choose_equal_network
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.parameters.pruned_objective import PrunedObjective
from tanager.runtime.resources import one_blas_thread
from tanager.structure.family_terms import level

# Parameters up to which the optimiser knows the whole matrix of second derivatives, and not only its diagonal.
MAX_CELLS_FOR_MATRIX = 1_500
# Iterations after which that matrix is taken to be out of date.
STALE = 8
RIDGE = 1e-3  # keeps the matrix definite along shifts of a centred table, which change nothing
TOLERANCE = 1e-3  # largest scaled gradient; CLL+ is then within about its square per parameter of the maximum
# Of two classes, the parameters of a cell often gain the same but for rounding and for what the optimiser leaves.
SMALLEST_GAIN = 1e-5


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
    parameter, theta (1 - theta) with theta = exp(beta) / (1 + exp(beta)) (`PrunedObjective`). Tables are centred (5.4).

    The parameter whose removal raises CLL+ most, the others as they are, goes; its prior term goes too. Then all
    others are optimised again, from where they were. When no removal gains at once, the least costly is tried; if CLL+
    is not higher after optimising, that step is undone and the search ends. A removed parameter is 0 in the logistic
    form: it says nothing for or against its class. The class's own parameters go in the same way.

    Only for naive Bayes; the rows may have gaps, whose terms are left out.
    """

    needs = "passes"
    naive_bayes_only = True

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_structure(task)
        counts = task.counts
        model = PrunedObjective(counts)
        with one_blas_thread():
            start = Fit.of(model)
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
    """Parameters beta and which of them are kept, (n_cells, n_classes); CLL+ there, and how hard it was to get there.

    curvature: second derivatives of -CLL+ near beta, a square matrix or its diagonal
    """

    beta: Array
    kept: Flags
    objective: float
    curvature: Array
    n_iterations: int

    @classmethod
    def of(cls, model: PrunedObjective) -> Fit:
        """cNB: every parameter but those of attributes with one state."""
        kept = np.ones(model.shape, dtype=bool)
        kept[:-1] = model.sizes > 1
        beta = np.zeros(model.shape)
        return optimize(model, beta, kept, curvature(model, beta, kept))

    def without(self, cell: tuple[np.intp, ...], model: PrunedObjective) -> Fit:
        """One parameter less, the others optimised again."""
        kept = self.kept.copy()
        kept[cell] = False
        beta = np.where(kept, self.beta, 0.0)
        stale = self.n_iterations > STALE
        return optimize(model, beta, kept, curvature(model, beta, kept) if stale else self.curvature)


def prune(model: PrunedObjective, fit: Fit) -> Fit:
    """Leave out parameters one at a time (Roos et al. 2005, 5.6)."""
    while fit.kept.any():
        gains = model.gains(fit.beta, fit.kept)
        best = level(gains, SMALLEST_GAIN).argmax()
        shorter = fit.without(np.unravel_index(best, gains.shape), model)
        if shorter.objective <= fit.objective:
            break
        fit = shorter
    return fit


def curvature(model: PrunedObjective, beta: Array, kept: Flags) -> Array:
    """Second derivatives of -CLL+ by the flattened beta, only those by one entry twice if there are too many."""
    if beta.size > MAX_CELLS_FOR_MATRIX:
        return model.curvature_diagonal(beta, kept).reshape(-1)
    return model.curvature(beta, kept).reshape(beta.size, beta.size)


def optimize(model: PrunedObjective, start: Array, kept: Flags, curved: Array) -> Fit:
    """The maximum of CLL+ over the kept parameters, by L-BFGS in coordinates in which it is nearly round."""
    if not kept.any():
        return Fit(start, kept, model(start, kept)[0], curved, 0)
    basis = _round(model.directions(kept), curved)

    def place(scaled: Array) -> Array:
        return start + (basis @ scaled).reshape(start.shape)

    def descend(scaled: Array) -> tuple[float, Array]:
        objective, gradient = model(place(scaled), kept)
        return -objective, -(basis.T @ gradient.reshape(-1))

    found = minimize(
        descend,
        np.zeros(basis.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": TOLERANCE, "ftol": 1e-13, "maxiter": 10_000, "maxfun": 100_000},
    )
    return Fit(place(found.x), kept, -float(found.fun), curved, int(found.nit))


def _round(directions: csr_array, curved: Array) -> Array | csr_array:
    """Combinations of the directions, (n_cells n_classes, n_kept), along which the second derivative is about one."""
    if curved.ndim == 1:
        diagonal = directions.power(2).T @ curved
        return csr_array(directions @ diags_array(1.0 / np.sqrt(diagonal + RIDGE)))
    inner = directions.T @ (directions.T @ curved).T
    inner[np.diag_indices_from(inner)] += RIDGE
    try:
        root = cholesky(inner)
    except LinAlgError:  # of rows of large weights rounding leaves more than the ridge
        root = np.diag(np.sqrt(np.maximum(inner.diagonal(), RIDGE)))
    result: Array = directions @ solve_triangular(root, np.eye(len(inner)))
    return result
