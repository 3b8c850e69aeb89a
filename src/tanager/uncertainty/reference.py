"""The reference posterior: how far the truth may be from a classifier's P(class | row), whatever the classifier chose.

A classifier that has chosen attributes, pairs and strengths is surer of itself than the rows allow: what it left out
has no variance. So its log odds are compared with those of a reference model that leaves nothing out. There the log
odds of each class against the others are f = b + Z u, with features Z of every attribute, of pairs and of random trees,
and a normal prior on u whose variance for each of the three kinds is averaged over, by its evidence. Features have a
mean of zero over the training rows, and those of a missing value are zero.

The posterior of u is the normal that is nearest to it, with the middle variances: with f ~ N(eta, v) of a row,
p = E[1 / (1 + exp(-f))], d = dp / d eta (MacKay 1992: as if f were eta / sqrt(1 + pi v / 8)), w = weight d and the
working response s = eta + (y - p) / d, its precision is A + Lambda, A = Z^T diag(w) Z, and its mean
m = (A + Lambda)^-1 Z^T diag(w) s. Where rows are told apart without a mistake, the slope at the optimum is nearly
nothing, and the expected one is not. The log evidence of other Lambda is, up to a constant,

    1/2 log|Lambda| - 1/2 log|A + Lambda| + 1/2 m^T (A + Lambda) m

(Breslow and Clayton 1993; Opper and Archambeau 2009). The covariance is averaged over Lambda, with what the
means m differ by. The intervals lie around the classifier's own P. They reach as far as the root of the mean square of
f less its log odds, so that they are wider where the two models disagree.

P of a row with unknown cells is the mean over its completions, which may be unlike any training row: the reference
model is then unsure of each, and far from the frequencies that the classifier is corrected to. But with no cell known P
is the frequency of the class, and the rows show that to within 1 / (n P (1 - P)) of the log odds. So the covariance is
limited to this variance there (`_limit`). A row of which a share u is unknown has u^2 of it at least: completions in
which the classes are told apart vary too little. And u times the difference between the two models with no cell known
is none of the row's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit, logit

from tanager.additive.bases import random_walk
from tanager.additive.model import AnyModel
from tanager.arrays import Array, Codes, Ints
from tanager.missing.rule import MissingRule
from tanager.network.columns import Term
from tanager.runtime.resources import map_threads, one_blas_thread
from tanager.table.columns import code_dtype
from tanager.table.schema import ColumnSchema
from tanager.uncertainty.interval import Interval, around, log_odds_of_each, reach

# Variances of the log odds that attributes, pairs and trees each have, averaged over.
VARIANCES = ((0.1, 1.0, 6.0), (0.03, 0.4, 3.0), (0.03, 0.4, 3.0))
INTERCEPT_PRECISION = 1e-3
# Columns of the factor: so many draws stand for a covariance of more features, and leave 4 % of a deviation to chance.
MAX_RANK, RANK_OF_ALL_CLASSES, MIN_RANK = 256, 2_048, 64
N_STEPS, LEAST_STEP = 1_000, 1e-100
FACTOR_SEED, TERMS_SEED = 1, 0
MAX_ROWS = 200_000
BLOCK_ROWS = 4_096
# Steps to the optimum, on some of many rows.
NEWTON_STEPS, MAX_ROWS_TO_FIT = 4, 5_000
# Rows with unknown cells completed at once.
ROWS_TO_COMPLETE = 64
LEAST_SPREAD, LEAST_SHARE = 1e-12, 1e-4
# Features: attributes, pairs, and trees of some depth.
MAX_ATTRIBUTES, MAX_PAIRS, N_TREES, DEPTH = 200, 28, 30, 3
# Features of an attribute alone, and of each of two: the smoothest parts of a walk, or the most frequent states.
MAIN_PARTS, MAIN_FEATURES, PAIR_PARTS = 6, 320, 3
ATTRIBUTE, PAIR, TREE = 0, 1, 2


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

    def interval(self, codes: Codes, logs: Array, level: float, rule: MissingRule, n_training: float) -> Interval:
        """Of P(class | row).

        logs        (n_rows, n_classes) the classifier's own
        rule        that of missing values
        n_training  training rows, by weight
        """
        return around(log_odds_of_each(logs), self.deviations(codes, logs, rule, n_training), reach(level))

    def deviations(self, codes: Codes, logs: Array, rule: MissingRule, n_training: float) -> Array:
        """(n_rows, n_classes): the root of the mean square by which the log odds of each class may be off."""
        n_odds = len(self.factor)
        odds, deviations = log_odds_of_each(logs)[:, -n_odds:].copy(), np.empty((len(codes), n_odds))
        unknown = rule.has_unknown(codes)
        shares = (codes == np.array(rule.network.n_states[:-1])).mean(axis=1, keepdims=True)
        p = np.exp(logs[:, -n_odds:])
        least = shares / np.sqrt(np.maximum(n_training * p * (1.0 - p), LEAST_SPREAD))
        with one_blas_thread():
            if unknown.any():
                odds += shares * self._difference_of_nothing(rule)

            def fill(first: int) -> None:
                rows = np.arange(first, min(first + BLOCK_ROWS, len(codes)))
                deviations[rows] = self._whole_rows(coarse_codes(self.coarse, codes[rows]), odds[rows])
                for few in np.array_split(rows[unknown[rows]], -(-int(unknown[rows].sum()) // ROWS_TO_COMPLETE) or 1):
                    completed = rule.completed(codes[few]) if len(few) else None
                    if completed is not None:
                        deviations[few] = self._completed_rows(completed, odds[few], least[few])

            map_threads(fill, range(0, len(codes), BLOCK_ROWS))
        return np.broadcast_to(deviations, logs.shape)

    def _difference_of_nothing(self, rule: MissingRule) -> Array:
        """(n_odds,) the log odds of the reference model less the classifier's, of a row without a known cell."""
        nothing, n_odds = nothing_known(rule), len(self.factor)
        completed = rule.completed(nothing)
        if completed is None:
            return np.zeros(n_odds)
        p, _ = self._averages(completed, 1)
        return logit(p[:, 0]) - log_odds_of_each(rule.log_posterior(nothing))[0, -n_odds:]

    def _whole_rows(self, coarse: Codes, odds: Array) -> Array:
        """Of rows without a missing value to average over."""
        features, deviations = self.features(coarse), np.empty_like(odds)
        for k, (mean, factor) in enumerate(zip(self.mean, self.factor, strict=True)):
            deviations[:, k] = np.sqrt(((features @ factor) ** 2).sum(axis=1) + (features @ mean - odds[:, k]) ** 2)
        return deviations

    def _completed_rows(self, completed: Codes, odds: Array, least: Array) -> Array:
        """Of rows by their completions, the number of which is the same for each; they vary by `least` or more."""
        deviations = np.empty_like(odds)
        for k, (p, slopes) in enumerate(zip(*self._averages(completed, len(odds)), strict=True)):
            variances = np.maximum(((slopes @ self.factor[k]) ** 2).sum(axis=1), least[:, k] ** 2)
            deviations[:, k] = np.sqrt(variances + (logit(p) - odds[:, k]) ** 2)
        return deviations

    def _averages(self, completed: Codes, n_rows: int) -> tuple[Array, Array]:
        """P (n_odds, n_rows), the mean of the completions', and the slopes of its log odds (..., n_features + 1).

        The slopes of P are the means of p (1 - p) Z.
        """
        features = self.features(completed[:, : len(self.coarse)])
        averages, slopes = [], []
        for mean in self.mean:
            p = expit(features @ mean).reshape(n_rows, -1)
            steep = (p * (1.0 - p))[:, :, np.newaxis] * features.reshape(*p.shape, -1)
            averages.append(p.mean(axis=1))
            spread = np.maximum(averages[-1] * (1.0 - averages[-1]), LEAST_SPREAD)
            slopes.append(steep.mean(axis=1) / spread[:, np.newaxis])
        return np.array(averages), np.array(slopes)

    def effect_deviations(self, network: AnyModel, term: Term) -> Array | None:
        """(cells, classes): of the log odds of each class by an attribute, or a pair, in each of its coarse states.

        A missing cell is a state, the last. None for a pair that the reference model does not have.
        """
        placed = self.features.of_term(term)
        if placed is None:
            return None
        at, cells = placed
        odds = np.stack([np.sqrt(((cells @ factor[at]) ** 2).sum(axis=1)) for factor in self.factor], axis=1)
        each = odds[self.coarse[term[0]]] if len(term) == 1 else odds
        return np.broadcast_to(each, (len(each), network.n_states[-1]))


