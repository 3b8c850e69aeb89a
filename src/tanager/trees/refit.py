"""All leaves of a forest fitted together: given its splits, the penalised loss is convex in their values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from tanager.additive.forest import Forest
from tanager.table.categories import Codes
from tanager.trees.boost import losses

Array = NDArray[np.float64]

MAX_ITER = 200
# Of the slope, in rows: what is left to gain is then far below what a fold can tell.
FLAT = 1e-4
# On a fold a step that gains less than this share of the sum is the last: rows held out cannot tell.
ROUGH = 1e-4


class Refit:
    """The sum of - log P(class | row) + penalty / 2 |values|^2 over some rows, by the values of a forest's leaves.

    offset  (n_classes, n_rows) log odds that the forest adds to
    """

    def __init__(self, forest: Forest, codes: Codes, classes: NDArray[np.intp], weights: Array, offset: Array) -> None:
        self._forest, self._classes, self._weights, self._offset = forest, classes, weights, offset
        leaves, of_leaf = forest.leaves(codes), forest.class_of_leaf
        self._held = np.bincount(leaves.reshape(-1), minlength=len(of_leaf)) > 0
        # Of every class with trees: which of its leaves a row is in, the transpose, and where they are in the values.
        self._parts = []
        for number in sorted(set(forest.of_class.tolist())):
            own = leaves[:, forest.of_class == number]
            starts = np.arange(len(own) + 1) * own.shape[1]
            ones = sparse.csr_array((np.ones(own.size), own.reshape(-1), starts), shape=(len(own), len(of_leaf)))
            ones = ones[:, self._held & (of_leaf == number)]
            self._parts.append((number, ones, ones.T.tocsr(), of_leaf[self._held] == number))

    def fit(self, penalty: float, rough: bool = False) -> tuple[Forest, float]:
        """The forest of the lowest sum, and that sum; `rough` is enough for a fold. A leaf without rows is zero.

        It starts from the last values, at first those that the forest came with, so its sum is never above theirs.
        """
        start = self._forest.values[self._held]
        found = minimize(
            self._value_and_slopes,
            start,
            args=(penalty,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MAX_ITER, "gtol": FLAT, "ftol": ROUGH if rough else 0.0},
        )
        best, value = start, self._value_and_slopes(start, penalty)[0]
        if found.fun <= value:
            best, value = found.x, float(found.fun)
        values = np.zeros(len(self._held))
        values[self._held] = best
        self._forest = replace(self._forest, values=values)
        return self._forest, value

    def _value_and_slopes(self, values: Array, penalty: float) -> tuple[float, Array]:
        scores = self._offset.copy()
        for number, ones, _, own in self._parts:
            scores[number] += ones @ values[own]
        shares = np.exp(scores - scores.max(axis=0))
        shares /= shares.sum(axis=0)
        slopes = penalty * values
        for number, _, transposed, own in self._parts:
            slopes[own] += transposed @ (self._weights * (shares[number] - (self._classes == number)))
        return float(self._weights @ losses(scores, self._classes) + 0.5 * penalty * values @ values), slopes
