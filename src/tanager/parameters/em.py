"""Tables that make the observed cells most probable, whatever cells are missing: by EM or along the gradient."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.network.inference.elimination_plan import relevant_nodes
from tanager.parameters.conditional.network_objective import PulledTables, fit_tables, to_beta
from tanager.parameters.expected_counts import IncompleteRows
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.runtime.resources import one_blas_thread
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch

HIDDEN_SEED = 0
# How far, in logs, the tables of a hidden node start from equal shares, where every step is zero.
HIDDEN_SPREAD = 0.5


@dataclass(frozen=True)
class EMTrace(ParameterTrace):
    """How EM climbed.

    log_likelihood  of the observed cells, at the start and after each iteration
    log_posterior   with the pseudo-rows, likewise
    iterations      how many there were
    converged       whether it stopped because too little was left to gain
    rows_with_missing  how many rows were inferred
    """

    log_likelihood: tuple[float, ...]
    log_posterior: tuple[float, ...]
    iterations: int
    converged: bool
    rows_with_missing: int


class EM(ParameterLearner):
    """Expectation maximisation (Dempster, Laird and Rubin 1977; LEM of Zhou 2002, section 3.2.3).

    Each iteration shares every missing cell out over its states as P(cell | observed cells) of the tables so far has it
    (E), and takes the smoothed frequencies of the table so completed (M):

    theta_jk = (E[N_jk] + a_k) / (E[N_j] + sum_k a_k),   a the pseudo-rows of `Frequency`

    It starts from the frequencies of the rows in which a family is observed, `Frequency`. What never falls is the log
    posterior, sum_t w_t log P(cells observed in row t) + sum_jk a_k log theta_jk; with a small `alpha` that is the log
    likelihood. Right if cells are missing at random: whether one is missing may depend on any observed cell, the
    class included, but not on what it would have held. In naive Bayes with every class observed the start is the
    optimum already (Zhou 2002, theorem 4.1). A row without a class helps too: its class is one more missing cell.

    A hidden node, one that is missing in every row, would stay where it starts if all its states were alike there;
    the tables that hold it start at random shares, drawn with a fixed seed, and the optimum may be a local one.

    Complete rows are counted once; only the others are inferred, in parts, so memory does not grow with the rows.

    Parameters
    ----------
    max_iter : int
        Most iterations.
    tol : float
        Rise of the log posterior, in nats per row (by weight), below which it stops: the last rise, or all that are
        still to come if they go on to shrink as the last two did (Aitken), whichever is more. Where few rows have a
        class EM creeps, and single rises say little.
    smoothing : "laplace" or "friedman"
        How pseudo-rows are spread, as in `Frequency`; Friedman's by the node's frequencies where it is present.
    alpha : float or None
        Pseudo-rows: 1 ("laplace") or 5 ("friedman") by default.
    """

    needs = "passes"
    describes_attributes = True
    learns_without_class = True
    learns_hidden = True

    def __init__(
        self, max_iter: int = 500, tol: float = 1e-5, smoothing: str = "laplace", alpha: float | None = None
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.smoothing = smoothing
        self.alpha = alpha

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_iterations()
        pseudo, rows = pseudo_and_rows(task, Frequency(self.smoothing, self.alpha))
        tables = start_tables(task, pseudo, range(task.dag.n_nodes))
        counts, likelihood = rows.expect(tables)
        likelihoods, posteriors = [likelihood], [likelihood + _log_prior(tables, pseudo)]
        converged = rows.n_incomplete == 0
        while not converged and len(posteriors) <= self.max_iter:
            tables = _frequencies(counts, pseudo)
            counts, likelihood = rows.expect(tables)
            likelihoods.append(likelihood)
            posteriors.append(likelihood + _log_prior(tables, pseudo))
            converged = _still_to_come(posteriors[-3:]) < self.tol * rows.total_weight
        if not converged:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations; the log posterior would still rise by about "
                f"{_still_to_come(posteriors[-3:]) / rows.total_weight:.3g} nats per row, more than tol={self.tol:g}. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        trace = EMTrace(tuple(likelihoods), tuple(posteriors), len(posteriors) - 1, converged, rows.n_incomplete)
        return LearntNetwork(task.network(tables), trace)


def _frequencies(counts: Sequence[Array], pseudo: Sequence[Array]) -> tuple[Array, ...]:
    smoothed = (counted + prior for counted, prior in zip(counts, pseudo, strict=True))
    return tuple(cells / cells.sum(axis=1, keepdims=True) for cells in smoothed)


def _still_to_come(values: Sequence[float]) -> float:
    """What a series will still rise by, or has last risen by if that is more: r, r q, r q^2, ... with its last ratio q.

    Of two values q is taken to be 0.999, so only a start at the optimum counts as the end.
    """
    rises = np.diff(values)
    ratio = float(rises[-1] / rises[0]) if len(rises) > 1 and rises[0] > 0 else 0.999
    return float(rises[-1]) * max(1.0, ratio / (1.0 - ratio)) if ratio < 1.0 or rises[-1] <= 0 else np.inf


def _log_prior(tables: Sequence[Array], pseudo: Sequence[Array]) -> float:
    """sum_jk a_k log theta_jk: the log density, but for a constant, of Dirichlet priors with parameters a + 1."""
    return sum(float(xlogy(prior, table).sum()) for prior, table in zip(pseudo, tables, strict=True))


@dataclass(frozen=True)
class LikelihoodGradientTrace(ParameterTrace):
    """How the gradient was followed.

    objective  minus what is maximised, up to a constant, at the start and after each iteration
    passes     over the rows
    """

    objective: tuple[float, ...]
    passes: int


class LikelihoodGradient(EM):
    """Tables that maximise log P(observed cells) + sum pseudo log theta, over all rows and cells.

    pseudo are the pseudo-rows of `Frequency` with the same `smoothing` and `alpha`, so without missing cells the tables
    are its tables, and with them the maximum is the one EM climbs to. It starts where EM starts, and learns from rows
    without a class and of hidden nodes as EM does.

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
        super().__init__(max_iter, tol, smoothing, alpha)

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_iterations()
        by_state, rows = pseudo_and_rows(task, Frequency(self.smoothing, self.alpha))
        objective = Likelihood(task.dag, rows)
        start = start_tables(task, by_state, objective.nodes)
        pseudo = [np.broadcast_to(prior, table.shape) for prior, table in zip(by_state, start, strict=True)]
        with one_blas_thread():
            problem = PulledTables(objective, start, pseudo, rows.expect(start)[0])
            tables, values = fit_tables(problem, start, self.max_iter, self.tol, "LikelihoodGradient")
        return LearntNetwork(task.network(tables), LikelihoodGradientTrace(tuple(values), objective.n_passes))


