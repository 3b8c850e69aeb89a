"""Averaged: P(class | row) averaged over what the missing cells may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tanager.gaps.expected import Expected
from tanager.gaps.filler import FillingTree
from tanager.gaps.rule import Classes, Contributions, Floats, GapRule, answer_apart
from tanager.gaps.skip import Skipped
from tanager.network.any_network import AnyNetwork
from tanager.network.network import Network
from tanager.table.batch import Codes, code_dtype
from tanager.threads import map_threads

N_DRAWS = 32  # sixteen lose 0.3 % of the log-loss, sixty-four gain 0.1 %
BLOCK_CELLS = 1 << 22
WORK_WORTH_COMPILING = 10_000_000  # drawn and present cells from which the compiled kernel repays its start


@dataclass(frozen=True)
class Averaged(GapRule):
    """P(c | o) = sum_m F(m | o) P(c | o, m), of the cells present o and those missing m.

    Tables learnt for P(class | x) need not describe x, so summing a cell out of their own joint can mislead. Here a
    second network of frequencies, the filler F, says what the missing cells may hold given those present.

    The sum is an average over a fixed number of draws of m, made with the same numbers for every row, so that equal
    rows have equal answers, in whatever table they stand.

    The log of an average is no sum of terms. The terms are those of rule `by_terms`; what averaging adds to them is one
    part more.

    filler  has the nodes of the network, at their coarse granularity where they have two; its attributes have the class
            and at most one attribute as parents
    """

    name: ClassVar[str] = "averaged over"
    sentence: ClassVar[str] = "Unknown attributes are averaged over, given those known."
    rest: ClassVar[str] = "what is missing"

    network: AnyNetwork
    filler: Network
    n_draws: int = N_DRAWS

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Floats:
        return answer_apart(
            codes, self.with_gap(codes), lambda rows: self.network.log_joint(rows, normalized=True), self._average
        )

    def contributions(self, codes: Codes, favoured: Classes, against: Classes, log_odds: Floats) -> Contributions:
        parts = self.by_terms.contributions(codes, favoured, against, log_odds)
        summed = parts.prior + parts.terms.sum(axis=1)
        # Odds that a cell present makes infinite are so in every draw: the remainder is then nothing.
        rest = np.subtract(log_odds, summed, out=np.zeros(len(codes)), where=self.with_gap(codes) & np.isfinite(summed))
        return replace(parts, remainder=rest)

    def without_each(self, codes: Codes) -> Iterator[Floats]:
        """An attribute of tables is one gap more; an effect is zero in all draws, which are the same without it."""
        if self.network.kind == "tables":
            yield from super().without_each(codes)
            return
        gappy = self.with_gap(codes)
        n_complete = len(codes) - int(gappy.sum())
        rows = np.concatenate([codes[~gappy], self._complete(codes[gappy], self._worth_compiling(codes))])
        for logs in self.by_terms.without_each(rows):
            result = np.empty((len(codes), logs.shape[1]))
            result[~gappy], result[gappy] = logs[:n_complete], self._log_mean(logs[n_complete:])
            yield result

    def constants(self) -> dict[str, Any]:
        """The filler's tables, the numbers by which it draws, and the state drawn for each of its states."""
        tree = self._tree
        n_states = np.array(tree.n_states)
        # Each column holds its states, and its last one from there on.
        steps = np.minimum(np.arange(n_states.max())[:, np.newaxis], n_states - 1)
        drawn = self.network.refine(steps.astype(code_dtype(n_states.max())))
        filler = {
            "order": list(tree.order),
            "parents": list(tree.parents),
            "states": n_states.tolist(),
            "middles": [drawn[:n, node].tolist() for node, n in enumerate(tree.n_states)],
            "draws": self.n_draws,
            "numbers": tree.numbers(self.n_draws),
            "classes": tree.classes,
            "tables": np.concatenate([table.ravel() for table in tree.tables]),
        }
        return {"filler": filler, **self.by_terms.constants()}

    @cached_property
    def by_terms(self) -> GapRule:
        """The rule that gives the terms; any mean will do in it, as the remainder makes up for it."""
        if self.network.kind == "effects":
            return Expected(self.network)
        return Skipped(self.network, exact=False)

    @cached_property
    def _tree(self) -> FillingTree:
        return FillingTree.of(self.filler)

    def _average(self, codes: Codes) -> Floats:
        cells = self.n_draws * (codes.shape[1] + self.network.n_states[-1]) + self._tree.cells_per_row
        length = max(1, BLOCK_CELLS // cells)
        compiled = self._worth_compiling(codes)

        def average(first: int) -> Floats:
            rows = self._complete(codes[first : first + length], compiled)
            return self._log_mean(self.network.log_joint(rows, normalized=True))

        return np.concatenate(map_threads(average, range(0, len(codes), length)))

    def _worth_compiling(self, codes: Codes) -> bool:
        return codes.size * self.n_draws >= WORK_WORTH_COMPILING

    def _log_mean(self, logs: Floats) -> Floats:
        """(n_rows, n_classes) log of the mean over the draws of each row, from (n_rows * n_draws, n_classes) logs."""
        with np.errstate(divide="ignore"):
            return np.log(np.exp(logs).reshape(-1, self.n_draws, logs.shape[1]).mean(axis=1))

    def _complete(self, codes: Codes, compiled: bool) -> Codes:
        """(n_rows * n_draws, n_attributes) complete rows, the draws of a row beside each other."""
        coarse = self.network.coarsen(codes)
        filled = self._tree.fill(coarse, self.n_draws, compiled)
        drawn: Codes = filled.reshape(len(filled), -1).T
        if coarse is codes:
            return drawn
        known = np.repeat(codes, self.n_draws, axis=0)
        missing = known == np.array(self.network.n_states[:-1])
        return np.where(missing, self.network.refine(drawn), known).astype(codes.dtype)
