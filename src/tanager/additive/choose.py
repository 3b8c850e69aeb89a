"""The choice on folds: the regularisation strength of terms, the pairs, and a sparse variant.

Every candidate fit is a variant of the model. The model is a weighted mean of some of them: starting from the best on
the validation rows, each of the others is averaged in with the weight that lowers the validation loss most. So a small
change of the rows changes the model little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from tanager.additive.bases import Pairs, Term, Terms
from tanager.additive.folds import N_FOLDS, Folds, Sample
from tanager.additive.lbfgs import Minimum, minimize
from tanager.additive.objective import Objective, PenalizedLoss
from tanager.arrays import Array

Rank = Callable[[Sample, Array, int], Pairs]
Line = tuple["Variant", tuple[float, ...]]  # a variant, and the lambdas with which it is tried first

# Strengths lambda of attributes alone and of pairs.
STEP = 10.0
PATH = tuple(STEP**k for k in range(2, -3, -1))
PAIRS_PER_ATTRIBUTE = 4
# Standard errors: what is added must gain so much; a variant that is so far behind has no part in the mean.
CLEAR, HOPELESS = 1.0, 3.0
# A variant of a smaller weight is left out of the mean, which has at most so many.
LEAST_WEIGHT, MAX_VARIANTS = 0.05, 3
# A term smaller than this part of the largest is dropped by the sparse variant, which is reweighted so often; with .05
# columns of noise are kept in two of five runs with 198 of them, with .2 in none.
NEGLIGIBLE, MAX_REWEIGHTED = 2 / STEP, 2 * MAX_VARIANTS
# What a step must gain, as a part of the objective: on folds, and in the last fit.
ROUGH, CLOSE = 1e-3, 3e-5
MAX_STEPS = 500
PSEUDO_ROWS = 5.0  # of the naive Bayes centre: with 1 rare states have too large effects, with 10 the gain is smaller


@dataclass(frozen=True)
class Variant:
    """A fit that can be made again on other rows.

    centre   what main effects of categories are shrunk towards: "zero" or "naive Bayes"
    main     lambda of the attributes
    pair     lambda of the pairs, None for no pairs
    n_pairs  how many pairs
    sparse   lambdas of the reweighted fits that follow
    """

    centre: str
    main: float
    pair: float | None = None
    n_pairs: int = 0
    sparse: tuple[float, ...] = ()

    def at(self, strength: float) -> Variant:
        """With another lambda: of the pairs if it has any, otherwise of the attributes."""
        return replace(self, main=strength) if self.pair is None else replace(self, pair=strength)

    def describe(self) -> str:
        pairs = "" if self.pair is None else f", {self.n_pairs} pairs {self.pair:g}"
        sparse = "" if not self.sparse else f", sparse {' '.join(f'{each:g}' for each in self.sparse)}"
        return f"towards {self.centre}: lambda {self.main:g}{pairs}{sparse}"


@dataclass
class Candidate:
    """A variant on the folds: effects (n_effects + 1, n_columns, n_folds), log odds and losses of validation rows."""

    variant: Variant
    fitter: Fitter
    effects: Array = field(repr=False)
    scores: Array = field(repr=False)
    losses: Array = field(repr=False)
    loss: float


by_loss = attrgetter("loss")


class Fitter:
    """Fits of the same terms to the same rows; `has_term` (n_terms, n_fits) says which terms each of them has."""

    def __init__(self, objective: Objective, has_term: NDArray[np.bool_]) -> None:
        self.objective, self.has_term, self.terms = objective, has_term, objective.terms

    def strengths(self, main: float, pair: float | None) -> Array:
        """(n_terms, n_fits), infinite for terms that a fit has not."""
        alone = np.array([len(term) == 1 for term in self.terms.terms])[:, np.newaxis]
        of_level = np.where(alone, main, np.inf if pair is None else pair)
        return np.where(self.has_term, of_level, np.inf)

    def fit(self, strengths: Array, start: Array, centre: Array | float = 0.0, tolerance: float = ROUGH) -> Minimum:
        problem = PenalizedLoss(self.objective, np.repeat(strengths, self.terms.n_effects, axis=0), centre)
        start, precision = start.astype(self.objective.dtype), float(np.finfo(self.objective.dtype).eps)
        start[:-1] = np.where(np.isinf(problem.strength)[:, np.newaxis], 0.0, start[:-1])
        return minimize(problem, start, problem.scale, tolerance, MAX_STEPS, precision, self._lower)

    @cached_property
    def _lower(self) -> Array | None:
        """Lower bounds of effects and intercept, where attributes have a monotone constraint."""
        lower = self.terms.lower()
        return None if lower is None else np.append(lower, -np.inf)[:, np.newaxis, np.newaxis]

    def centre(self, name: str) -> Array:
        """(n_effects, n_columns, n_folds) what the effects of a variant are shrunk towards."""
        return self._naive_bayes if name == "naive Bayes" else np.zeros_like(self.objective.start()[:-1])

    @cached_property
    def _naive_bayes(self) -> Array:
        return naive_bayes(self.objective)

    def sizes(self, effects: Array) -> Array:
        """(n_terms, n_fits) the standard deviation over the rows of what each term adds to the log odds."""
        tables = self.objective.tables(effects).reshape(-1, *effects.shape[1:]).astype(np.float64)
        starts = self.terms.first_cell[:-1]
        shares = self.objective.shares[:, np.newaxis, np.newaxis]
        means = np.add.reduceat(shares * tables, starts, axis=0)
        squares = np.add.reduceat(shares * tables**2, starts, axis=0)
        return np.sqrt(np.maximum(squares - means**2, 0.0).sum(axis=1))

    def reweighted(self, effects: Array) -> tuple[Fitter, Array]:
        """Factors (n_terms, n_fits) of lambda, (largest size / size)^2, and a fitter of the terms that are left.

        Repeated, it shrinks every term by an amount that does not depend on its size, so that what is small vanishes
        and what is large is kept (adaptive ridge: Grandvalet 1998; Frommlet and Nuel 2016).
        """
        sizes = self.sizes(effects)
        relative = sizes / np.maximum(sizes.max(axis=0), np.finfo(np.float64).tiny)
        factors = np.where(relative < NEGLIGIBLE, np.inf, 1.0 / np.maximum(relative, NEGLIGIBLE) ** 2)
        active = np.isfinite(factors).max(axis=1)
        if 2 * active.sum() > len(active):
            return self, factors
        terms = [term for term, keep in zip(self.terms.terms, active, strict=True) if keep]
        return Fitter(self.objective.only(terms), self.has_term[active]), factors[active]

    def replay(self, variant: Variant, start: Array, tolerance: float, times: float = 1.0) -> tuple[Fitter, Minimum]:
        """A variant on these rows, and the fitter of the terms that it has; lambda is multiplied by `times`."""
        strengths = times * self.strengths(variant.main, variant.pair)
        last = ROUGH if variant.sparse else tolerance
        fitter, found = self, self.fit(strengths, start, self.centre(variant.centre), last)
        for k, strength in enumerate(variant.sparse, 1):
            fewer, factors = fitter.reweighted(found.points)
            last = tolerance if k == len(variant.sparse) else ROUGH
            found = fewer.fit(times * strength * factors, fewer.take(fitter, found.points), tolerance=last)
            fitter = fewer
        return fitter, found

    def take(self, other: Fitter, effects: Array) -> Array:
        """Effects from another fitter, zero for the terms that it does not have."""
        return np.concatenate([self.terms.take(other.terms, effects[:-1]), effects[-1:]])


def naive_bayes(objective: Objective) -> Array:
    """(n_effects, n_columns, n_folds) log P(state | class) / P(state) of categories, zero elsewhere."""
    terms, n_classes = objective.terms, max(2, objective.n_columns)
    centre = np.zeros((len(objective.rows_moved) - 1, n_classes, objective.n_folds))
    counted = objective.class_counts
    for k, term in enumerate(terms.terms):
        if len(term) == 1 and not terms.columns[term[0]].has_order:
            own = counted[terms.first_cell[k] : terms.first_cell[k] + terms.n_effects[k]]
            total = own.sum(axis=0)
            shares = own.sum(axis=1, keepdims=True) / np.maximum(total.sum(axis=0), np.finfo(np.float64).tiny)
            smoothed = (own + PSEUDO_ROWS * shares) / (total + PSEUDO_ROWS)
            seen = np.broadcast_to(shares > 0, smoothed.shape)
            ratio = np.divide(smoothed, shares, out=np.ones_like(smoothed), where=seen)
            centre[terms.first_effect[k] : terms.first_effect[k + 1]] = np.log(ratio)
    return centre[:, 1:] - centre[:, :1] if objective.n_columns == 1 else centre


class Search:
    """The choice on folds. `rank` returns the best pairs of weighted rows, up to a number."""

    def __init__(self, folds: Folds, terms: Terms, n_classes: int, rank: Rank) -> None:
        self.folds, self.terms, self.n_classes, self.rank = folds, terms, n_classes, rank
        self.tried: list[tuple[str, float]] = []

    def choose(self, n_pairs: int, must: bool = False) -> Mixture:
        """The variants and their weights in the model. With `must`, they have the pairs even without a gain."""
        alone = fitter_on(self.folds, self.terms, self.n_classes, None)
        lines: list[Line] = [(Variant("zero", 1.0), (np.inf, STEP, 1.0, 1 / STEP))]
        if any(not column.has_order for column in self.terms.columns):
            lines.append((Variant("naive Bayes", 1.0), (STEP**2, STEP, 1.0)))
        found = self._explore(alone, lines)
        best = self._mix(found)
        if n_pairs:
            pairs = self._with_pairs(min(found, key=by_loss), n_pairs)
            best = self._mix(pairs) if must else self._better(best, found + pairs)
        return self._better(best, [*best.candidates, *self._sparse(min(best.candidates, key=by_loss))])

    def _better(self, before: Mixture, found: Sequence[Candidate]) -> Mixture:
        """The mean of these candidates if its loss is clearly lower, else the mixture before."""
        mixed = self._mix(found)
        return mixed if gains_clearly(self.folds, before.losses, mixed.losses) else before

    def _mix(self, found: Sequence[Candidate]) -> Mixture:
        """Average the best candidate with the others, in the order of their losses, where this lowers the loss."""
        best, *others = sorted(found, key=by_loss)
        mixture = Mixture(self.folds, [best], [1.0], best.scores)
        for candidate in others:
            if self.folds.errors_above(candidate.losses, best.losses) <= HOPELESS:
                mixture = mixture.with_candidate(candidate)
        if len(mixture.candidates) <= MAX_VARIANTS:
            return mixture
        heaviest = np.argsort(-np.array(mixture.weights), kind="stable")[:MAX_VARIANTS]
        return self._mix([mixture.candidates[k] for k in heaviest])

    def _try(
        self, fitter: Fitter, variants: Sequence[Variant], strengths: Sequence[Array], starts: Sequence[Array]
    ) -> list[Candidate]:
        """Fit variants side by side, from effects of the fitter's terms."""
        centre = np.concatenate([fitter.centre("zero" if v.sparse else v.centre) for v in variants], axis=2)
        effects = fitter.fit(np.concatenate(strengths, axis=1), np.concatenate(starts, axis=2), centre).points
        scores = fitter.objective.scores(effects)
        found = []
        for k, variant in enumerate(variants):
            own = slice(k * N_FOLDS, (k + 1) * N_FOLDS)
            validated = self.folds.validated(scores[:, :, own])
            losses = self.folds.losses(validated)
            self.tried.append((variant.describe(), self.folds.mean(losses)))
            found.append(Candidate(variant, fitter, effects[:, :, own], validated, losses, self.tried[-1][1]))
        return found

    def _explore(self, fitter: Fitter, lines: Sequence[Line], origin: Candidate | None = None) -> list[Candidate]:
        """Candidates for the first lambdas of each line, then for the neighbours of the best lambda.

        Fits begin at those of the nearest lambda, at first at the effects of `origin` or at the centre.
        """
        paths = [dict[float, Candidate]() for _ in lines]
        asked = [(k, strength) for k, (_, first) in enumerate(lines) for strength in first]
        while asked:
            variants, starts = [lines[k][0].at(strength) for k, strength in asked], []
            for (k, strength), variant in zip(asked, variants, strict=True):
                near = min(paths[k], key=lambda tried: abs(np.log(tried / strength)), default=None)
                if near is not None:
                    starts.append(paths[k][near].effects)
                elif origin is not None:
                    starts.append(fitter.take(origin.fitter, origin.effects))
                else:
                    starts.append(fitter.objective.start())
                    starts[-1][:-1] += fitter.centre(variant.centre)
            strengths = [fitter.strengths(variant.main, variant.pair) for variant in variants]
            for (k, strength), candidate in zip(asked, self._try(fitter, variants, strengths, starts), strict=True):
                paths[k][strength] = candidate
            best = [min(path, key=lambda strength: path[strength].loss) for path in paths]
            asked = [(k, each) for k, path in enumerate(paths) for each in _neighbours(best[k]) if each not in path]
        return [candidate for path in paths for candidate in path.values()]

    def _with_pairs(self, first: Candidate, n_pairs: int) -> list[Candidate]:
        """The path of lambda for pairs, at the best lambda of the main effects."""
        pairs = [self.rank(self.folds.sample, weights, n_pairs) for weights in self.folds.training.T]
        fitter = fitter_on(self.folds, self.terms, self.n_classes, pairs)
        return self._explore(fitter, [(replace(first.variant, pair=1.0, n_pairs=n_pairs), (STEP**2, STEP, 1.0))], first)

    def _sparse(self, first: Candidate) -> list[Candidate]:
        """The last reweighted fit after a candidate; each fit shrinks towards zero and takes its best lambda."""
        best = first
        if np.isinf(first.variant.main):
            return []
        path = [first.variant.main / np.sqrt(STEP) ** k for k in range(1, MAX_VARIANTS + 1)]
        for _ in range(MAX_REWEIGHTED):
            now = self._reweighted(best, path)
            if best is not first and now.loss >= best.loss:
                break
            best, path = now, [now.variant.sparse[-1], now.variant.sparse[-1] / np.sqrt(STEP)]
        return [best]

    def _reweighted(self, before: Candidate, path: list[float]) -> Candidate:
        """The best reweighted fit after a candidate; weaker lambdas are tried as long as the loss falls."""
        fitter, factors = before.fitter.reweighted(before.effects)
        start, found = fitter.take(before.fitter, before.effects), list[Candidate]()
        while True:
            variants = [replace(before.variant, sparse=(*before.variant.sparse, strength)) for strength in path]
            found += self._try(fitter, variants, [strength * factors for strength in path], [start] * len(path))
            best = min(found, key=by_loss)
            if best is not found[-1] or len(found) >= 2 * MAX_VARIANTS:
                return best
            start, path = best.effects, [path[-1] / np.sqrt(STEP), path[-1] / STEP]


