"""Conditional: tables that tell the classes apart best, by descent on a discriminative objective."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    FOLD_MAX_ITER,
    FOLD_TOLERANCE,
    MAX_ROWS_FOR_FOLDS,
    Chosen,
    Fold,
    Strengths,
    choose_iterations,
    choose_strengths,
    split_folds,
)
from tanager.parameters.conditional.descent import DAMPING, Descent, best_start, is_lower_at, minimize, minimize_closely
from tanager.parameters.conditional.network_objective import MissingObjective, count_rows_to_infer
from tanager.parameters.conditional.objectives import MIXED, POWERS, Objective, worth_compiling
from tanager.parameters.conditional.penalized import PRIORS, Penalized
from tanager.parameters.expected_counts import MAX_ROWS_TO_INFER
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.registry import check_option
from tanager.runtime.resources import one_blas_thread
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag, is_perfect_for
from tanager.table.folds import in_canonical_order

# Without a prior no entry goes further than this from its start: odds of exp(30) are certainty.
BOUND = 30.0
FOLD_SEED = 0
SMALLEST = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class ConditionalTrace(ParameterTrace):
    """A choice of strengths on validation folds, then a descent on all rows.

    strength             of each level of the prior
    held_out             mean validation loss of all strengths tried, in the order in which they were
    objective            penalised loss at the start and after each iteration
    gradient_norm        of the scaled gradient, likewise
    passes               over all rows
    passes_on_folds      over the rows of folds
    end                  why the descent stopped
    optimum              "global within so many nats"; "global, how near is not known" where there is only one but no
                         bound; "local, the best of so many starts" or "at infinity, ..." where the largest effect would
                         go on to the bound; "saddle"; else "maybe local". "without effects, ..." where there may be
                         several optima and the strengths are infinite; "not sought, ..." for stopping="cross-tuning"
    bound                nats by which the objective can be above the global optimum at most; None if not known
    p_bound              how far P(class | row) of a training row can be from that at the optimum at most
    by_iteration         mean validation loss after 0, 1, ... iterations, for stopping="cross-tuning"
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
    by_iteration: tuple[float, ...] = ()
    marginal_difference: float | None = None


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
        The latter count from the prior's centre or the frequencies (a saddle there is left before), so few rows can
        stop them far above every optimum.
    max_iter : int
        Most iterations of the optimiser.
    tol : float
        How far P(class | row) of a training row may be from the optimum's. Proved for "cll" on structures of perfect
        canonical form with an L2 prior, likely elsewhere, and likely in the root mean square above 20,000 rows.
        `trace.bound` tells.
    starts : int
        For structures whose canonical form is not perfect, which may have several optima: the fit with the lowest
        objective is taken of so many, one from the prior's centre or the frequencies, the others from random tables;
        "cross-tuning" has the first alone. A point without slope that is no optimum, a saddle, is
        left along its direction of most negative curvature.
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
        starts: int = 10,
    ) -> None:
        self.objective = objective
        self.prior = prior
        self.strength = strength
        self.alpha = alpha
        self.stopping = stopping
        self.max_iter = max_iter
        self.tol = tol
        self.starts = starts

    def learn(self, task: ParameterTask) -> LearntNetwork:
        self.check_options()
        with one_blas_thread():
            return ConditionalFit(task, self).learn()

    def check_options(self) -> None:
        check_option("objective", self.objective, POWERS)
        check_option("prior", self.prior_name, PRIORS)
        check_option("stopping", self.stopping, ["tolerance", "cross-tuning"])
        if self.alpha is not None and not 0.0 <= self.alpha <= 1.0:
            raise OptionError(f"alpha={self.alpha!r} of Conditional must be a number from 0 to 1.")
        if self.objective in MIXED and self.prior == "hierarchical":
            raise OptionError(
                f"prior='hierarchical' is not defined for objective={self.objective!r}: it pulls to equal shares.",
                hint="use prior='generative' or prior='uniform'.",
            )
        check_count("starts", self.starts, at_least=1)
        self.check_iterations()

    @property
    def prior_name(self) -> str:
        """Of `PRIORS`."""
        return "none" if self.prior is None else self.prior

    @property
    def joint_share(self) -> float:
        """What the joint log likelihood counts in the objective."""
        if self.objective not in MIXED:
            return 0.0
        return 0.5 if self.alpha is None else self.alpha

    @property
    def strengths(self) -> Strengths | None:
        """The strengths asked for, or None for those to be chosen."""
        has_strengths = self.prior_name in ("generative", "hierarchical")
        if self.strength == "auto":
            return None if has_strengths else ()
        if isinstance(self.strength, str):
            check_option("strength", self.strength, ["auto"])
        if not has_strengths:
            raise OptionError(f"strength={self.strength!r} has no meaning for prior={self.prior!r}, which has none.")
        strengths = tuple(np.atleast_1d(np.asarray(self.strength, dtype=np.float64)).tolist())
        if not strengths or not all(strength > 0 for strength in strengths):
            raise OptionError(f"strength={self.strength!r} of Conditional must be above zero, or 'auto'.")
        return strengths


