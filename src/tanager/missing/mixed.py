"""Mixed: a missing cell is summed out of every member of a mixture, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.missing.rule import Classes, Contributions, GapRule, between
from tanager.missing.sum_out import SummedOut
from tanager.network.log_joint import normalize_log
from tanager.network.mixture import MixtureNetwork

BLOCK_CELLS = 1 << 24
"""Of rows and networks: whether a network leaves out a row is held for so many at a time."""


@dataclass(frozen=True)
class Mixed(GapRule):
    r"""P(c | o) = sum_m w_m P_m(c, o) / sum_m w_m P_m(o), of the cells present o.

    The log odds of a sum are a mean of the members' log odds (Montgomery 1937): with a_m = w_m P_m(c, o) and b_m the
    same of the other class, A and B their sums, and L(a, b) = (a - b) / (log a - log b) the logarithmic mean,

    log A / B = sum_m L(a_m, b_m) / L(A, B) log a_m / b_m.

    So each term is the mean, with these weights, of what it is in the members: `SummedOut`.
    """

    name: ClassVar[str] = "summed out"
    sentence: ClassVar[str] = "Unknown attributes are summed out."

    network: MixtureNetwork

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        """Not `normalized`: log P(class, cells present)."""
        result = self._log_mixture(codes)
        return normalize_log(result) if normalized else result

    def contributions(self, codes: Codes, favoured: Classes, against: Classes, log_odds: Array) -> Contributions:
        rows = np.arange(len(codes))
        whole = self._log_mixture(codes)
        codes, left_out = self.network.resolve(codes)
        log_mean = _log_mean(whole[rows, favoured], whole[rows, against])
        prior, terms = np.zeros(len(codes)), np.zeros((len(codes), len(self.network.terms)))
        for log_weight, rule, out in zip(np.log(self.network.weights), self._rules, left_out, strict=True):
            logs = rule.log_posterior(codes, normalized=False) + log_weight
            share = np.where(out, 0.0, np.exp(_log_mean(logs[rows, favoured], logs[rows, against]) - log_mean))
            parts = rule.contributions(codes, favoured, against, between(logs, favoured, against))
            prior += share * parts.prior
            terms += share[:, np.newaxis] * parts.terms
        return Contributions(prior, terms, np.zeros(len(codes)))

    def _log_mixture(self, codes: Codes) -> Array:
        """(n_rows, n_classes) log P(class, cells present)."""
        network, packed = self.network, self.network.superparents
        if packed is None or not packed.worth_compiling(len(codes)):
            known, left_out = network.resolve(codes)
            return network.mix(self._log_joints(known, left_out))
        if network.subsumption is None:
            return packed.log_mixture(codes, network.weights)
        size = max(1, BLOCK_CELLS // len(packed))
        blocks = (network.resolve(codes[first : first + size]) for first in range(0, len(codes), size))
        found = [packed.log_mixture(known, network.weights, left_out) for known, left_out in blocks]
        return np.concatenate(found) if found else np.empty((0, network.n_states[-1]))

    def _log_joints(self, codes: Codes, left_out: NDArray[np.bool_]) -> Iterator[Array]:
        for rule, out in zip(self._rules, left_out, strict=True):
            logs = rule.log_posterior(codes, normalized=False)
            if out.any():
                logs[out] = -np.inf
            yield logs

    @cached_property
    def _rules(self) -> tuple[SummedOut, ...]:
        return tuple(map(SummedOut, self.network.members))


def _log_mean(first: Array, second: Array) -> Array:
    """log of the logarithmic mean of exp(first) and exp(second)."""
    high, gap = np.maximum(first, second), np.abs(first - second)
    # (1 - exp(-gap)) / gap, which is 1 where the two are equal
    ratio = np.divide(-np.expm1(-gap), gap, out=np.ones_like(gap), where=gap > 0)
    log_mean: Array = high + np.log(ratio)
    return log_mean
