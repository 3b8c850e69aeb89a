"""Models of effects on folds of the rows, and the choice among them.

A model is given by where its main effects shrink to, how strongly, and how many pairs it has. Under the norm of each
block of effects, attributes and pairs that say nothing are exactly zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.strengths import (
    Chosen,
    StrengthPath,
    Strengths,
    Walk,
    choose_strengths,
    clearly_worse,
    excess_errors,
    mean_loss,
    visit_strengths,
)
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.monotone_problem import MonotoneProblem
from tanager.parameters.effects.prior import Found
from tanager.parameters.effects.problems import EffectFold, EffectProblems, Kind, RowSplit
from tanager.threads import map_threads

Array = NDArray[np.float64]
Item = TypeVar("Item")
Result = TypeVar("Result")

# Settled on the benchmark sets. Shrunk to zero, main effects may be weaker than pairs: a mean of models steadies them.
# A prior centred on naive Bayes is not the safer for being strong, not even at infinity.
# Steps of three cost a seventh more and gain nothing.
MAIN = (100.0, 10.0, 1.0, 0.1, 0.01)
# Seven strengths are tried: of noise, some gains two standard errors more often than one time in twenty.
PAIR = StrengthPath((64.0, 16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), errors_allowed=1.0, errors_to_begin=2.5)
TO_ZERO = Walk((StrengthPath(MAIN, errors_allowed=0.5), PAIR), tolerance=3e-3)
TO_NAIVE_BAYES = Walk((StrengthPath(MAIN, errors_allowed=0.0, errors_to_begin=0.0), PAIR), tolerance=3e-3)
# The norm shrinks what it keeps nearly as much as what it drops. So a second fit follows, whose strength for a block is
# divided by the size the block had in the first: what is large is hardly shrunk, what is small goes (the adaptive group
# lasso: Zou 2006, Wang and Leng 2008). Both strengths are chosen on the folds.
# In units of what a block's slope is by chance (`BlockProblem`), in smaller steps where noise comes in.
NORM_PATH = StrengthPath((1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.125, 0.06, 0.03), errors_allowed=0.5)
BY_NORM = Walk((NORM_PATH, NORM_PATH), tolerance=3e-3)
ADAPTIVE = (1.0, 0.3, 0.1, 0.03)
# The second fit is taken where it gains so many standard errors: it has one more choice by which to flatter itself.
ERRORS_TO_ADAPT = 0.5
WALKS: dict[Kind, Walk] = {"zero": TO_ZERO, "naive Bayes": TO_NAIVE_BAYES, "norm": BY_NORM}
LEAST_SHARE = 0.05
# In standard errors: more is chosen on the folds of the norm than of the others.
NORM_HANDICAP = 0.5
# The tolerance of a fit beside which trees are judged: they gain far more than it is off.
ROUGH = 3e-2
# A kind whose strengths leave it so many standard errors behind another is not refined.
HOPELESS = 4.0


@dataclass(frozen=True)
class Choice:
    """A model to be fitted on all rows.

    kind      what its effects shrink to, and how
    number    of its pairs, unless they are zero
    chosen    its strengths, and what was tried
    found     the folds' layouts and tables
    share     of it in the mean of models
    adaptive  the strength of the second fit of the norm (`choose_adaptive`), None for none
    """

    kind: Kind
    number: int
    chosen: Chosen
    found: tuple[Found, ...]
    share: float = 1.0
    adaptive: float | None = None

    @property
    def n_pairs(self) -> int:
        return self.number if np.isfinite(self.chosen.strengths[-1]) else 0


def choose_models(problems: EffectProblems, penalty: str, given: Strengths | None) -> list[Choice]:
    """With strengths given one model; else those of all kinds that suit the table, of which some may have no share.

    Where attributes are nearly independent given the class, naive Bayes is a far better guess than zero of what few
    rows leave open, and otherwise a worse one. A single fold means thousands of rows, to which it makes no difference.
    The norm is best where few attributes of many say something.
    """
    numbers = problems.ranked.numbers
    only: Kind = "norm" if penalty == "norm" else "zero"
    if given is not None and len(numbers) == 1:
        return [Choice(only, numbers[0], Chosen(given), ())]
    splits = problems.splits
    any_held_out = any(split.rest.n_rows for split in splits)
    kinds = _kinds(problems, penalty, given, len(splits)) if any_held_out else [only]
    begun = map_kinds(lambda folds: _begin(*folds, given), _folds_of_kinds(problems, kinds))
    weights = np.concatenate([fold.held_out.weights for fold in begun[0].folds])
    losses = [held_out_losses(candidate.folds) for candidate in begun]
    for place, candidate in enumerate(begun):  # the first may yet gain by more pairs, which it has fewest of
        rivals = losses[:place]
        candidate.hopeless = any(excess_errors(losses[place], rival, weights) > HOPELESS for rival in rivals)
    found = map_kinds(lambda candidate: _refine(problems, candidate, given), begun)
    handicaps = [NORM_HANDICAP if kind == "norm" else 0.0 for kind in kinds]
    shares = shares_by_loss([losses for _, losses in found], weights, handicaps)
    return [replace(choice, share=share) for (choice, _), share in zip(found, shares, strict=True)]


def map_kinds(function: Callable[[Item], Result], kinds: Sequence[Item]) -> list[Result]:
    """What a function gives of each kind of model, side by side; the last begins first: the norm takes longest."""
    return map_threads(function, kinds[::-1])[::-1]


def _folds_of_kinds(problems: EffectProblems, kinds: Sequence[Kind]) -> list[tuple[list[EffectFold], Kind]]:
    """Folds with the fewest pairs for each kind; those that take a norm share what does not change in a fit."""
    number, result = problems.ranked.numbers[0], list[tuple[list[EffectFold], Kind]]()
    for kind in kinds:
        first = result[0][0] if result else []
        if first and first[0].takes_norm:
            folds = [fold.again() for fold in first]
        else:
            folds = [problems.fold(split, number, kind == "norm") for split in problems.splits]
        result.append((folds, kind))
    return result


def _kinds(problems: EffectProblems, penalty: str, given: Strengths | None, n_folds: int) -> list[Kind]:
    kinds: list[Kind] = []
    if penalty != "norm":
        kinds.append("zero")
        unordered = any(not column.has_order and column.n_states > 1 for column in problems.columns)
        if given is None and n_folds > 1 and unordered:
            kinds.append("naive Bayes")
    if penalty == "norm" or (penalty == "auto" and given is None and problems.fits_norm):
        kinds.append("norm")
    return kinds


def shares_by_loss(losses: Sequence[Array], weights: Array, handicaps: Sequence[float] | None = None) -> list[float]:
    """exp(-z), z the standard errors by which a mean loss is above the lowest; none below LEAST_SHARE; summing to one.

    `handicaps` are added to z.

    Choosing the lowest is nearly as good; this gains where the rows held out cannot tell.
    """
    if len(losses) == 1:
        return [1.0]
    best = losses[int(np.argmin([mean_loss(own, weights) for own in losses]))]
    shares = np.exp([-excess_errors(own, best, weights) for own in losses])
    if handicaps is not None:
        shares *= np.exp(-np.array(handicaps))
    shares[shares < LEAST_SHARE * shares.sum()] = 0.0
    return (shares / shares.sum()).tolist()


@dataclass
class _Candidate:
    """A model of so many pairs on the folds; `hopeless`: too far behind another kind to be refined."""

    kind: Kind
    number: int
    chosen: Chosen
    folds: list[EffectFold]
    hopeless: bool = False


def _begin(folds: list[EffectFold], kind: Kind, given: Strengths | None) -> _Candidate:
    """The strengths of the fewest pairs, which the folds have."""
    for fold in folds:
        fold.begin(kind)
    walk = WALKS[kind]
    chosen = choose_strengths(folds, walk) if given is None else visit_strengths(folds, given, walk)
    return _Candidate(kind, len(folds[0].layout.pairs), chosen, folds)


def _refine(problems: EffectProblems, candidate: _Candidate, given: Strengths | None) -> tuple[Choice, Array]:
    """As many pairs as lower the loss, then the second fit of the norm; also the losses of the rows held out."""
    kind, chosen, folds, number = candidate.kind, candidate.chosen, candidate.folds, candidate.number
    norm = kind == "norm"
    for more in problems.ranked.numbers[1:]:
        if np.isinf(chosen.strengths[-1]) or more == number or candidate.hopeless:
            break
        wider = [problems.fold(split, more, norm, fold) for split, fold in zip(problems.splits, folds, strict=True)]
        for fold, fewer in zip(wider, folds, strict=True):
            fold.begin(kind, fewer.u)
        found = visit_strengths(wider, chosen.strengths, WALKS[kind])
        chosen.n_passes += found.n_passes
        if found.loss >= chosen.loss:
            break
        number, folds, chosen.loss = more, wider, found.loss
    adaptive = choose_adaptive(folds, chosen) if norm and given is None and not candidate.hopeless else None
    tables = [fold.found for fold in folds]
    if np.isinf(chosen.strengths[-1]):
        tables = [layout.without_pairs(beta) for layout, beta in tables]  # which are zero
    return Choice(kind, number, chosen, tuple(tables), adaptive=adaptive), held_out_losses(folds)


def choose_adaptive(folds: Sequence[EffectFold], chosen: Chosen) -> float | None:
    """The strength of the second fit with the lowest loss, None where it gains too little; folds are left there."""
    if np.isinf(chosen.strengths[0]):
        return None
    weights = np.concatenate([fold.held_out.weights for fold in folds])
    first, first_losses = [fold.u for fold in folds], held_out_losses(folds)
    best, best_losses, best_u, since = None, first_losses, first, 0
    for fold in folds:
        adapt(fold.problem, fold.u)
    for strength in ADAPTIVE:
        chosen.n_passes += visit_strengths(folds, (strength, strength), BY_NORM).n_passes
        losses = held_out_losses(folds)
        since += 1
        if mean_loss(losses - best_losses, weights) < 0.0:
            best, best_losses, best_u, since = strength, losses, [fold.u for fold in folds], 0
        elif best is not None and since == BY_NORM.rises:
            break
    if not clearly_worse(first_losses, best_losses, weights, ERRORS_TO_ADAPT):
        best, best_losses, best_u = None, first_losses, first
    for fold, u in zip(folds, best_u, strict=True):
        fold.u = u
    chosen.loss = mean_loss(best_losses, weights)
    return best


def held_out_losses(folds: Sequence[EffectFold]) -> Array:
    """Of the rows of all folds, one after the other."""
    return np.concatenate([fold.losses() for fold in folds])


def adapt(problem: object, u: Array) -> Array:
    """Let the strengths of the problem's blocks be divided by their sizes in a first fit u; the factors."""
    assert isinstance(problem, BlockProblem | MonotoneProblem)
    factors = problem.adaptive_factors(u)
    problem.set_penalty(True, factors)
    return factors


def fit_more(problems: EffectProblems, split: RowSplit, choice: Choice, rough: bool = False) -> Found:
    """The model of a choice on one more fold; `rough` is enough to judge trees beside it.

    It starts from zero: a start that has seen the rows held out might remember them.
    """
    walk = replace(WALKS[choice.kind], tolerance=ROUGH) if rough else WALKS[choice.kind]
    fold = problems.fold(split, choice.number, choice.kind == "norm")
    fold.begin(choice.kind)
    visit_strengths([fold], choice.chosen.strengths, walk)
    if choice.adaptive is not None:
        adapt(fold.problem, fold.u)
        visit_strengths([fold], (choice.adaptive, choice.adaptive), walk)
    return fold.found


def constrain(problems: EffectProblems, choice: Choice) -> Choice:
    """A choice made without constraints, its folds fitted with those of the problems."""
    splits = problems.splits if choice.found and choice.share > 0.0 else []
    return replace(choice, found=tuple(fit_more(problems, split, choice) for split in splits))
