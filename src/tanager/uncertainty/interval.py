"""Intervals of P(class | row), and of what a network adds to log odds."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import norm

from tanager.arrays import Array
from tanager.errors import OptionError


class Interval(NamedTuple):
    """Ends and middle of intervals; of P(class | row) each is (n_rows, n_classes), in the order of `classes_`.

    Each interval is for one class of one row. Neither the ends nor the middles sum to one over the classes.
    """

    lower: Array
    median: Array
    upper: Array


def check_level(level: object) -> float:
    """The share of intervals that hold the truth: a number between zero and one, 15 digits away from one."""
    share = float(level) if isinstance(level, Real) else 0.0
    if not 0.0 < share <= 1.0 - 1e-15:
        raise OptionError(f"level={level!r} of an interval must be a number above 0 and below 1.", hint="level=0.9.")
    return share


def reach(level: float) -> float:
    """How many standard deviations of a normal an interval reaches to either side."""
    return float(norm.ppf(0.5 + level / 2.0))


def log_odds_of_each(logs: Array) -> Array:
    """log P(c) - log(1 - P(c)) of every class, (n_rows, n_classes), from normalised log P(class | row).

    1 - P(c) is the sum over the other classes: near certainty the difference of two numbers near one would be lost.
    """
    if logs.shape[1] == 2:
        return logs - logs[:, ::-1]
    others = [logsumexp(np.delete(logs, code, axis=1), axis=1) for code in range(logs.shape[1])]
    return np.asarray(logs - np.column_stack(others))


def around(log_odds: Array, deviations: Array, quantile: float) -> Interval:
    """P = 1 / (1 + exp(-x)) at log odds x and at `quantile` of their standard deviations below and above.

    The point is within, and it is the median.
    """
    return Interval(*(expit(log_odds + side * quantile * deviations) for side in (-1.0, 0.0, 1.0)))
