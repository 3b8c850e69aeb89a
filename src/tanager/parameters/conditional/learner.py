"""Conditional: tables that tell the classes apart best, by descent on a discriminative objective."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.errors import OptionError, SeparationWarning
from tanager.network.network import Network
from tanager.parameters.class_cells import ClassCells, choose_equal_network
from tanager.parameters.conditional.cross_validation import (
    MAX_ROWS_FOR_FOLDS,
    TABLES,
    Chosen,
    Fold,
    HeldOut,
    Strengths,
    choose_iterations,
    choose_strengths,
    split_folds,
)
from tanager.parameters.conditional.descent import (
    DAMPING,
    Certificate,
    Descent,
    describe_descent,
    minimize,
    minimize_closely,
    warn_if_unfinished,
)
from tanager.parameters.conditional.network_objective import GapObjective, count_rows_to_infer
from tanager.parameters.conditional.objectives import MIXED, POWERS, Objective, worth_compiling
from tanager.parameters.conditional.penalized import PRIORS, Penalized
from tanager.parameters.expected_counts import MAX_ROWS_TO_INFER
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.registry import check_option
from tanager.runtime.resources import one_blas_thread
from tanager.structure.dag import Dag, is_perfect_for

DEFAULT_ALPHA = 0.5


class Conditional(ParameterLearner):
    """Tables that minimise a discriminative objective, with a prior.

    Where the canonical form of the structure is perfect (naive Bayes, TAN, ...), the fit is over free numbers beta,
    log P(c | x) = sum of beta over the families - log sum_c' exp(...), in which `cll` has one optimum, and the tables
    are those of the most likely network that classifies so (`choose_equal_network`). For other structures, and for
    mixed objectives, it is over normalised tables, and may end in a local optimum; `trace.optimum` says which.

    Parameters
    ----------
    objective : "cll", "error", "squared", "margin", "mixed" or "mixed-margin"
        What is made small: minus the conditional log likelihood, the expected number of errors, the squared error, a
        hinge on the log odds of the class against all others, or a mixture of the first or the hinge and minus the
        joint log likelihood (`conditional.objectives`). The hinge decides; its probabilities are not calibrated.
    prior : "hierarchical", "generative", "uniform" or None
        What a table is pulled to where the rows say little. "hierarchical": the log table is a sum of a main effect
        of the attribute and effects of it with each set of its parents, each level with its own L2 penalty towards
        zero, so that a family backs off to naive Bayes and naive Bayes to the class frequencies. "generative": L2
        towards the logs of the smoothed frequencies. "uniform": one more row in every entry (Roos et al. 2005).
        The first has the lowest held-out log-loss in `benchmarks/RESULTS.md`; its details were settled on those sets.
    strength : "auto", float or list of float
        The L2 penalty, of each level for "hierarchical" (main effects, pairs, ...; the last number serves all higher
        levels). Infinity is allowed. "auto" walks from strong to weak on three held-out folds (above 10,000 rows:
        fits 5,000 and judges by 5,000 others, by the objective) and takes the strongest that is not clearly worse than
        the best. In every fold the structure, and cut points that see the class, are learnt from its rows alone.
    alpha : float or None
        Share of the joint log likelihood in what is mixed, from 0 (`cll`, `margin`) to 1 (frequencies); None means 0.5.
    stopping : "tolerance" or "cross-tuning"
        When to stop: when little is left to gain, or after the number of iterations that was best on held-out folds.
    max_iter : int
        Most iterations of the optimiser.
    tol : float
        How far P(class | row) of a training row may be from the optimum's. Proved for "cll" on structures of perfect
        canonical form with an L2 prior, likely elsewhere, and likely in the root mean square above 20,000 rows.
        `trace.bound` tells.
    """

    needs = "passes"
    learns_hidden = True
    tunes_hidden = True
    holds_out = True
    bytes_per_cell = MappingProxyType({"tables": 1_800})  # measured: gradients, folds and strengths

    def __init__(
        self,
        objective: str = "cll",
        prior: str | None = "hierarchical",
        strength: str | float | Sequence[float] = "auto",
        alpha: float | None = None,
        stopping: str = "tolerance",
        max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:
        self.objective = objective
        self.prior = prior
        self.strength = strength
        self.alpha = alpha
        self.stopping = stopping
        self.max_iter = max_iter
        self.tol = tol

    def learn(self, task: ParameterTask) -> LearntNetwork:
        fit = ConditionalFit(task, self.fit_options())
        with one_blas_thread():
            return fit.learn()

    def fit_options(self) -> FitOptions:
        """The options with their defaults filled in, or an error that names the wrong one."""
        objective = check_option("objective", self.objective, POWERS)
        prior = check_option("prior", "none" if self.prior is None else self.prior, PRIORS)
        stopping = check_option("stopping", self.stopping, ["tolerance", "cross-tuning"])
        alpha = DEFAULT_ALPHA if self.alpha is None else self.alpha
        if not 0.0 <= alpha <= 1.0:
            raise OptionError(f"alpha={alpha!r} of Conditional must be a number from 0 to 1.")
        if objective in MIXED and prior == "hierarchical":
            raise OptionError(
                f"prior='hierarchical' is not defined for objective={objective!r}: it pulls to equal shares.",
                hint="use prior='generative' or prior='uniform'.",
            )
        if not self.max_iter > 0 or not self.tol > 0:
            raise OptionError(
                f"max_iter={self.max_iter!r} and tol={self.tol!r} of Conditional must be numbers above zero."
            )
        return FitOptions(objective, prior, self._strengths(prior), alpha, stopping, self.max_iter, self.tol)

    def _strengths(self, prior: str) -> tuple[float, ...] | None:
        """The strengths given, or None for those to be chosen."""
        if self.strength == "auto":
            return None if prior in ("generative", "hierarchical") else ()
        if isinstance(self.strength, str):
            check_option("strength", self.strength, ["auto"])
        if prior in ("none", "uniform"):
            raise OptionError(f"strength={self.strength!r} has no meaning for prior={self.prior!r}, which has none.")
        strengths = tuple(np.atleast_1d(np.asarray(self.strength, dtype=np.float64)).tolist())
        if not strengths or not all(strength > 0 for strength in strengths):
            raise OptionError(f"strength={self.strength!r} of Conditional must be above zero, or 'auto'.")
        return strengths


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


@dataclass(frozen=True)
class ConditionalTrace(ParameterTrace):
    """A choice of strengths on held-out folds, then a descent on all rows.

    strength             of each level of the prior
    held_out             mean held-out loss of all strengths tried, in the order in which they were
    objective            penalised loss at the start and after each iteration
    gradient_norm        of the scaled gradient, likewise
    passes               over all rows
    passes_on_folds      over the rows of folds
    end                  why the descent stopped
    optimum              "global within so many nats"; "global, how near is not known" where there is only one but no
                         bound; else "maybe local"
    bound                nats by which the objective can be above the global optimum at most; None if not known
    p_bound              how far P(class | row) of a training row can be from that at the optimum at most
    p_rms_bound          the same in the root mean square over the training rows
    by_iteration         mean held-out loss after 0, 1, ... iterations, for stopping="cross-tuning"
    marginal_difference  of the tables' class-free marginals from those of the rows, the largest; None where they are
                         not made to agree
    """

    strength: Strengths
    held_out: tuple[tuple[Strengths, float], ...]
    objective: tuple[float, ...]
    gradient_norm: tuple[float, ...]
    passes: int
    passes_on_folds: int
    end: str
    optimum: str
    bound: float | None = None
    p_bound: float | None = None
    p_rms_bound: float | None = None
    by_iteration: tuple[float, ...] = ()
    marginal_difference: float | None = None


TOLERANCE = 1e-5


class FittedLikelihood:
    """max over the tables of sum_t w_t log P(c_t | x_t), by `Conditional(prior=None)`: a fit for each structure."""

    def __init__(self, counts: CountStore) -> None:
        self._counts = counts

    def __call__(self, dag: Dag) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)  # a search tries structures that fit the rows exactly
            learnt = Conditional(prior=None, tol=TOLERANCE).learn(ParameterTask(dag, self._counts))
        return -cast(ConditionalTrace, learnt.trace).objective[-1]
