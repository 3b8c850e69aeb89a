"""LikelihoodGradient: tables of greatest likelihood from rows with gaps, by gradient descent (LGD)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tanager.errors import OptionError
from tanager.parameters.conditional.network_fit import Array, PulledTables, fit_tables, warn_if_unfinished
from tanager.parameters.conditional.network_objectives import NetworkObjective
from tanager.parameters.em import PartlyLabelledTask
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntTables, ParameterLearner, ParameterTask

HIDDEN_SEED = 0
# How far the tables of a hidden node start from equal shares, where the gradient is zero.
HIDDEN_SPREAD = 0.5


class LikelihoodGradient(ParameterLearner):
    """Tables that maximise log P(cells present) + sum pseudo log theta, over all rows and cells.

    pseudo are the pseudo-rows of `Frequency` with the same `smoothing` and `alpha`, so with no gap the tables are its
    tables, and with gaps the maximum is the one EM climbs to. The fit starts at the smoothed frequencies of the cells
    present. A family with a hidden node, one that is missing in every row, starts at random shares, drawn with a fixed
    seed; there the maximum may be a local one. A row without a class helps too: its class is one more missing cell.

    The trace has the `objective`, minus what is maximised up to a constant, at the start and after each iteration, the
    number of `passes` over the rows, and why it came to an `end`.

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

    def __init__(
        self, smoothing: str = "laplace", alpha: float | None = None, max_iter: int = 500, tol: float = 1e-6
    ) -> None:
        self.smoothing = smoothing
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def learn(self, task: ParameterTask) -> LearntTables:
        if not self.max_iter > 0 or not self.tol > 0:
            raise OptionError(
                f"max_iter={self.max_iter!r} and tol={self.tol!r} of LikelihoodGradient must be numbers above zero."
            )
        codes, weights = _all_rows(task)
        objective = NetworkObjective(
            task.dag, task.counts.n_states, codes, weights=weights, name="ll", names=task.counts.names
        )
        pseudo = self._pseudo_rows(task)
        start = _start(task, pseudo, objective.nodes)
        with threadpool_limits(1, "blas"):  # its threads and ours would wait for each other
            problem = PulledTables(objective, start, pseudo, objective.expected_counts(start))
            fit = fit_tables(problem, np.zeros(problem.size), self.max_iter, self.tol)
        warn_if_unfinished(fit, "LikelihoodGradient", self.max_iter)
        return LearntTables(fit.tables, {"objective": fit.values, "passes": objective.n_passes, "end": fit.end})

    def _pseudo_rows(self, task: ParameterTask) -> list[Array]:
        """In every cell."""
        smoothing, n_states = Frequency(self.smoothing, self.alpha), task.counts.n_states
        return [
            np.tile(smoothing.pseudo_rows(task.counts, family), (family.shape(n_states)[0], 1))
            for family in task.dag.families
        ]


def _all_rows(task: ParameterTask) -> tuple[NDArray[np.unsignedinteger], Array]:
    """Codes (n_rows, n_nodes), the class last, and weights; rows without a class too, where the task has them."""
    parts = [task.counts.rows]
    if isinstance(task, PartlyLabelledTask):
        parts.append(task.unlabelled)
    codes = np.concatenate([np.column_stack([part.codes, part.class_codes]) for part in parts])
    weights = np.concatenate([np.ones(part.n_rows) if part.weights is None else part.weights for part in parts])
    return codes, weights


def _start(task: ParameterTask, pseudo: list[Array], needed: Collection[int]) -> tuple[Array, ...]:
    """Smoothed frequencies of the rows in which a family is present, uneven for families with a hidden node."""
    batch, families = task.counts.rows, task.dag.families
    hidden = {node for node in needed if (batch.column(node) >= batch.n_states[node]).all()}
    generator = np.random.default_rng(HIDDEN_SEED)
    tables = []
    for family, counted, prior in zip(families, task.counts.tables(families), pseudo, strict=True):
        cells = counted.reshape(prior.shape) + prior
        if not hidden.isdisjoint(family.nodes) and family.child in needed:
            cells = cells * np.exp(HIDDEN_SPREAD * generator.normal(size=cells.shape))
        tables.append(cells / cells.sum(axis=1, keepdims=True))
    return tuple(tables)
