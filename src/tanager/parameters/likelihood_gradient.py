"""LikelihoodGradient: tables of greatest likelihood from rows with gaps, by gradient descent (LGD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array
from tanager.errors import OptionError
from tanager.network.inference.elimination_plan import relevant_nodes
from tanager.parameters.conditional.network_fit import PulledTables, fit_tables, warn_if_unfinished
from tanager.parameters.conditional.network_objectives import to_beta
from tanager.parameters.frequency import Frequency
from tanager.parameters.gap_rows import GapRows
from tanager.parameters.likelihood_start import all_rows, pseudo_rows, start_tables
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.runtime.resources import one_blas_thread
from tanager.structure.dag import Dag


@dataclass(frozen=True)
class LikelihoodGradientTrace(ParameterTrace):
    """How the gradient was followed.

    objective  minus what is maximised, up to a constant, at the start and after each iteration
    passes     over the rows
    end        why it stopped: "tolerance", "max_iter", or "precision" when no step lowered the objective any more
    """

    objective: tuple[float, ...]
    passes: int
    end: str


class LikelihoodGradient(ParameterLearner):
    """Tables that maximise log P(cells present) + sum pseudo log theta, over all rows and cells.

    pseudo are the pseudo-rows of `Frequency` with the same `smoothing` and `alpha`, so with no gap the tables are its
    tables, and with gaps the maximum is the one EM climbs to. The fit starts at the smoothed frequencies of the cells
    present. A family with a hidden node, one that is missing in every row, starts at random shares, drawn with a fixed
    seed; there the maximum may be a local one. A row without a class helps too: its class is one more missing cell.

    Parameters
    ----------
    smoothing : "laplace" or "friedman"
    alpha : float or None
        As for `Frequency`.
    max_iter : int
        Most iterations of the optimiser.
    tol : float
        What may be left to gain, as a share of the objective.
    """

    needs = "passes"
    describes_attributes = True
    learns_without_class = True
    learns_hidden = True

    def __init__(
        self, smoothing: str = "laplace", alpha: float | None = None, max_iter: int = 500, tol: float = 1e-6
    ) -> None:
        self.smoothing = smoothing
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def learn(self, task: ParameterTask) -> LearntNetwork:
        if not self.max_iter > 0 or not self.tol > 0:
            raise OptionError(
                f"max_iter={self.max_iter!r} and tol={self.tol!r} of LikelihoodGradient must be numbers above zero."
            )
        by_state = pseudo_rows(task, Frequency(self.smoothing, self.alpha))
        rows = GapRows(task.dag, all_rows(task), task.counts.names)
        objective = Likelihood(task.dag, rows)
        start = start_tables(task, by_state, objective.nodes)
        pseudo = [np.broadcast_to(prior, table.shape) for prior, table in zip(by_state, start, strict=True)]
        with one_blas_thread():
            problem = PulledTables(objective, start, pseudo, rows.expect(start)[0])
            fit = fit_tables(problem, np.zeros(problem.size), self.max_iter, self.tol)
        warn_if_unfinished(fit, "LikelihoodGradient", self.max_iter)
        trace = LikelihoodGradientTrace(tuple(fit.values), objective.n_passes, fit.end)
        return LearntNetwork(task.network(fit.tables), trace)


class Likelihood:
    """- sum_t w_t log P(cells present in row t), and its gradient by beta, the tables being softmax beta.

    nodes  whose tables some row depends on
    """

    def __init__(self, dag: Dag, rows: GapRows) -> None:
        self._rows = rows
        self.nodes = tuple(sorted(relevant_nodes(dag, np.flatnonzero(rows.seen).tolist())))
        self.n_passes = 0

    def __call__(self, tables: Sequence[Array]) -> tuple[float, tuple[Array, ...]]:
        self.n_passes += 1
        counts, likelihood = self._rows.expect(tables)
        return -likelihood, tuple(to_beta(table, -counted) for table, counted in zip(tables, counts, strict=True))
