"""The completions of rows with gaps, and P(class | completion): all there are, or draws of a filler."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import LookedUpModel
from tanager.arrays import Array, Codes, Ints
from tanager.missing.filler import FillingTree
from tanager.missing.leaves import Leaves
from tanager.missing.sums import Sums, sum_completions, sum_draws
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.table.columns import code_dtype

MAX_COMPLETIONS = 4_096
N_DRAWS = 512


@dataclass(frozen=True)
class Completions:
    """Of the rows of a network; the filler says how often each occurs.

    A missing attribute goes through its coarse states, each as the middle of its fine ones. A cell that is present
    keeps its fine state.
    """

    network: LookedUpModel
    filler: Network

    def counts(self, coarse: Codes) -> Array:
        """(n_rows,) how many completions each row has, by its codes at the coarse granularity."""
        return np.where(coarse == self._n_states, self._n_states.astype(np.float64), 1.0).prod(axis=1)

    def every(self, codes: Codes, coarse: Codes) -> tuple[Array, Array]:
        """Of a table of one row: (n,) F(completion | cells present), and (n, n_classes) P(class | completion)."""
        missing = coarse[0] == self._n_states
        logs = sum_completions(self.filler_sums, coarse[0], missing)
        weights = np.exp(logs - logs.max()).sum(axis=1)
        if self.network.is_looked_up:
            sums = sum_completions(self.network_sums, self.network.look_ups(codes)[1][0], missing)
        else:
            sums = self.network.log_joint(self._every_row(codes[0], missing))
        return weights / weights.sum(), np.exp(normalize_log(sums))

    def _every_row(self, row: Codes, missing: NDArray[np.bool_]) -> Codes:
        """The completed rows, the state of the last missing attribute changing fastest."""
        n_states, middles = self._n_states, self.network_sums.values
        numbers, period = np.arange(n_states[missing].prod()), 1
        rows = np.tile(row, (len(numbers), 1))
        for node in np.flatnonzero(missing)[::-1].tolist():
            rows[:, node] = middles[numbers // period % n_states[node], node]
            period *= int(n_states[node])
        return rows

    def drawn(self, codes: Codes, coarse: Codes, n_draws: int, compiled: bool = False) -> Array:
        """(n_rows, n_draws, n_classes) P(class | completion) of as many completions drawn for each row."""
        filled = self.tree.fill(coarse, n_draws, compiled)
        if len(codes) == 1 and self.network.is_looked_up:
            missing = coarse[0] == self._n_states
            sums = sum_draws(self.network_sums, self.network.look_ups(codes)[1][0], missing, filled[:, 0])
            return np.exp(normalize_log(sums))[np.newaxis]
        rows: Codes = filled.reshape(len(filled), -1).T
        if coarse is not codes:
            known = np.repeat(codes, n_draws, axis=0)
            missing = known == np.array(self.network.n_states[:-1])
            rows = np.where(missing, self.network.refine(rows), known).astype(codes.dtype)
        return np.exp(self.network.log_joint(rows, normalized=True)).reshape(len(codes), n_draws, -1)

    @cached_property
    def tree(self) -> FillingTree:
        return FillingTree.of(self.filler)

    @cached_property
    def network_sums(self) -> Sums:
        n_states = self._n_states
        # Each column goes through its states, and stays in its last one.
        steps = np.minimum(np.arange(n_states.max())[:, np.newaxis], n_states - 1)
        middles = self.network.refine(steps.astype(code_dtype(n_states.max())))
        look_up, values = self.network.look_ups(middles.astype(code_dtype(max(self.network.n_states))))
        attributes = np.array(self.network.look_up_attributes, dtype=np.int64)
        return Sums.of(look_up, n_states, attributes, values.astype(np.int64))

    @cached_property
    def leaves(self) -> Leaves:
        forest = self.network.forest if self.network.kind == "effects" else None
        return Leaves.of(forest, self.network_sums)

    @cached_property
    def filler_sums(self) -> Sums:
        n_attributes = len(self._n_states)
        values = np.tile(np.arange(self._n_states.max())[:, np.newaxis], n_attributes)
        return Sums.of(self.filler.log_joint, self._n_states, np.arange(n_attributes), values)

    @cached_property
    def _n_states(self) -> Ints:
        return np.array(self.filler.n_states[:-1])
