"""The reference posterior: how far the truth may be from a classifier's P(class | row), whatever the classifier chose.

A classifier that has chosen attributes, pairs and strengths is surer of itself than the rows allow: what it left out
has no variance. So its log odds are held against a model that leaves nothing out. The log odds of each class against
the others are f = b + Z u, with features Z of every attribute, of pairs and of random trees (`features`), and a normal
prior on u whose variance for each of the three kinds is not chosen but averaged over, by its evidence.

The posterior of u is the normal that is nearest to it, with the middle variances: with f ~ N(eta, v) of a row,
p = E[1 / (1 + exp(-f))], d = dp / d eta (MacKay 1992: as if f were eta / sqrt(1 + pi v / 8)), w = weight d and the
working response s = eta + (y - p) / d, its precision is A + Lambda, A = Z^T diag(w) Z, and its mean
m = (A + Lambda)^-1 Z^T diag(w) s. Where rows are told apart without a mistake, the slope at the optimum is nearly
nothing, and the expected one is not. The log evidence of other Lambda is, up to a constant,

    1/2 log|Lambda| - 1/2 log|A + Lambda| + 1/2 m^T (A + Lambda) m

(Breslow and Clayton 1993; Opper and Archambeau 2009). The covariance is averaged over Lambda, with what the
means m differ by. The intervals lie around the classifier's own P. They reach as far as the root of the mean square of
f less its log odds, so that they are wider where the two models disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit, logit

from tanager.additive.model import AnyModel
from tanager.arrays import Array, Codes, Ints
from tanager.missing.rule import GapRule
from tanager.network.columns import Term
from tanager.runtime.resources import map_threads, one_blas_thread
from tanager.table.schema import ColumnSchema
from tanager.uncertainty.interval import Interval, around, log_odds_of_each, reach
from tanager.uncertainty.reference_features import Features, choose_terms, make_features

# Variances of the log odds that attributes, pairs and trees each have, averaged over.
VARIANCES = ((0.1, 1.0, 6.0), (0.03, 0.4, 3.0), (0.03, 0.4, 3.0))
INTERCEPT_PRECISION = 1e-3
# Columns of the factor: so many draws stand for a covariance of more features, and leave 4 % of a deviation to chance.
MAX_RANK, RANK_OF_ALL_CLASSES, MIN_RANK = 256, 2_048, 64
N_STEPS, LEAST_STEP = 1_000, 1e-100
SEED = 1
MAX_ROWS = 200_000
BLOCK_ROWS = 4_096
# Steps to the optimum, on some of many rows.
NEWTON_STEPS, MAX_ROWS_TO_FIT = 4, 5_000
# Draws of what the missing cells of a row may hold, and rows completed at once.
N_COMPLETIONS, ROWS_TO_COMPLETE = 64, 64
LEAST_SPREAD, LEAST_SHARE = 1e-12, 1e-4


@dataclass(frozen=True)
class ReferencePosterior:
    """The log odds of a class are off by a row's features times `factor` times a standard normal.

    coarse    for each attribute the coarse code of each of its codes
    features  of coarse codes
    mean      (n_odds, n_features + 1): of the weights of the features, the intercept last; n_odds = 1 is the second of
              two classes, and serves both
    factor    (n_odds, n_features + 1, rank): of their covariance
    """

    kind: ClassVar[str] = "reference"

    coarse: tuple[Ints, ...]
    features: Features
    mean: Array
    factor: Array

    def interval(self, codes: Codes, logs: Array, level: float, rule: GapRule) -> Interval:
        """Of P(class | row); `logs` (n_rows, n_classes) are the classifier's own, `rule` what a gap means to it."""
        return around(log_odds_of_each(logs), self.deviations(codes, logs, rule), reach(level))

    def deviations(self, codes: Codes, logs: Array, rule: GapRule) -> Array:
        """(n_rows, n_classes): the root of the mean square by which the log odds of each class may be off."""
        n_odds = len(self.factor)
        odds, found = log_odds_of_each(logs)[:, -n_odds:], np.empty((len(codes), n_odds))
        gaps = rule.with_gap(codes)

        def fill(first: int) -> None:
            rows = np.arange(first, min(first + BLOCK_ROWS, len(codes)))
            found[rows] = self._whole_rows(coarse_codes(self.coarse, codes[rows]), odds[rows])
            for few in np.array_split(rows[gaps[rows]], -(-int(gaps[rows].sum()) // ROWS_TO_COMPLETE) or 1):
                completed = rule.completed(codes[few], N_COMPLETIONS) if len(few) else None
                if completed is not None:
                    found[few] = self._completed_rows(completed[:, : len(self.coarse)], odds[few])

        with one_blas_thread():
            map_threads(fill, range(0, len(codes), BLOCK_ROWS))
        return np.broadcast_to(found, logs.shape)

    def _whole_rows(self, coarse: Codes, odds: Array) -> Array:
        """Of rows without a gap; a missing cell says nothing."""
        own, found = self.features(coarse), np.empty_like(odds)
        for k, (mean, factor) in enumerate(zip(self.mean, self.factor, strict=True)):
            found[:, k] = np.sqrt(((own @ factor) ** 2).sum(axis=1) + (own @ mean - odds[:, k]) ** 2)
        return found

    def _completed_rows(self, completed: Codes, odds: Array) -> Array:
        """Of rows by their completions: P is the mean of theirs, and its slopes are the means of p (1 - p) Z."""
        own, found = self.features(completed), np.empty_like(odds)
        for k, (mean, factor) in enumerate(zip(self.mean, self.factor, strict=True)):
            p = expit(own @ mean).reshape(len(odds), -1)
            slopes = (p * (1.0 - p))[:, :, np.newaxis] * own.reshape(*p.shape, -1)
            average = p.mean(axis=1)
            spread = np.maximum(average * (1.0 - average), LEAST_SPREAD)
            varied = (slopes.mean(axis=1) / spread[:, np.newaxis]) @ factor
            found[:, k] = np.sqrt((varied**2).sum(axis=1) + (logit(average) - odds[:, k]) ** 2)
        return found

    def effect_deviations(self, network: AnyModel, term: Term) -> Array | None:
        """(cells, classes): of the log odds of each class by an attribute, or a pair, in each of its coarse states.

        A missing cell is a state, the last. None for a pair that the reference model does not have.
        """
        found = self.features.of_term(term)
        if found is None:
            return None
        at, cells = found
        odds = np.stack([np.sqrt(((cells @ own[at]) ** 2).sum(axis=1)) for own in self.factor], axis=1)
        each = odds[self.coarse[term[0]]] if len(term) == 1 else odds
        return np.broadcast_to(each, (len(each), network.n_states[-1]))


def coarse_codes(look_ups: Sequence[Ints], codes: Codes) -> Codes:
    """(n_rows, n_attributes) at the coarse granularity."""
    return np.column_stack([own[codes[:, a]] for a, own in enumerate(look_ups)])


@dataclass(frozen=True)
class TrainingRows:
    """The rows that a posterior is learnt from.

    codes      (n_rows, n_attributes)
    classes    (n_rows,) codes
    weights    (n_rows,)
    n_classes  of how many
    """

    codes: Codes
    classes: Ints
    weights: Array
    n_classes: int

    def thinned(self, most: int, order: Sequence[int]) -> TrainingRows:
        """At most so many that weigh as much as all, evenly spaced when sorted by the attributes in this order."""
        step = -(-len(self.codes) // most)
        if step == 1:
            return self
        kept = np.lexsort((self.weights, self.classes, *self.codes[:, list(order)].T))[::step]
        weights = self.weights[kept] * (self.weights.sum() / self.weights[kept].sum())
        return TrainingRows(self.codes[kept], self.classes[kept], weights, self.n_classes)


def reference_posterior(
    columns: Sequence[ColumnSchema],
    order: Sequence[int],
    strength: Array,
    pairs: Sequence[tuple[int, int]],
    rows: TrainingRows,
) -> ReferencePosterior:
    """columns of the attributes; the others as in `choose_terms`."""
    coarse = [column.coarse for column in columns]
    look_ups = tuple(column.coarse_codes.astype(np.int64) for column in columns)
    rows = rows.thinned(MAX_ROWS, order)
    few = rows.thinned(MAX_ROWS_TO_FIT, order)
    codes = coarse_codes(look_ups, rows.codes)
    n_classes = rows.n_classes
    with one_blas_thread():
        features = make_features(coarse, choose_terms(coarse, order, strength, pairs), codes, rows.weights)
        found = []
        for code in [1] if n_classes == 2 else range(n_classes):
            at = _fit(features, coarse_codes(look_ups, few.codes), few.weights, few.classes == code)
            curvature, slope = _second_order(features, codes, rows.weights, rows.classes == code, *at)
            found.append(_average(curvature, slope, features.kinds, n_classes))
    mean, factor = (np.array(each) for each in zip(*found, strict=True))
    return ReferencePosterior(look_ups, features, mean, factor)


def _fit(features: Features, codes: Codes, weights: Array, is_class: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The mean with the middle variances, and R with R^T R its covariance, from the class's frequency on."""
    share = float(weights @ is_class / weights.sum())
    mean = np.append(np.zeros(len(features.means)), np.log(share / (1.0 - share)))
    precision = _precision([variances[1] for variances in VARIANCES], features.kinds)
    root = np.zeros((1, len(mean)))
    for _ in range(NEWTON_STEPS):
        curvature, slope = _second_order(features, codes, weights, is_class, mean, root)
        whole = cho_factor(curvature + np.diag(precision), lower=True)
        mean = cho_solve(whole, slope)
        root = solve_triangular(whole[0], np.eye(len(mean)), lower=True)
    return mean, root


def _second_order(
    features: Features, codes: Codes, weights: Array, is_class: NDArray[np.bool_], mean: Array, root: Array
) -> tuple[Array, Array]:
    """A = Z^T diag(w) Z and Z^T diag(w) s, where the weights of the features have this mean and covariance R^T R."""
    curvature, slope = np.zeros((len(mean), len(mean))), np.zeros(len(mean))
    for first in range(0, len(codes), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        own = features(codes[rows])
        odds = own @ mean
        shrunk = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * ((own @ root.T) ** 2).sum(axis=1))
        p = expit(shrunk * odds)
        spread = shrunk * p * (1.0 - p)
        curvature += (own * (weights[rows] * spread)[:, np.newaxis]).T @ own
        slope += own.T @ (weights[rows] * (spread * odds + is_class[rows] - p))
    return curvature, slope


def _precision(variances: Sequence[float], kinds: Ints) -> Array:
    return np.append(1.0 / np.array(variances)[kinds], INTERCEPT_PRECISION)


def _average(curvature: Array, slope: Array, kinds: Ints, n_classes: int) -> tuple[Array, Array]:
    """The mean (n_features + 1,) and a factor of the covariance, averaged over the variances by their evidence."""
    found = []
    for variances in product(*VARIANCES):
        precision = _precision(variances, kinds)
        whole = cho_factor(curvature + np.diag(precision), lower=True)
        own = cho_solve(whole, slope)
        evidence = 0.5 * (np.log(precision).sum() + slope @ own) - np.log(np.diag(whole[0])).sum()
        found.append((evidence, whole, own))
    evidences = np.array([each[0] for each in found])
    shares = np.exp(evidences - evidences.max())
    shares /= shares.sum()
    mean: Array = np.tensordot(shares, np.array([each[2] for each in found]), axes=1)
    size = len(slope)
    covariance = np.zeros((size, size))
    for share, (_, whole, own) in zip(shares, found, strict=True):
        if share > LEAST_SHARE:
            covariance += share * (cho_solve(whole, np.eye(size)) + np.outer(own - mean, own - mean))
    factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    rank = int(np.clip(RANK_OF_ALL_CLASSES // n_classes, MIN_RANK, MAX_RANK))
    if size > rank:
        factor = factor @ np.random.default_rng(SEED).standard_normal((size, rank)) / np.sqrt(rank)
    return mean, whole_steps(factor) * line_steps(factor)


def line_steps(factor: Array) -> Array:
    """(..., 1) the step that each line, (..., rank), is in multiples of: files and pages then hold whole numbers."""
    return np.maximum(np.abs(factor).max(axis=-1, keepdims=True), LEAST_STEP) / N_STEPS


def whole_steps(factor: Array) -> Array:
    """How many of its steps each number is, N_STEPS at most: a deviation is off by a thousandth or less."""
    return np.round(factor / line_steps(factor))