def nothing_known(rule: MissingRule) -> Codes:
    """(1, n_attributes) the codes of a row of unknown cells."""
    n_states = np.array(rule.network.n_states[:-1])
    return n_states[np.newaxis].astype(code_dtype(int(n_states.max(initial=0))))


def coarse_codes(look_ups: Sequence[Ints], codes: Codes) -> Codes:
    """(n_rows, n_attributes) at the coarse granularity."""
    return np.column_stack([look_up[codes[:, a]] for a, look_up in enumerate(look_ups)])


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
    rule: MissingRule,
) -> ReferencePosterior:
    """columns of the attributes, rule of the classifier; the others as in `choose_terms`."""
    coarse = [column.coarse for column in columns]
    look_ups = tuple(column.coarse_codes.astype(np.int64) for column in columns)
    rows = rows.thinned(MAX_ROWS, order)
    few = rows.thinned(MAX_ROWS_TO_FIT, order)
    codes = coarse_codes(look_ups, rows.codes)
    n_classes = rows.n_classes
    with one_blas_thread():
        features = make_features(coarse, choose_terms(coarse, order, strength, pairs), codes, rows.weights)
        fitted = []
        for code in [1] if n_classes == 2 else range(n_classes):
            at = _fit(features, coarse_codes(look_ups, few.codes), few.weights, few.classes == code)
            curvature, slope = _second_order(features, codes, rows.weights, rows.classes == code, *at)
            fitted.append(_average(curvature, slope, features.kinds, n_classes))
        mean, factor = (np.array(each) for each in zip(*fitted, strict=True))
        return _limit(ReferencePosterior(look_ups, features, mean, factor), rule, rows.weights.sum())