class Likelihood:
    """- sum_t w_t log P(cells observed in row t), and its gradient by beta, the tables being softmax beta.

    nodes  whose tables some row depends on
    """

    def __init__(self, dag: Dag, rows: IncompleteRows) -> None:
        self._rows = rows
        self.nodes = tuple(sorted(relevant_nodes(dag, np.flatnonzero(rows.observed).tolist())))
        self.n_passes = 0

    def __call__(self, tables: Sequence[Array]) -> tuple[float, tuple[Array, ...]]:
        self.n_passes += 1
        counts, likelihood = self._rows.expect(tables)
        return -likelihood, tuple(to_beta(table, -counted) for table, counted in zip(tables, counts, strict=True))


def pseudo_and_rows(task: ParameterTask, smoothing: Frequency) -> tuple[list[Array], IncompleteRows]:
    """The pseudo-rows of each node, (states,), and the rows with a class and without."""
    sources, more = [task.counts.rows], [np.zeros(n_states) for n_states in task.counts.n_states]
    if task.unlabelled is not None:
        # A state may be seen only in rows without a class, and must not be impossible then.
        sources, more = [*sources, task.unlabelled], task.unlabelled.sum(_rows_by_state, "states")
    pseudo = [smoothing.pseudo_rows(task.counts, family, more=more[family.child]) for family in task.dag.families]
    return pseudo, IncompleteRows(task.dag, sources, task.counts.names)


def start_tables(task: ParameterTask, pseudo: Sequence[Array], nodes: Collection[int]) -> tuple[Array, ...]:
    """Frequencies of the rows in which a family is present; random shares where one of `nodes` has a hidden node."""
    families, n_states = task.dag.families, task.counts.n_states
    hidden, generator = hidden_nodes(task.counts), np.random.default_rng(HIDDEN_SEED)
    tables = []
    for family, counted, prior in zip(families, task.counts.tables(families), pseudo, strict=True):
        cells = counted.reshape(family.shape(n_states)) + prior
        if family.child in nodes and not hidden.isdisjoint(family.nodes):
            cells = cells * np.exp(HIDDEN_SPREAD * generator.normal(size=cells.shape))
        tables.append(cells / cells.sum(axis=1, keepdims=True))
    return tuple(tables)


def hidden_nodes(counts: CountStore) -> set[int]:
    """Attributes of more than one state that no row has a cell of."""
    alone = [Family(node, ()) for node in np.flatnonzero(counts.rows.incomplete).tolist()]
    seen = {family.child for family, table in zip(alone, counts.tables(alone), strict=True) if table.any()}
    return {family.child for family in alone if counts.n_states[family.child] > 1} - seen


def _rows_by_state(batch: EncodedBatch) -> list[Array]:
    """By node, (states,) the sum of the weights of the rows that have it in each state."""
    return [
        np.bincount(batch.column(node), batch.weights, minlength=n_states + 1)[:n_states].astype(np.float64)
        for node, n_states in enumerate(batch.n_states)
    ]
