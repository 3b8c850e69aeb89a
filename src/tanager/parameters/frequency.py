"""Frequency: tables that repeat the smoothed frequencies of the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import CountTable, Family
from tanager.errors import OptionError
from tanager.parameters.protocol import LearntTables, ParameterLearner, ParameterTask
from tanager.registry import check_option


class Frequency(ParameterLearner):
    """Smoothed relative frequencies of every family, with alpha pseudo-rows.

    smoothing="laplace"   (N_jk + alpha) / (N_j + alpha r): alpha rows in every cell; alpha = 1 unless given
    smoothing="friedman"  (N_jk + alpha P(k)) / (N_j + alpha): alpha rows spread as the node's marginal P;
                          alpha = 5 unless given (Friedman, Geiger and Goldszmidt 1997)

    N_jk are rows with state k under parent configuration j, r the node's states. A class node without parents keeps
    its plain frequencies.
    """

    def __init__(self, smoothing: str = "laplace", alpha: float | None = None) -> None:
        self.smoothing = smoothing
        self.alpha = alpha

    def learn(self, task: ParameterTask) -> LearntTables:
        smoothing = check_option("smoothing", self.smoothing, DEFAULT_ALPHA)
        alpha = DEFAULT_ALPHA[smoothing] if self.alpha is None else self.alpha
        if not alpha > 0:
            raise OptionError(f"alpha={alpha!r} of Frequency must be a number above zero.")
        families = task.dag.families
        n_states = task.counts.n_states
        return LearntTables(
            tuple(
                self._table(counted.reshape(family.shape(n_states)), family, smoothing, alpha, len(n_states) - 1)
                for family, counted in zip(families, task.counts.tables(families), strict=True)
            )
        )

    def _table(
        self, counted: CountTable, family: Family, smoothing: str, alpha: float, target: int
    ) -> NDArray[np.float64]:
        if family.child == target and not family.parents:
            return counted / counted.sum()
        prior = np.full(counted.shape[1], alpha)
        if smoothing == "friedman":
            seen = counted.sum(axis=0)
            # A node without any row has no marginal; it is spread evenly.
            prior = alpha * (seen / seen.sum() if seen.sum() > 0 else np.full(len(seen), 1 / len(seen)))
        smoothed = counted + prior
        return smoothed / smoothed.sum(axis=1, keepdims=True)


DEFAULT_ALPHA = {"laplace": 1.0, "friedman": 5.0}