def _limit(posterior: ReferencePosterior, rule: MissingRule, n_rows: float) -> ReferencePosterior:
    """With no cell known the log odds vary by 1 / (n P (1 - P)) at most, as the frequency of a class does.

    Of slopes g there, F F^T g / |F^T g| is taken off the factor F along F^T g.
    """
    nothing = nothing_known(rule)
    completed = rule.completed(nothing)
    if completed is None:
        return posterior
    p = np.exp(rule.log_posterior(nothing))[0, -len(posterior.factor) :]
    limits = 1.0 / np.maximum(n_rows * p * (1.0 - p), LEAST_SPREAD)
    factors = []
    for factor, (slopes,), limit in zip(posterior.factor, posterior._averages(completed, 1)[1], limits, strict=True):
        along = slopes @ factor
        excess = 1.0 - np.sqrt(limit / max(along @ along, LEAST_STEP))
        taken_off = np.outer(factor @ along, along / max(along @ along, LEAST_STEP))
        factors.append(_rounded(factor - excess * taken_off) if excess > 0.0 else factor)
    return replace(posterior, factor=np.array(factors))


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
        rows_features = features(codes[rows])
        odds = rows_features @ mean
        shrunk = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * ((rows_features @ root.T) ** 2).sum(axis=1))
        p = expit(shrunk * odds)
        spread = shrunk * p * (1.0 - p)
        curvature += (rows_features * (weights[rows] * spread)[:, np.newaxis]).T @ rows_features
        slope += rows_features.T @ (weights[rows] * (spread * odds + is_class[rows] - p))
    return curvature, slope


def _precision(variances: Sequence[float], kinds: Ints) -> Array:
    return np.append(1.0 / np.array(variances)[kinds], INTERCEPT_PRECISION)


