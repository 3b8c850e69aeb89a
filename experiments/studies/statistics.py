"""Is one classifier better than another over many data sets? The tests that the papers use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tanager.errors import DataError

SIGNIFICANT = 0.05
TIE = 1e-12
"""Values closer than this are equal: two means of the same folds may differ in their last bit."""


@dataclass(frozen=True)
class Wilcoxon:
    """Signed-rank test of paired values: z > 0 if the first is better; p is one-sided, for the better one of the two.

    Pairs without a difference are left out, ties have mean ranks, no continuity correction: the normal approximation
    of Grossman and Domingos 2004 and of the tables of fCLL 2011 and aCLL 2013. `n` are the pairs compared, ties too.
    """

    z: float
    p: float
    n: int

    @property
    def arrow(self) -> str:
        """Towards the better one, the first being in the row, the second above: double if significant."""
        if self.z == 0:
            return "="
        double = self.p < SIGNIFICANT
        return ("⇐" if double else "←") if self.z > 0 else ("⇑" if double else "↑")


def wilcoxon(first: ArrayLike, second: ArrayLike, less_is_better: bool = True) -> Wilcoxon:
    """Compare (n,) values of two classifiers on the same data sets; sets where either is NaN are left out."""
    gains = _gains(first, second, less_is_better)
    if not gains.any():
        return Wilcoxon(0.0, 0.5, len(gains))
    test: Any = stats.wilcoxon(gains, zero_method="wilcox", correction=False, method="approx", alternative="greater")
    z = float(test.zstatistic)
    return Wilcoxon(z, float(stats.norm.sf(abs(z))), len(gains))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down correction: the k-th smallest of m p-values times m - k + 1, never falling, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty(len(p))
    result[order] = np.minimum(corrected, 1.0)
    return result


def win_tie_loss(first: ArrayLike, second: ArrayLike, less_is_better: bool = True) -> tuple[int, int, int]:
    """On how many sets the first is better, equal, worse."""
    gains = _gains(first, second, less_is_better)
    return int((gains > 0).sum()), int((gains == 0).sum()), int((gains < 0).sum())


def _gains(first: ArrayLike, second: ArrayLike, less_is_better: bool) -> NDArray[np.float64]:
    """By how much the first is better on each set where both have a value; 0 for a tie."""
    gains = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    gains = gains[~np.isnan(gains)] if less_is_better else -gains[~np.isnan(gains)]
    gains[np.abs(gains) < TIE] = 0.0
    return gains


def binomial_error(share: ArrayLike, n_rows: ArrayLike) -> NDArray[np.float64]:
    """One standard error of a share of n rows, sqrt(share (1 - share) / n) (fCLL 2011, section 5)."""
    share = np.asarray(share, dtype=np.float64)
    return np.asarray(np.sqrt(share * (1.0 - share) / np.asarray(n_rows)))


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over the sets on which every classifier has a value: 1 is best, equal values share theirs.

    p                    of Friedman's test that all are alike; 1 if there is nothing to test
    critical_difference  mean ranks further apart than this differ at the 5 % level (Nemenyi; Demšar 2006)
    """

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    n_sets: int
    p: float
    critical_difference: float

    @property
    def order(self) -> list[int]:
        """Best first."""
        order: list[int] = np.argsort(self.mean, kind="stable").tolist()
        return order

    def cliques(self) -> list[tuple[int, int]]:
        """First and last place, in `order`, of the longest runs whose mean ranks do not differ significantly."""
        ranks = self.mean[self.order]
        runs: list[tuple[int, int]] = []
        for first, rank in enumerate(ranks):
            last = int(np.flatnonzero(ranks - rank <= self.critical_difference)[-1])
            if last > first and (not runs or last > runs[-1][1]):
                runs.append((first, last))
        return runs


def mean_ranks(names: tuple[str, ...], values: NDArray[np.float64], less_is_better: bool = True) -> Ranks:
    """Rank the columns of (n_sets, n_classifiers) values within each set."""
    rows = values[~np.isnan(values).any(axis=1)]
    n_sets, n = rows.shape
    if n < 2 or n_sets == 0:
        raise DataError(f"ranks need two classifiers with values on a common set; found {n} on {n_sets} sets.")
    rounded = np.round(rows if less_is_better else -rows, 12)
    ranks = stats.rankdata(rounded, axis=1)
    p = 1.0
    if n > 2 and n_sets > 1 and (ranks != ranks[:, :1]).any():
        p = float(stats.friedmanchisquare(*rounded.T).pvalue)
    return Ranks(names, ranks.mean(axis=0), n_sets, p, critical_difference(n, n_sets))


def critical_difference(n_classifiers: int, n_sets: int, level: float = SIGNIFICANT) -> float:
    """Nemenyi: q sqrt(k (k + 1) / (6 N)), q the studentised range's upper quantile over sqrt 2 (Demšar 2006)."""
    q = stats.studentized_range.ppf(1.0 - level, n_classifiers, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_classifiers * (n_classifiers + 1) / (6.0 * n_sets)))