class ConditionalFit:
    """One run of `Conditional`: the problem of the training table, and of parts of it."""

    def __init__(self, task: ParameterTask, options: Conditional) -> None:
        perfect, rows = is_perfect_for(task.dag, task.dag.n_nodes - 1), task.counts.rows
        self._cells = ClassCells.of(task.dag, task.counts.n_states)
        self._compiled = worth_compiling(self._cells, rows)  # for all rows, then for parts of them too
        if not self._compiled or (rows.place == "memory" and not perfect):
            # The last digits may decide among several optima, and move P by 1e-5 where a descent over few rows ends
            # early. Many rows with one optimum do not repay the sort.
            task = replace(task, counts=task.counts.of_rows(rows.map(in_canonical_order, "order")))
        self._task = task
        self._options = options
        self._strengths = options.strengths
        self._incomplete = bool(task.counts.rows.incomplete.any())
        self._normalized = self._normalizes(task.dag)
        self._n_starts = 1 if perfect or options.stopping == "cross-tuning" else options.starts

    def learn(self) -> LearntNetwork:
        problem = self._problem(self._task, self._cells, self._infers_missing())
        chosen, start = self._choose_strengths(problem)
        problem.set_strengths(chosen.strengths, DAMPING)
        self._report(f"strengths {chosen.strengths} after {chosen.n_passes} passes over held-out folds")
        by_iteration: list[float] = []
        if self._options.stopping == "cross-tuning":
            n_iterations, by_iteration = self._choose_iterations(chosen)
            descent = minimize(problem, problem.zero, n_iterations, 0.0)
        else:
            bound = BOUND if problem.free else np.inf
            if self._n_starts > 1 and not problem.without_effects:
                start = best_start(problem, start, self._n_starts, FOLD_MAX_ITER, FOLD_TOLERANCE)
            descent = minimize_closely(problem, start, self._options.max_iter, self._options.tol, bound)
            self._warn_if_separated(descent, problem)
        n_passes = problem.objective.n_passes
        above = "" if descent.bound is None else f", at most {descent.bound:.2g} above the optimum"
        self._report(
            f"objective {descent.values[-1]:.6g}, gradient norm {descent.gradient_norms[-1]:.3g}{above} after "
            f"{n_passes} passes over the rows: {descent.end}"
        )
        network, marginal_difference = self._network(problem.beta(descent.u))
        optimum, p_bound = self._describe_optimum(descent, problem)
        trace = ConditionalTrace(
            strength=chosen.strengths,
            held_out=tuple(chosen.losses.items()),
            objective=tuple(descent.values),
            gradient_norm=tuple(descent.gradient_norms),
            passes=n_passes,
            passes_on_folds=chosen.n_passes,
            end=descent.end,
            optimum=optimum,
            bound=descent.bound,
            p_bound=p_bound,
            by_iteration=tuple(by_iteration),
            marginal_difference=marginal_difference,
        )
        return LearntNetwork(network, trace)

    def _report(self, line: str) -> None:
        if self._task.report is not None:
            self._task.report(line)

    @property
    def _least_weight(self) -> float:
        """Of a row."""
        least = self._task.counts.rows.outline.least_weight
        return 1.0 if least is None else least

    def _describe_optimum(self, descent: Descent, problem: Penalized) -> tuple[str, float | None]:
        """`optimum` and `p_bound` of the trace; the bound is one of P for the conditional likelihood alone."""
        bound = descent.bound
        if self._options.stopping == "cross-tuning" and descent.end == "max_iter":
            return "not sought, held-out folds chose the number of iterations", None
        if problem.has_saddles and problem.without_effects:
            return "without effects, as all strengths are infinite", None
        if descent.is_minimum is False:
            return "saddle", None
        if descent.is_minimum or (descent.end == "bound" and problem.has_saddles):
            at_infinity = descent.end == "bound" or (problem.free and is_lower_at(problem, descent, BOUND))
            where = "at infinity" if at_infinity else "local"
            return f"{where}, the best of {self._n_starts} start{'s' * (self._n_starts > 1)}", None
        if bound is None:
            return "global, how near is not known" if problem.objective.convex else "maybe local", None
        if self._options.objective != "cll":
            return f"global within {bound:.2g} of the objective", None
        return f"global within {bound:.2g} nats", min(1.0, float(np.sqrt(bound / (2.0 * self._least_weight))))

    def _normalizes(self, dag: Dag) -> bool:
        """Whether the fit is over normalised tables.

        Free numbers can be made into tables only where the canonical form is perfect (Roos 2005, theorem 3). A mixed
        objective holds P(x), and leaving out a missing cell is summing over it only if its states sum to one.
        """
        return self._options.objective in MIXED or self._incomplete or not is_perfect_for(dag, dag.n_nodes - 1)

    def _infers_missing(self) -> bool:
        """Whether missing cells are summed out by inference in the fit on all rows; on folds families are left out.

        Folds by inference too would gain half as much again, and take ten times as long.
        """
        if self._task.skip_gaps:
            return False
        return 0 < count_rows_to_infer(self._task.dag, self._task.counts.rows) <= MAX_ROWS_TO_INFER

    def _problem(self, task: ParameterTask, cells: ClassCells, infer_missing: bool = False) -> Penalized:
        counts = cells.pack(task.counts.tables(task.dag.families))
        name, alpha, normalized = self._options.objective, self._options.joint_share, self._normalizes(task.dag)
        prior = PRIORS[self._options.prior_name](task, cells)
        if name != "cll" and self._options.prior == "hierarchical":
            # Left to itself it would not be the class frequency: fewest errors are expected from certainty.
            prior = prior.with_intercept()
        if infer_missing:
            objective: Objective = MissingObjective(cells, task, name, alpha)
        else:
            rows, engine = task.counts.rows, task.counts.engine
            objective = Objective(cells, rows, name, normalized, alpha, counts, self._compiled, engine)
        mirrored = cells.n_classes == 2 and not normalized and prior.log_entries == 0.0
        has_saddles = not is_perfect_for(task.dag, task.dag.n_nodes - 1)
        return Penalized(cells, objective, prior, counts.sum(axis=1), mirrored, has_saddles)

    def folds(self, most_rows: int) -> list[Fold]:
        """Problems on the training rows of folds, at no effects yet, and their validation rows."""
        folds = []
        for part, validation in split_folds(self._task, most_rows, FOLD_SEED):
            problem = self._problem(part, ClassCells.of(part.dag, part.counts.n_states))
            folds.append(Fold(problem, problem.zero, validation))
        return folds

    def _choose_strengths(self, problem: Penalized) -> tuple[Chosen, Array]:
        """The strengths, and effects to start from: what the folds agree on, where their tables are these."""
        if self._strengths is not None:
            return Chosen(self._strengths), problem.zero
        folds = self.folds(MAX_ROWS_FOR_FOLDS)
        chosen = choose_strengths(folds)
        # Effects of more attributes than in any fold were never judged.
        n_levels = problem.prior.n_levels
        chosen.strengths = (*chosen.strengths, *(np.inf,) * n_levels)[:n_levels]
        alike = all(fold.problem.cells.is_like(problem.cells) for fold in folds)
        return chosen, np.mean([fold.u for fold in folds], axis=0) if alike else problem.zero

    def _choose_iterations(self, chosen: Chosen) -> tuple[int, list[float]]:
        folds = self.folds(self._task.counts.rows.n_rows)
        for fold in folds:
            fold.problem.set_strengths(chosen.strengths)
        return choose_iterations(folds, self._options.max_iter)

    def _warn_if_separated(self, descent: Descent, problem: Penalized) -> None:
        # Below log 2 in all, each row has more than half of its probability on its class.
        separated = self._options.objective == "cll" and descent.values[-1] < np.log(2.0) * self._least_weight
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
        if self._options.prior_name == "none":
            counts = task.counts.tables(task.dag.families)
            others = tuple(_plain_frequencies(counted.reshape(-1, counted.shape[-1])) for counted in counts)
        return task.network(cells.unpack(np.exp(cells.log_normalize(beta)), others)), None


def _plain_frequencies(counted: NDArray[np.number]) -> Array:
    """Frequencies without smoothing; equal shares where there is no row."""
    total = counted.sum(axis=1, keepdims=True)
    return np.where(total > 0, counted / np.maximum(total, SMALLEST), 1.0 / counted.shape[1])


def fitted_likelihood(dag: Dag, counts: CountStore) -> float:
    """max over the tables of sum_t w_t log P(c_t | x_t), by `Conditional(prior=None)`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)  # a search tries structures that fit the rows exactly
        learnt = Conditional(prior=None, tol=1e-5, starts=1).learn(ParameterTask(dag, counts))
    return -cast(ConditionalTrace, learnt.trace).objective[-1]