def _neighbours(strength: float) -> list[float]:
    """The next lambdas of the path; that of no effect at all is the strongest."""
    if np.isinf(strength):
        return [PATH[0]]
    return [each for each in PATH if 1 < max(each / strength, strength / each) < STEP**2]


@dataclass(frozen=True)
class Mixture:
    """A weighted mean of candidates on the folds; scores (n_validated, n_columns)."""

    folds: Folds
    candidates: list[Candidate]
    weights: list[float]
    scores: Array = field(repr=False)

    @cached_property
    def losses(self) -> Array:
        return self.folds.losses(self.scores)

    @property
    def loss(self) -> float:
        return self.folds.mean(self.losses)

    def describe(self) -> str:
        each = zip(self.weights, self.candidates, strict=True)
        return "; ".join(f"{weight:.0%} {candidate.variant.describe()}" for weight, candidate in each)

    def with_candidate(self, candidate: Candidate) -> Mixture:
        """The mean with a candidate, if it gets a weight and lowers the loss."""
        scores = candidate.scores
        weight = self.folds.best_weight(self.scores, scores)
        if weight < LEAST_WEIGHT:
            return self
        kept = [(1 - weight) * own for own in self.weights]
        mixed = Mixture(
            self.folds, [*self.candidates, candidate], [*kept, weight], (1 - weight) * self.scores + weight * scores
        )
        return mixed if mixed.loss < self.loss else self


def gains_clearly(folds: Folds, before: Array, after: Array) -> bool:
    """Whether losses of validation rows fall by more than chance and by more than the tolerance of the optimiser."""
    gain, least = folds.mean(before) - folds.mean(after), ROUGH * max(1.0, STEP * folds.mean(before))
    return gain > least and folds.errors_above(before, after) > CLEAR


def fitter_on(folds: Folds, terms: Terms, n_classes: int, pairs: Sequence[Pairs] | None) -> Fitter:
    """Fits on the folds, each with main effects and the pairs of its own ranking, in single precision."""
    union: list[Term] = [] if pairs is None else list(dict.fromkeys(pair for own in pairs for pair in own))
    terms = terms.only([*((a,) for a in range(len(terms.columns))), *union])
    sample = folds.sample
    objective = Objective(terms, sample.codes, sample.classes, folds.training, n_classes, single=True)
    of_fold = [set[Term]()] * objective.n_folds if pairs is None else [set[Term](own) for own in pairs]
    return Fitter(objective, np.array([[len(term) == 1 or term in own for own in of_fold] for term in terms.terms]))
