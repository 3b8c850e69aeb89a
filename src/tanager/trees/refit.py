"""All leaves of a forest fitted together: given its splits, the penalised loss is convex in their values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from tanager.table.batch import Codes
from tanager.trees.boost import losses
from tanager.trees.forest import Forest

Array = NDArray[np.float64]

MAX_ITER = 200
# Of the slope, in rows: what is left to gain is then far below what a fold can tell.
FLAT = 1e-4


def refit(
    forest: Forest, codes: Codes, classes: NDArray[np.intp], weights: Array, offset: Array, penalty: float
) -> tuple[Forest, float]:
    """The forest of the lowest sum of - log P(class | row) + penalty / 2 |values|^2, and that sum.

    It starts from the values that the forest has, so its sum is never above theirs.

    offset  (n_classes, n_rows) log odds that the forest adds to
    """
    leaves, of_leaf = forest.leaves(codes), forest.class_of_leaf
    parts = []
    for number in sorted(set(forest.of_class.tolist())):
        own = leaves[:, forest.of_class == number]
        starts = np.arange(len(own) + 1) * own.shape[1]
        ones = sparse.csr_array((np.ones(own.size), own.reshape(-1), starts), shape=(len(own), len(of_leaf)))
        parts.append((number, ones[:, of_leaf == number], of_leaf == number))

    def penalised(values: Array) -> tuple[float, Array]:
        scores = offset.copy()
        for number, ones, own in parts:
            scores[number] += ones @ values[own]
        shares = np.exp(scores - scores.max(axis=0))
        shares /= shares.sum(axis=0)
        slopes = penalty * values
        for number, ones, own in parts:
            slopes[own] += ones.T @ (weights * (shares[number] - (classes == number)))
        return float(weights @ losses(scores, classes) + 0.5 * penalty * values @ values), slopes

    found = minimize(
        penalised,
        forest.values,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITER, "gtol": FLAT, "ftol": 0.0},
    )
    before = penalised(forest.values)[0]
    if found.fun > before:
        return forest, before
    return replace(forest, values=np.asarray(found.x)), float(found.fun)