def _average(curvature: Array, slope: Array, kinds: Ints, n_classes: int) -> tuple[Array, Array]:
    """The mean (n_features + 1,) and a factor of the covariance, averaged over the variances by their evidence."""
    fits = []
    for variances in product(*VARIANCES):
        precision = _precision(variances, kinds)
        whole = cho_factor(curvature + np.diag(precision), lower=True)
        weights = cho_solve(whole, slope)
        evidence = 0.5 * (np.log(precision).sum() + slope @ weights) - np.log(np.diag(whole[0])).sum()
        fits.append((evidence, whole, weights))
    evidences = np.array([each[0] for each in fits])
    shares = np.exp(evidences - evidences.max())
    shares /= shares.sum()
    mean: Array = np.tensordot(shares, np.array([each[2] for each in fits]), axes=1)
    size = len(slope)
    covariance = np.zeros((size, size))
    for share, (_, whole, weights) in zip(shares, fits, strict=True):
        if share > LEAST_SHARE:
            covariance += share * (cho_solve(whole, np.eye(size)) + np.outer(weights - mean, weights - mean))
    factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    rank = int(np.clip(RANK_OF_ALL_CLASSES // n_classes, MIN_RANK, MAX_RANK))
    if size > rank:
        factor = factor @ np.random.default_rng(FACTOR_SEED).standard_normal((size, rank)) / np.sqrt(rank)
    return mean, _rounded(factor)


def _rounded(factor: Array) -> Array:
    return whole_steps(factor) * line_steps(factor)


def line_steps(factor: Array) -> Array:
    """(..., 1) the step that each line, (..., rank), is in multiples of: files and pages then hold whole numbers."""
    return np.maximum(np.abs(factor).max(axis=-1, keepdims=True), LEAST_STEP) / N_STEPS


def whole_steps(factor: Array) -> Array:
    """How many of its steps each number is, N_STEPS at most: a deviation is off by a thousandth or less."""
    return np.round(factor / line_steps(factor))


@dataclass(frozen=True)
class Terms:
    """Which attributes, pairs and trees there are.

    attributes  each with features of its own
    pairs       each with the products of features of two
    splits      (n_trees, 2^depth - 1) the attribute that each node of a tree asks; its children are 2k + 1 and 2k + 2
    left        (n_trees, 2^depth - 1, most codes) which of its codes go to the left
    """

    attributes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    splits: Ints
    left: NDArray[np.bool_]

    def leaves(self, codes: Codes) -> Ints:
        """(n_rows, n_trees) the leaf of each row."""
        every, n_splits = np.arange(len(codes)), self.splits.shape[1]
        leaves = np.zeros((len(codes), len(self.splits)), dtype=np.int64)
        for tree, (split, left) in enumerate(zip(self.splits, self.left, strict=True)):
            node = np.zeros(len(codes), dtype=np.int64)
            for _ in range(DEPTH):
                node = 2 * node + 2 - left[node, codes[every, split[node]]]
            leaves[:, tree] = node - n_splits
        return leaves


@dataclass(frozen=True)
class Features:
    """The features of a row of coarse codes.

    terms   what they are of
    mains   for each of the terms' attributes (states + 1, features), the line of a missing cell zero
    paired  for each of them (states + 1, features), for its pairs
    means   (n_features,) what is taken off
    scales  (n_features,) what they are multiplied by, then
    """

    terms: Terms
    mains: tuple[Array, ...]
    paired: tuple[Array, ...]
    means: Array
    scales: Array

    def __call__(self, codes: Codes) -> Array:
        """(n_rows, n_features + 1), the last for the intercept."""
        raw = self.raw(codes)
        return np.concatenate([(raw - self.means) * self.scales, np.ones((len(codes), 1))], axis=1)

    def raw(self, codes: Codes) -> Array:
        """(n_rows, n_features) before they are centred and scaled."""
        terms, place = self.terms, {a: k for k, a in enumerate(self.terms.attributes)}
        parts = [cells[codes[:, a]] for a, cells in zip(terms.attributes, self.mains, strict=True)]
        for one, other in terms.pairs:
            first, second = (self.paired[place[a]][codes[:, a]] for a in (one, other))
            parts.append((first[:, :, np.newaxis] * second[:, np.newaxis]).reshape(len(codes), -1))
        leaves = terms.leaves(codes)
        each = (leaves[:, :, np.newaxis] == np.arange(2**DEPTH)).astype(np.float64)
        return np.concatenate([*parts, each.reshape(len(codes), -1)], axis=1)

    @property
    def sizes(self) -> list[int]:
        """Features of each attribute, then of each pair, then of each tree."""
        width = {a: cells.shape[1] for a, cells in zip(self.terms.attributes, self.paired, strict=True)}
        of_pairs = [width[a] * width[b] for a, b in self.terms.pairs]
        return [*(cells.shape[1] for cells in self.mains), *of_pairs, *[2**DEPTH] * len(self.terms.splits)]

    @property
    def kinds(self) -> Ints:
        """(n_features,) ATTRIBUTE, PAIR or TREE."""
        terms = self.terms
        of_terms = np.repeat([ATTRIBUTE, PAIR, TREE], [len(terms.attributes), len(terms.pairs), len(terms.splits)])
        return np.repeat(of_terms, self.sizes)

    def of_term(self, term: Sequence[int]) -> tuple[slice, Array] | None:
        """Where the features of an attribute or a pair are, and (cells, features) each of its cells.

        None for one that has none. A missing value is the last state, whose features are zero.
        """
        known_terms = [{a} for a in self.terms.attributes] + [set(pair) for pair in self.terms.pairs]
        if set(term) not in known_terms:
            return None
        number = known_terms.index(set(term))
        if len(term) == 1:
            cells = self.mains[number]
        else:  # in the order of the term, and of its features in that of the pair
            letters = "ia,jb->ijab" if tuple(term) in self.terms.pairs else "ia,jb->ijba"
            one, other = (self.paired[self.terms.attributes.index(a)] for a in term)
            cells = np.einsum(letters, one, other)
        known = np.ones(cells.shape[: len(term)], dtype=bool)
        known[-1] = known[..., -1] = False
        cells = cells.reshape(known.size, -1)
        at = slice(sum(self.sizes[:number]), sum(self.sizes[: number + 1]))
        return at, np.where(known.reshape(-1, 1), (cells - self.means[at]) * self.scales[at], 0.0)


def make_features(columns: Sequence[ColumnSchema], terms: Terms, codes: Codes, weights: Array) -> Features:
    """Centred and scaled so that each kind has a variance of one, in the mean over the training rows."""
    parts = int(np.clip(MAIN_FEATURES // max(1, len(terms.attributes)), 1, MAIN_PARTS))
    rows = [np.bincount(codes[:, a], weights, minlength=columns[a].n_states + 1) for a in terms.attributes]
    chosen = [columns[a] for a in terms.attributes]
    mains = tuple(_states(column, counted, parts) for column, counted in zip(chosen, rows, strict=True))
    paired = tuple(_states(column, counted, PAIR_PARTS) for column, counted in zip(chosen, rows, strict=True))
    plain = Features(terms, mains, paired, np.zeros(0), np.zeros(0))
    kinds, total = plain.kinds, weights.sum()
    means, squares = np.zeros(len(kinds)), np.zeros(len(kinds))
    for first in range(0, len(codes), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        raw = plain.raw(codes[block])
        means += weights[block] @ raw / total
        squares += weights[block] @ raw**2 / total
    variances = np.bincount(kinds, np.maximum(squares - means**2, 0.0), minlength=3)
    scales = 1.0 / np.sqrt(np.where(variances > 1e-12, variances, 1.0))[kinds]
    return Features(terms, mains, paired, means, scales)


def choose_terms(
    columns: Sequence[ColumnSchema], order: Sequence[int], strength: Array, pairs: Sequence[tuple[int, int]]
) -> Terms:
    """Terms for attributes of coarse `columns`.

    order     of the attributes by name, so that what is drawn does not depend on their order in the table
    strength  (n_attributes,) how much each says: of too many attributes the strongest have terms
    pairs     the network's own; others are drawn beside them where there are too many for all
    """
    rng = np.random.default_rng(TERMS_SEED)
    strongest = set(sorted(order, key=lambda a: -strength[a])[:MAX_ATTRIBUTES])
    kept = [a for a in order if a in strongest]
    place = {a: k for k, a in enumerate(kept)}
    chosen = list(combinations(kept, 2))
    if len(chosen) > MAX_PAIRS:
        first = [tuple(sorted(pair, key=place.__getitem__)) for pair in pairs if strongest.issuperset(pair)]
        drawn = [chosen[k] for k in rng.permutation(len(chosen))[: 2 * MAX_PAIRS].tolist()]
        chosen = list(dict.fromkeys([*first[: MAX_PAIRS // 2], *drawn]))[:MAX_PAIRS]
    chosen.sort(key=lambda pair: (place[pair[0]], place[pair[1]]))
    n_splits, width = 2**DEPTH - 1, max(column.n_states + 1 for column in columns)
    splits = np.array(kept)[rng.integers(len(kept), size=(N_TREES, n_splits))]
    left = [[_draw_split(columns[a], width, rng) for a in tree] for tree in splits.tolist()]
    return Terms(tuple(kept), tuple(chosen), splits, np.array(left))


def _draw_split(column: ColumnSchema, width: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which codes go to the left: those below a cut, or any half of the categories; a missing cell goes anywhere."""
    left = np.zeros(width, dtype=bool)
    cut, by_code = rng.random(), rng.random(column.n_states + 1) < 0.5
    left[: column.n_states + 1] = by_code
    if column.has_order:
        n_ordered = column.n_states - column.missing_state
        left[:n_ordered] = (np.arange(n_ordered) + 0.5) / n_ordered < cut
    return left


def _states(column: ColumnSchema, rows: NDArray[np.number], parts: int) -> Array:
    """(states + 1, features): the smoothest parts of a walk, and categories; zero for a missing cell."""
    n_ordered = column.n_states - column.missing_state if column.has_order else 0
    walk = random_walk(n_ordered, parts) if n_ordered > 1 else np.zeros((0, 0))
    others = np.arange(n_ordered, column.n_states)
    frequent = others[np.argsort(-rows[others], kind="stable")][: 2 * parts]
    features = np.zeros((column.n_states + 1, walk.shape[1] + len(frequent)))
    features[: len(walk), : walk.shape[1]] = walk
    features[frequent, walk.shape[1] + np.arange(len(frequent))] = 1.0
    total = rows[:-1].sum()
    features[:-1] -= (rows[:-1] / total if total > 0 else np.full(column.n_states, 1 / column.n_states)) @ features[:-1]
    return features
