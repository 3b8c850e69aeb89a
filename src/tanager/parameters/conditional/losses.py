"""The loss of a row as a function of the probability p of its class; the objectives are sums of it.

cll      - log p
error    1 - p
squared  (1 - p)^2
margin   h(log p / (1 - p)): a hinge on the log odds of the class against all others together (Pernkopf, Wohlmayr and
         Tschiatschek 2012, with the softest of their maxima). h(y) = 1 - y up to 1/2, (3/2 - y)^2 / 2 up to 3/2, then 0
mixed    as cll, and mixed-margin as margin, with a share of the joint log likelihood (`objectives`)
"""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array

# The number that passes over rows know a loss by: the power of (1 - p), 0 for the logarithm, or MARGIN.
MARGIN = -1
POWERS = {"cll": 0, "error": 1, "squared": 2, "margin": MARGIN, "mixed": 0, "mixed-margin": MARGIN}
MIXED = ("mixed", "mixed-margin")
CONVEX = ("cll", "margin")
"""In the log odds: the hinge falls, and log odds against a sum of classes are concave."""
LINEAR_TO, ZERO_FROM = 0.5, 1.5


def losses_and_slopes(log_p: Array, power: int) -> tuple[Array, Array]:
    """Of each row the loss, and minus its derivative by log p."""
    if power == 0:
        return -log_p, np.ones_like(log_p)
    p, wrong = np.exp(log_p), np.maximum(-np.expm1(log_p), 0.0)  # a certain row may be above one by rounding
    if power != MARGIN:
        return wrong**power, power * wrong ** (power - 1) * p
    with np.errstate(divide="ignore"):  # certainty has infinite odds, and no loss
        y = log_p - np.log(wrong)
    short = np.clip(ZERO_FROM - y, 0.0, ZERO_FROM - LINEAR_TO)
    losses = np.where(y < LINEAR_TO, 1.0 - y, 0.5 * short**2)
    return losses, short / np.maximum(wrong, np.finfo(np.float64).tiny)
