"""One run of `Conditional`: choose strengths, descend, and turn log tables into tables that sum to one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.errors import SeparationWarning
from tanager.network.network import Network
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.cross_tuning import choose_iterations
from tanager.parameters.conditional.descent import (
    DAMPING,
    Certificate,
    Descent,
    describe_descent,
    minimize,
    minimize_closely,
    warn_if_unfinished,
)
from tanager.parameters.conditional.gap_objective import MAX_ROWS_TO_INFER, GapObjective, count_rows_to_infer
from tanager.parameters.conditional.held_out import Fold, HeldOut, split_folds
from tanager.parameters.conditional.losses import MIXED
from tanager.parameters.conditional.objectives import Objective, worth_compiling
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.conditional.priors import PRIORS
from tanager.parameters.conditional.strengths import MAX_ROWS_FOR_FOLDS, TABLES, Chosen, choose_strengths
from tanager.parameters.conditional.trace import ConditionalTrace
from tanager.parameters.equal_networks import choose_equal_network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterTask
from tanager.structure.dag import Dag, is_perfect_for

# Without a prior no entry goes further than this from its start: odds of exp(30) are certainty.
BOUND = 30.0
FOLD_SEED = 0
SMALLEST = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class FitOptions:
    """The options of `Conditional`, checked; `strengths` None means to be chosen."""

    objective: str
    prior: str
    strengths: tuple[float, ...] | None
    alpha: float
    stopping: str
    max_iter: int
    tol: float


class ConditionalFit:
    """The problem of one training table, and of parts of it."""

    def __init__(self, task: ParameterTask, options: FitOptions) -> None:
        self._task = task
        self._options = options
        self._alpha = options.alpha if options.objective in MIXED else 0.0
        self._cells = ClassCells.of(task.dag, task.counts.n_states)
        self._compiled = worth_compiling(self._cells, task.counts.rows)  # for all rows, then for parts of them too
        self._incomplete = bool(task.counts.rows.incomplete.any())
        self._normalized = self._normalizes(task.dag)

    def learn(self) -> LearntNetwork:
        problem = self._problem(self._task, self._cells, self._infers_gaps())
        chosen, start = self._choose_strengths(problem)
        problem.set_strengths(chosen.strengths, DAMPING)
        if self._task.report is not None:
            self._task.report(f"strengths {chosen.strengths} after {chosen.n_passes} passes over held-out folds")
        by_iteration: tuple[float, ...] = ()
        if self._options.stopping == "cross-tuning":
            n_iterations, by_iteration = self._choose_iterations(chosen)
            descent = minimize(problem, problem.zero, n_iterations, 0.0)
        else:
            bound = BOUND if problem.free else np.inf
            descent = minimize_closely(problem, start, self._options.max_iter, self._options.tol, bound)
            self._warn(descent, problem)
        if self._task.report is not None:
            self._task.report(describe_descent(descent, problem.n_passes))
        network, marginal_difference = self._network(problem.beta(descent.u))
        least_weight = self._task.counts.rows.outline.least_weight
        of_p = self._options.objective == "cll"
        certificate = Certificate.of(problem.convex, descent.bound, problem.n_rows, least_weight, of_p)
        trace = ConditionalTrace(
            strength=chosen.strengths,
            held_out=tuple(chosen.losses.items()),
            objective=tuple(descent.values),
            gradient_norm=tuple(descent.gradient_norms),
            passes=problem.n_passes,
            passes_on_folds=chosen.n_passes,
            end=descent.end,
            optimum=certificate.optimum,
            bound=certificate.bound,
            p_bound=certificate.p_bound,
            p_rms_bound=certificate.p_rms_bound,
            by_iteration=by_iteration,
            marginal_difference=marginal_difference,
        )
        return LearntNetwork(network, trace)

    def _normalizes(self, dag: Dag) -> bool:
        """Whether the fit is over normalised tables.

        Free numbers can be made into tables only where the canonical form is perfect (Roos 2005, theorem 3). What is
        mixed speaks of P(x), and leaving out a missing cell is summing over it only if its states sum to one.
        """
        return self._options.objective in MIXED or self._incomplete or not is_perfect_for(dag, dag.n_nodes - 1)

    def _infers_gaps(self) -> bool:
        """Whether gaps are summed out by inference in the fit on all rows; on folds their families are left out.

        Folds by inference too would gain half as much again, and take ten times as long.
        """
        if self._task.skip_gaps:
            return False
        return 0 < count_rows_to_infer(self._task.dag, self._task.counts.rows) <= MAX_ROWS_TO_INFER

    def _problem(self, task: ParameterTask, cells: ClassCells, infer_gaps: bool = False) -> Penalized:
        counts = cells.pack(task.counts.tables(task.dag.families))
        prior = PRIORS[self._options.prior](task, cells)
        if self._options.objective != "cll" and self._options.prior == "hierarchical":
            # Left to itself it would not be the class frequency: fewest errors are expected from certainty.
            prior = prior.with_intercept()
        name, alpha, normalized = self._options.objective, self._alpha, self._normalizes(task.dag)
        if infer_gaps:
            objective: Objective = GapObjective(cells, task, name, alpha)
        else:
            rows, engine = task.counts.rows, task.counts.engine
            objective = Objective(cells, rows, name, normalized, alpha, counts, self._compiled, engine)
        mirrored = cells.n_classes == 2 and not normalized and prior.log_entries == 0.0
        return Penalized(cells, objective, prior, counts.sum(axis=1), mirrored)

    def _folds(self, most_rows: int) -> list[Fold]:
        folds = []
        for part, rest in split_folds(self._task, most_rows, FOLD_SEED):
            cells = ClassCells.of(part.dag, part.counts.n_states)
            problem = self._problem(part, cells)
            held_out = HeldOut(cells, rest, self._normalizes(part.dag), self._options.objective, self._alpha)
            folds.append(Fold(problem, problem.zero, held_out))
        return folds

    def _choose_strengths(self, problem: Penalized) -> tuple[Chosen, Array]:
        """The strengths, and effects to start from: what the folds agree on, where their tables are these."""
        if self._options.strengths is not None:
            return Chosen(self._options.strengths), problem.zero
        folds = self._folds(MAX_ROWS_FOR_FOLDS)
        chosen = choose_strengths(folds, TABLES)
        # Effects of more attributes than in any fold were never judged.
        absent = (np.inf,) * problem.n_levels
        chosen.strengths = (*chosen.strengths, *absent)[: problem.n_levels]
        alike = all(fold.held_out.cells == self._cells for fold in folds)
        return chosen, np.mean([fold.u for fold in folds], axis=0) if alike else problem.zero

    def _choose_iterations(self, chosen: Chosen) -> tuple[int, tuple[float, ...]]:
        folds = self._folds(self._task.counts.rows.n_rows)
        for fold in folds:
            fold.problem.set_strengths(chosen.strengths)
        n_iterations, means = choose_iterations(folds, self._options.max_iter)
        return n_iterations, tuple(means)

    def _warn(self, descent: Descent, problem: Penalized) -> None:
        warn_if_unfinished(descent, self._options.max_iter)
        least = self._task.counts.rows.outline.least_weight
        # Below log 2 in all, each row has more than half of its probability on its class.
        separated = self._options.objective == "cll" and descent.values[-1] < np.log(2.0) * (
            1.0 if least is None else least
        )
        if problem.free and (separated or descent.end == "bound"):
            warnings.warn(
                "some classes can be told apart without error, so without a prior the best tables are at infinity; "
                f"the fit stopped with log entries at most {BOUND:g} from the smoothed frequencies. Use a prior.",
                SeparationWarning,
                stacklevel=2,
            )

    def _network(self, beta: Array) -> tuple[Network, float | None]:
        """The network, and how far its class-free marginals are from the rows' where they are made to agree."""
        task, cells = self._task, self._cells
        others = Frequency().tables(task)
        if self._options.objective not in MIXED:
            logs = cells.log_normalize(beta) if self._normalized else beta
            return choose_equal_network(task, cells.unpack(logs, [np.log(np.maximum(t, SMALLEST)) for t in others]))
        if self._options.prior == "none":
            counts = task.counts.tables(task.dag.families)
            others = tuple(_plain_frequencies(own.reshape(-1, own.shape[-1])) for own in counts)
        return task.network(cells.unpack(np.exp(cells.log_normalize(beta)), others)), None


def _plain_frequencies(counted: NDArray[np.number]) -> Array:
    """Frequencies without smoothing; equal shares where there is no row."""
    total = counted.sum(axis=1, keepdims=True)
    return np.where(total > 0, counted / np.maximum(total, SMALLEST), 1.0 / counted.shape[1])
