"""Averaged: P(class | row) averaged over what the missing cells may hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tanager.additive.model import LookedUpModel
from tanager.arrays import Array, Codes
from tanager.missing.completions import MAX_COMPLETIONS, N_DRAWS, Completions
from tanager.missing.expected import Expected
from tanager.missing.filling import Filling, FillingTask
from tanager.missing.rule import Classes, Contributions, GapRule, answer_apart
from tanager.missing.skip import Skipped
from tanager.network.inference.evidence_rows import distinct_rows
from tanager.network.network import Network
from tanager.runtime.resources import map_threads

WORK_WORTH_COMPILING = 500_000  # completions from which the compiled kernel repays its start
TREES_OF_A_COMPLETION = 25  # whose scores take as long as its look-ups
ROW_WORK = 1_000  # completions that cost as much as the rest of a row
BLOCKS = 16  # for the threads, where rows are few
COMPILED_BLOCK_ROWS = 16, 1_024  # the cells of up to so many stay in the cache


@dataclass(frozen=True)
class Averaged(GapRule):
    """P(c | o) ~ exp(s_c(o)) sum_m q(m | o) P(c | o, m), of the cells present o and those missing m.

    q(m | o) is proportional to F(m | o) exp(sum_c lambda_c(o) P(c | o, m))

    Tables learnt for P(class | x) need not describe x, so summing a cell out of their own joint can mislead. Here a
    second network of frequencies, the filler F, says what the missing cells may hold given those present. lambda and s
    (`Filling`) make P(c | nothing) the class frequencies, and P(c | one cell) nearly those of its rows.

    The sum goes over all completions m where they are few. Else it is a mean over draws from F(m | o), made with the
    same numbers for every row, so that equal rows have equal answers, in whatever table they stand.

    The log of an average is no sum of terms. The terms are those of rule `by_terms`; what averaging adds to them is one
    part more.
    """

    name: ClassVar[str] = "averaged over"
    sentence: ClassVar[str] = "Unknown attributes are averaged over, given those known."
    rest: ClassVar[str] = "what is missing"

    network: LookedUpModel
    source: Filling | FillingTask

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        return self._answer(codes, self._worth_compiling(codes))

    def contributions(self, codes: Codes, favoured: Classes, against: Classes, log_odds: Array) -> Contributions:
        parts = self.by_terms.contributions(codes, favoured, against, log_odds)
        summed = parts.prior + parts.terms.sum(axis=1)
        # Odds that a cell present makes infinite are so in every draw: the remainder is then nothing.
        rest = np.subtract(log_odds, summed, out=np.zeros(len(codes)), where=self.with_gap(codes) & np.isfinite(summed))
        return replace(parts, remainder=rest)

    def without_each(self, codes: Codes) -> Iterator[Array]:
        """An attribute of tables is one gap more; an effect is zero in all completions."""
        if self.network.kind == "tables":
            yield from super().without_each(codes)
            return
        compiled = self._worth_compiling(codes, len(self.network.terms))
        for term in range(len(self.network.terms)):
            yield Averaged(self.network.without_term(term), self.filling)._answer(codes, compiled)

    def completed(self, codes: Codes, n_draws: int) -> Codes:
        filled = self._completions.tree.fill(self.network.coarsen(codes), n_draws)
        rows: Codes = filled.reshape(len(filled), -1).T
        return rows

    def constants(self) -> dict[str, Any]:
        """The filler's tables, the corrections, and the state that stands for each of the filler's states."""
        tree, values = self._completions.tree, self._completions.network_sums.values
        filler = {
            "order": list(tree.order),
            "parents": list(tree.parents),
            "ranks": list(tree.ranks),
            "states": list(tree.n_states),
            "middles": [values[:n, node].tolist() for node, n in enumerate(tree.n_states)],
            "draws": N_DRAWS,
            "completions": MAX_COMPLETIONS,
            "classes": tree.classes,
            "tables": np.concatenate([table.ravel() for table in tree.tables]),
            "corrections": np.concatenate([self.filling.nothing, *map(np.ravel, self.filling.states)]),
            "shift": self.filling.shift.tolist(),
        }
        return {"filler": filler, **self.by_terms.constants()}

    @cached_property
    def filling(self) -> Filling:
        """Learnt when the first gap is met."""
        return self.source if isinstance(self.source, Filling) else self.source.learn()

    @property
    def filler(self) -> Network:
        return self.filling.filler

    @cached_property
    def by_terms(self) -> GapRule:
        """The rule that gives the terms; any mean will do in it, as the remainder makes up for it."""
        if self.network.kind == "effects":
            return Expected(self.network)
        return Skipped(self.network, exact=False)

    @cached_property
    def _completions(self) -> Completions:
        return Completions(self.network, self.filler)

    def _worth_compiling(self, codes: Codes, times: int = 1) -> bool:
        """Whether averaging these rows so many times is."""
        gappy = codes[self.with_gap(codes)]
        if not len(gappy):
            return False
        n_completions = self._completions.counts(self.network.coarsen(gappy))
        work = ROW_WORK + np.where(n_completions > MAX_COMPLETIONS, N_DRAWS, n_completions)
        n_trees = len(self._completions.leaves.masks.classes)
        return bool(times * work.sum() * (1 + n_trees / TREES_OF_A_COMPLETION) >= WORK_WORTH_COMPILING)

    def _answer(self, codes: Codes, compiled: bool) -> Array:
        def average(rows: Codes) -> Array:
            found = self.filling.shifted(rows, self._average_compiled(rows) if compiled else self._average(rows))
            with np.errstate(divide="ignore"):
                return np.log(found)

        return answer_apart(
            codes, self.with_gap(codes), lambda rows: self.network.log_joint(rows, normalized=True), average
        )

    def _average(self, codes: Codes) -> Array:
        coarse, corrections = self.network.coarsen(codes), self.filling.corrections(codes)
        found = np.empty_like(corrections)
        few = self._completions.counts(coarse) <= MAX_COMPLETIONS
        for row, correction in enumerate(corrections):
            one = slice(row, row + 1)
            if few[row]:
                weights, posterior = self._completions.every(codes[one], coarse[one])
            else:
                weights, posterior = np.ones(N_DRAWS), self._completions.drawn(codes[one], coarse[one], N_DRAWS)[0]
            bent = weights * np.exp(posterior @ correction)
            found[row] = bent @ posterior / bent.sum()
        return found

    def _average_compiled(self, codes: Codes) -> Array:
        """Equal rows are averaged once."""
        from tanager.missing.average_kernels import average_rows

        some, kinds = distinct_rows(codes, range(codes.shape[1]))
        distinct = codes if len(some) == len(codes) else codes[some]
        completions, found = self._completions, np.empty((len(distinct), len(self.filling.nothing)))
        sums, tree = (completions.network_sums, completions.filler_sums), completions.tree.arrays
        shares = np.exp(completions.filler_sums.tables)
        numbers = np.ascontiguousarray(completions.tree.numbers(N_DRAWS).T)
        block = int(np.clip(len(distinct) // BLOCKS, *COMPILED_BLOCK_ROWS))

        def average(first: int) -> None:
            rows = distinct[first : first + block]
            # In the order of the rows, so that a block of them looks alike to the compiler however long it is.
            cells = np.ascontiguousarray(self.network.look_ups(rows)[1], dtype=np.int64)
            coarse = np.ascontiguousarray(self.network.coarsen(rows), dtype=np.int64)
            limits = cells, coarse, self.filling.corrections(rows), MAX_COMPLETIONS
            average_rows(*limits, *sums, shares, completions.leaves, tree, numbers, found[first : first + len(rows)])

        map_threads(average, range(0, len(distinct), block))
        return found if distinct is codes else found[kinds]
