"""Fit the tables of any network: a network objective plus pseudo-rows, by L-BFGS over softmax tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tanager.arrays import Array
from tanager.network.inference.junction_tree import Tables
from tanager.parameters.conditional.lbfgs import walk_down
from tanager.parameters.conditional.network_objectives import to_beta


class TableObjective(Protocol):
    """A loss at tables and its gradient by beta, theta = softmax beta; `nodes` are those whose tables it looks at."""

    nodes: tuple[int, ...]

    def __call__(self, tables: Tables) -> tuple[float, tuple[Array, ...]]: ...


@dataclass
class NetworkFit:
    """Tables of all nodes, and the penalised loss at the start and after each step.

    `end` says why it stopped: "tolerance", "max_iter", or "precision" when no step lowered the loss any more.
    """

    tables: tuple[Array, ...]
    values: list[float] = field(default_factory=list)
    end: str = "max_iter"


class PulledTables:
    """objective - sum over cells of pseudo log(theta / centre) by a vector v, where beta = log centre + v scale.

    centre  tables where v = 0; a zero in them stays zero, and a node the objective does not depend on stays as it is
    pseudo  rows the prior adds to each cell of each table; zero where the centre is
    rows    in each cell of the tables the objective depends on, by node: the scale of a cell is (pseudo + rows)^-1/2,
            with a row at least
    """

    def __init__(
        self, objective: TableObjective, centre: Tables, pseudo: Sequence[Array], rows: dict[int, Array] | Tables
    ) -> None:
        self._objective = objective
        self._centre = tuple(centre)
        self._pseudo = pseudo
        with np.errstate(divide="ignore"):
            self._log_centre = [np.log(table) for table in centre]
        self._free = {node: centre[node] > 0 for node in objective.nodes}
        self._scale = {
            node: 1.0 / np.sqrt((pseudo[node] + np.maximum(rows[node], 1.0))[self._free[node]])
            for node in objective.nodes
        }
        self._ends = np.cumsum([len(scale) for scale in self._scale.values()])

    @property
    def size(self) -> int:
        return int(self._ends[-1])

    def tables(self, vector: Array) -> tuple[Array, ...]:
        """The tables of all nodes at v."""
        result = list(self._centre)
        for node, part in zip(self._free, np.split(vector, self._ends[:-1]), strict=True):
            beta = self._log_centre[node].copy()
            beta[self._free[node]] += part * self._scale[node]
            theta = np.exp(beta - beta.max(axis=1, keepdims=True))
            result[node] = theta / theta.sum(axis=1, keepdims=True)
        return tuple(result)

    def vector(self, tables: Tables) -> Array:
        """A v at which the tables are these."""
        parts = []
        for node, free in self._free.items():
            change = np.log(tables[node][free]) - self._log_centre[node][free]
            parts.append(change / self._scale[node])
        return np.concatenate(parts)

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Value and gradient by v."""
        tables = self.tables(vector)
        value, gradient = self._objective(tables)
        parts = []
        for node, free in self._free.items():
            table, pseudo = tables[node], self._pseudo[node]
            with np.errstate(divide="ignore"):  # an entry that underflowed costs infinity, and is stepped back from
                value -= float(pseudo[free] @ (np.log(table[free]) - self._log_centre[node][free]))
            parts.append((gradient[node] - to_beta(table, pseudo))[free] * self._scale[node])
        return value, np.concatenate(parts)


def fit_tables(problem: PulledTables, start: Array, max_iter: int, tol: float) -> NetworkFit:
    """Descend from v until half the squared norm of the scaled gradient is at most `tol` times the loss."""
    fit = NetworkFit(problem.tables(start))
    for vector, value, gradient in walk_down(problem, start, max_iter):
        fit.tables = problem.tables(vector)
        fit.values.append(value)
        if 0.5 * float(gradient @ gradient) <= tol * abs(value):
            fit.end = "tolerance"
            break
    if fit.end == "max_iter" and len(fit.values) <= max_iter:
        fit.end = "precision"
    return fit


def warn_if_unfinished(fit: NetworkFit, what: str, max_iter: int) -> None:
    if fit.end == "max_iter":
        warnings.warn(
            f"{what} stopped after {max_iter} iterations, before the tables had settled; the loss fell from "
            f"{fit.values[0]:.6g} to {fit.values[-1]:.6g}, by {fit.values[-2] - fit.values[-1]:.2g} in the last one.",
            ConvergenceWarning,
            stacklevel=3,
        )
