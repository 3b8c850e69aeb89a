"""EM: tables that make the cells present most probable, whatever cells and classes are missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning

from tanager.counts.engine import choose_engine
from tanager.errors import OptionError
from tanager.network.evidence_rows import distinct_rows
from tanager.network.junction_tree import JunctionTree
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntTables, ParameterLearner, ParameterTask
from tanager.table.batch import Codes, EncodedBatch

Array = NDArray[np.float64]
Tables = Sequence[Array]


@dataclass(frozen=True)
class PartlyLabelledTask(ParameterTask):
    """A task with rows whose class is missing beside those counted; their class codes all say missing."""

    unlabelled: EncodedBatch


class EM(ParameterLearner):
    """Expectation maximisation (Dempster, Laird and Rubin 1977; LEM of Zhou 2002, section 3.2.3).

    Each iteration shares every missing cell out over its states as P(cell | cells present) of the tables so far has it
    (E), and takes the smoothed frequencies of the table so completed (M):

    theta_jk = (E[N_jk] + a_k) / (E[N_j] + sum_k a_k),   a the pseudo-rows of `Frequency`

    It starts from the frequencies of the rows in which a family is present, `Frequency`. What never falls is the log
    posterior, sum_t w_t log P(cells present in row t) + sum_jk a_k log theta_jk; with a small `alpha` that is the log
    likelihood. Right if cells are missing at random: whether one is missing may depend on any cell that is present,
    the class included, but not on what it would have held. In naive Bayes with every class present the start is the
    optimum already (Zhou 2002, theorem 4.1). A row without a class helps too: its class is one more missing cell.

    Complete rows are counted once; only the others are inferred, equal ones once, and in blocks.

    Parameters
    ----------
    max_iter : int
        Most iterations.
    tol : float
        Rise of the log posterior, in nats per row (by weight), below which it stops.
    smoothing : "laplace" or "friedman"
        How pseudo-rows are spread, as in `Frequency`; Friedman's by the node's frequencies where it is present.
    alpha : float or None
        Pseudo-rows: 1 ("laplace") or 5 ("friedman") unless given.

    The trace tells `log_likelihood` and `log_posterior` of the start and after each iteration, `iterations`,
    `converged`, and how many rows were inferred, `rows_with_gaps`.
    """

    def __init__(
        self, max_iter: int = 200, tol: float = 1e-5, smoothing: str = "laplace", alpha: float | None = None
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.smoothing = smoothing
        self.alpha = alpha

    def learn(self, task: ParameterTask) -> LearntTables:
        if not self.max_iter > 0 or not self.tol > 0:
            raise OptionError(f"max_iter={self.max_iter!r} and tol={self.tol!r} of EM must be numbers above zero.")
        pseudo_rows = self._pseudo_rows(task)
        tables = _frequencies(_available_counts(task), pseudo_rows)
        rows = _Rows.of(task)
        if rows is None:
            likelihood = sum(float(xlogy(n, p).sum()) for n, p in zip(_available_counts(task), tables, strict=True))
            return LearntTables(tables, _trace([likelihood], [likelihood + _log_prior(tables, pseudo_rows)], True, 0))
        counts, likelihood = rows.expect(tables)
        likelihoods, posteriors = [likelihood], [likelihood + _log_prior(tables, pseudo_rows)]
        converged = False
        while not converged and len(posteriors) <= self.max_iter:
            tables = _frequencies(counts, pseudo_rows)
            counts, likelihood = rows.expect(tables)
            likelihoods.append(likelihood)
            posteriors.append(likelihood + _log_prior(tables, pseudo_rows))
            converged = posteriors[-1] - posteriors[-2] < self.tol * rows.total_weight
        if not converged:
            self._warn((posteriors[-1] - posteriors[-2]) / rows.total_weight)
        return LearntTables(tables, _trace(likelihoods, posteriors, converged, rows.n_with_gaps))

    def _pseudo_rows(self, task: ParameterTask) -> list[Array]:
        """(states,) of each node."""
        smoothing = Frequency(self.smoothing, self.alpha)
        return [smoothing.pseudo_rows(task.counts, family) for family in task.dag.families]

    def _warn(self, last_rise: float) -> None:
        warnings.warn(
            f"EM stopped after max_iter={self.max_iter} iterations; the last raised the log posterior by "
            f"{last_rise:.3g} nats per row, more than tol={self.tol:g}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


@dataclass(frozen=True)
class _Rows:
    """The rows in the form every iteration wants them.

    complete      the counts of the complete rows, (parent configurations, states) by node
    codes         (kinds of rows with gaps, nodes), the class last
    weights       (kinds,) the weight of all rows of each kind
    n_with_gaps   how many rows these are
    total_weight  of all rows
    """

    complete: tuple[Array, ...]
    tree: JunctionTree
    codes: Codes
    weights: Array
    n_with_gaps: int
    total_weight: float

    @classmethod
    def of(cls, task: ParameterTask) -> _Rows | None:
        """None where every row is complete."""
        batch, n_states = task.counts.batch, task.counts.n_states
        gaps = np.zeros(batch.n_rows, dtype=bool)
        for node in np.flatnonzero(batch.incomplete).tolist():
            gaps |= batch.column(node) == n_states[node]
        parts = [_take(batch, gaps)]
        if isinstance(task, PartlyLabelledTask):
            parts.append(task.unlabelled)
        codes = np.concatenate([np.column_stack([part.codes, part.class_codes]) for part in parts])
        if not len(codes):
            return None
        weights = np.concatenate([_weights(part) for part in parts])
        first, kind = distinct_rows(codes, range(len(n_states)))
        known = np.flatnonzero((codes < np.array(n_states)).all(axis=0)).tolist()
        whole = _take(batch, ~gaps)
        counted = choose_engine("auto").count(whole, [family.nodes for family in task.dag.families])
        complete = (
            np.asarray(own, dtype=np.float64).reshape(family.shape(n_states))
            for own, family in zip(counted, task.dag.families, strict=True)
        )
        return cls(
            tuple(complete),
            JunctionTree.of(task.dag, n_states, known=known, names=task.counts.names),
            codes[first],
            np.bincount(kind, weights).astype(np.float64),
            len(codes),
            float(weights.sum() + _weights(whole).sum()),
        )

    def expect(self, tables: Tables) -> tuple[list[Array], float]:
        """Expected counts of every family, and the log likelihood of the cells present."""
        expected = self.tree.expected_counts(tables, self.codes, self.weights)
        likelihood = float(self.weights @ expected.log_evidence)
        likelihood += sum(float(xlogy(n, p).sum()) for n, p in zip(self.complete, tables, strict=True))
        return [own + shared for own, shared in zip(self.complete, expected.tables, strict=True)], likelihood


def _take(batch: EncodedBatch, rows: NDArray[np.bool_]) -> EncodedBatch:
    """Some of the rows; `incomplete` as they have it, none for complete rows."""
    codes = np.asfortranarray(batch.codes[rows])
    incomplete = (codes == np.array(batch.n_states[:-1])).any(axis=0)
    weights = None if batch.weights is None else batch.weights[rows]
    return EncodedBatch(codes, batch.class_codes[rows], batch.n_states, incomplete, weights)


def _weights(batch: EncodedBatch) -> Array:
    return np.ones(batch.n_rows) if batch.weights is None else batch.weights


def _available_counts(task: ParameterTask) -> list[Array]:
    """Counts of each family over the rows in which it is present, (parent configurations, states)."""
    counted = task.counts.tables(task.dag.families)
    return [
        np.asarray(own, dtype=np.float64).reshape(family.shape(task.counts.n_states))
        for own, family in zip(counted, task.dag.families, strict=True)
    ]


def _frequencies(counts: Sequence[Array], pseudo_rows: Sequence[Array]) -> tuple[Array, ...]:
    smoothed = (own + prior for own, prior in zip(counts, pseudo_rows, strict=True))
    return tuple(cells / cells.sum(axis=1, keepdims=True) for cells in smoothed)


def _log_prior(tables: Tables, pseudo_rows: Sequence[Array]) -> float:
    """sum_jk a_k log theta_jk: the log density, but for a constant, of Dirichlet priors with parameters a + 1."""
    return sum(float(xlogy(prior, table).sum()) for prior, table in zip(pseudo_rows, tables, strict=True))


def _trace(
    likelihoods: list[float], posteriors: list[float], converged: bool, rows_with_gaps: int
) -> dict[str, object]:
    return {
        "log_likelihood": likelihoods,
        "log_posterior": posteriors,
        "iterations": len(posteriors) - 1,
        "converged": converged,
        "rows_with_gaps": rows_with_gaps,
    }
