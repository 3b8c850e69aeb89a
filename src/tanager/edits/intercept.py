"""The intercept fitted again to rows, all other effects as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AdditiveModel
from tanager.arrays import Array, Codes
from tanager.errors import DataError
from tanager.network.log_joint import normalize_log

MAX_STEPS, TOLERANCE, SHORTEST_PART = 100, 1e-12, 1e-6


def refit_intercept(network: AdditiveModel, codes: Codes, class_codes: NDArray[np.intp]) -> AdditiveModel:
    r"""The b of greatest likelihood, sum_r log P(c_r | x_r): at it the mean of P(c | x) is the share of class c.

    A missing cell counts with its expected effect. Newton's method, each step halved until the likelihood grows.
    """
    n_classes = len(network.intercept)
    shares = np.bincount(class_codes, minlength=n_classes) / max(1, len(class_codes))
    if not shares.all():
        absent = network.columns[-1].states[int(np.argmin(shares))]
        raise DataError(f"no row has the class {absent!r}: the intercept cannot be fitted to these rows.")
    sums = network.log_joint(codes)
    rows = np.arange(len(codes))

    def answer(shift: Array) -> tuple[float, Array]:
        logs = normalize_log(sums + shift)
        return float(logs[rows, class_codes].mean()), np.exp(logs)

    shift = np.zeros(n_classes)
    value, proba = answer(shift)
    for _ in range(MAX_STEPS):
        gradient = shares - proba.mean(axis=0)
        if np.abs(gradient).max() < TOLERANCE:
            break
        curvature = np.diag(proba.mean(axis=0)) - proba.T @ proba / len(proba)
        step, part = np.linalg.pinv(curvature) @ gradient, 1.0
        while (following := answer(shift + part * step))[0] < value and part > SHORTEST_PART:
            part /= 2
        if following[0] < value:
            break
        shift, (value, proba) = shift + part * step, following
    return replace(network, intercept=network.intercept + shift - shift.mean())
