"""Averaged: P(class | row) averaged over the possible values of the unknown cells; and the choice of a rule.

With `missing` "auto" and "category" a missing cell may be a state of its own, which the schema decides. Cells that are
still unknown then follow the rule that `choose_rule` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from tanager.additive.forest import WORK_WORTH_COMPILING
from tanager.additive.model import AnyModel, LookedUpModel
from tanager.arrays import Array, ClassCodes, Codes, Ints
from tanager.missing.imputation import PSEUDO_ROWS, Imputation, learn_mixture
from tanager.missing.marginalize import LeftOut, Mixed, SummedOut
from tanager.missing.rule import Contributions, MissingRule, answer_apart
from tanager.missing.skip import Expected, Skipped
from tanager.network.log_joint import normalize_log
from tanager.runtime.resources import map_threads
from tanager.table.columns import code_dtype
from tanager.table.rows import Rows

MISSING = ("auto", "average", "marginalize", "skip", "category")
BLOCK_ROWS = 1_024
N_DRAWS = 16
# Of a class that is rare among the draws; less would leave a row of one known cell away from its frequencies.
LARGEST_CORRECTION = 13.0
ROUNDING = 1e-9
# States with a correction of their own, the most frequent ones.
MAX_STATES = 16_384


@dataclass(frozen=True)
class Averaged(MissingRule):
    r"""P(c | o) ~ exp(correction_c(o)) mean_m P(c | o, m), of the known cells o, over `n_draws` draws m of the others.

    Tables and effects learnt for P(class | x) do not describe x, so a second model, `Imputation`, does. The draws are
    distributed over its components by

    F(k | o) ~ shares[k] prod_{i in o} tables[i][k, o_i]^TEMPER

    and use the same numbers for every row, so nothing is random: equal rows have equal probabilities in every table. A
    numeric cell is drawn as the middle of a coarse bin.

    The log of a mean is not a sum of terms. The terms are those of the rule `by_terms`; the remainder is one more part.
    """

    name: ClassVar[str] = "averaged over"
    sentence: ClassVar[str] = "Attributes that are not given are averaged over."
    rest: ClassVar[str] = "unknown cells"

    network: LookedUpModel
    imputation: Imputation

    def log_posterior(self, codes: Codes, normalized: bool = True) -> Array:
        def average(rows: Codes) -> Array:
            with np.errstate(divide="ignore"):
                logs = np.log(self._averages(rows))
            return normalize_log(logs + self.imputation.corrections(rows))

        return answer_apart(
            codes, self.has_unknown(codes), lambda rows: self.network.log_joint(rows, normalized=True), average
        )

    def contributions(self, codes: Codes, favoured: ClassCodes, against: ClassCodes, log_odds: Array) -> Contributions:
        parts = self.by_terms.contributions(codes, favoured, against, log_odds)
        summed = parts.prior + parts.terms.sum(axis=1)
        # Odds that a known cell makes infinite are so in every draw: the remainder is then nothing.
        unknown = self.has_unknown(codes) & np.isfinite(summed)
        rest = np.subtract(log_odds, summed, out=np.zeros(len(codes)), where=unknown)
        return replace(parts, remainder=rest)

    def without_each(self, codes: Codes) -> Iterator[Array]:
        """Without an attribute of tables, its cell is unknown; without an effect, the effect is zero in all draws."""
        if self.network.kind == "tables":
            yield from super().without_each(codes)
            return
        for term in range(len(self.network.terms)):
            yield Averaged(self.network.without_term(term), self.imputation).log_posterior(codes)

    def completed(self, codes: Codes) -> Codes:
        return self.network.coarsen(self._complete(codes))

    def constants(self) -> dict[str, Any]:
        """The imputation and its draws, the latter at the fine granularity; arrays are flat.

        "states" and "codes" are the numbers of coarse and of fine states, "logs" [attribute, coarse state, component],
        "completions" [component, draw, attribute], "corrections" [attribute, state, class]. "draws" is their number.
        """
        mixture = self.imputation
        described = {
            "states": [table.shape[1] for table in mixture.tables],
            "codes": list(self.network.n_states[:-1]),
            "used": mixture.used,
            "draws": mixture.n_draws,
            "shares": np.log(mixture.shares),
            "logs": np.delete(mixture.log_tables, self._starts[1:] - 1, axis=0).ravel(),
            "completions": np.moveaxis(self._draws, 0, 2).astype(np.int32).ravel(),
            "nothing": mixture.nothing,
            "corrections": np.concatenate([entries.ravel() for entries in mixture.states]),
        }
        return {"imputation": described, **self.by_terms.constants()}

    @cached_property
    def by_terms(self) -> MissingRule:
        """The rule that gives the terms. Any mean is correct in it, because the remainder corrects the sum."""
        if self.network.kind == "effects":
            return Expected(self.network)
        return Skipped(self.network, exact=False)

    def _averages(self, codes: Codes) -> Array:
        """(n_rows, n_classes) means over the completions of each row."""
        means = np.empty((len(codes), self.network.n_states[-1]))
        n_completed = len(codes) * self.imputation.n_draws

        def average(first: int) -> None:
            rows = slice(first, first + BLOCK_ROWS)
            shares = self._log_joints(codes[rows], n_completed)
            shares -= shares.max(axis=0)
            np.exp(shares, out=shares)
            shares /= shares.sum(axis=0)
            means[rows] = shares.reshape(len(shares), -1, self.imputation.n_draws).mean(axis=2).T

        map_threads(average, range(0, len(codes), BLOCK_ROWS))
        return means

    def _log_joints(self, codes: Codes, n_completed: int) -> Array:
        """(n_classes, n_rows * n_draws) of the completed rows of a block; all blocks have `n_completed` of them."""
        completed = self._complete(codes)
        by_row = np.ascontiguousarray(self._tree_sums(codes, completed, n_completed).T)
        look_up, cells = self.network.look_ups(completed)
        look_up.add(cells, by_row, compiled=look_up.worth_compiling(n_completed))
        return np.ascontiguousarray(by_row.T)

    def _tree_sums(self, codes: Codes, completed: Codes, n_completed: int) -> Array:
        """(n_classes, n_rows * n_draws) what the boosted trees add, if there are any."""
        n_states, forest = self.network.n_states, self.network.forest if self.network.kind == "effects" else None
        sums = np.zeros((n_states[-1], len(completed)))
        if forest is None:
            return sums
        if n_completed * len(forest.roots) < WORK_WORTH_COMPILING or self.imputation.n_draws != N_DRAWS:
            return forest.scores(completed).T
        from tanager.missing.draw_kernels import add_leaves_of_draws

        masks, values = forest.masks, forest.masks.in_slots(forest.values)
        unknown = np.array(n_states[:-1], codes.dtype)
        add_leaves_of_draws(np.ascontiguousarray(codes.T), completed.T, unknown, masks, values, sums)
        return sums

    def _complete(self, codes: Codes) -> Codes:
        """(n_rows * n_draws, n_attributes) each row with imputed values in its unknown cells."""
        components, n_draws = self._components(codes), self.imputation.n_draws
        columns = np.empty((codes.shape[1], len(codes), n_draws), dtype=codes.dtype)
        for attribute, n_states in enumerate(self.network.n_states[:-1]):
            columns[attribute] = codes[:, attribute, np.newaxis]
            unknown = np.flatnonzero(codes[:, attribute] == n_states)
            if len(unknown):
                columns[attribute, unknown] = self._draws[attribute][components[unknown], np.arange(n_draws)]
        completed: Codes = columns.reshape(len(columns), -1).T
        return completed

    def _components(self, codes: Codes) -> Ints:
        """(n_rows, n_draws) the component of each draw: ascending, in proportion to F(component | known)."""
        n_draws = self.imputation.n_draws
        cells = (self._starts[:-1] + self.network.coarsen(codes)).reshape(-1)
        pointers = np.arange(0, len(cells) + 1, max(codes.shape[1], 1))
        look_up = sp.csr_matrix((np.ones(len(cells)), cells, pointers), shape=(len(codes), int(self._starts[-1])))
        weights = softmax(look_up @ self._log_tables + np.log(self.imputation.shares), axis=1)
        ends = np.floor(weights.cumsum(axis=1) * n_draws + 0.5 - ROUNDING).astype(np.int64)
        ends[:, -1] = n_draws
        numbers = np.tile(np.arange(ends.shape[1]), len(ends))
        return np.repeat(numbers, np.diff(ends, axis=1, prepend=0).reshape(-1)).reshape(len(codes), n_draws)

    @cached_property
    def _log_tables(self) -> Array:
        return self.imputation.log_tables

    @cached_property
    def _starts(self) -> Ints:
        """Where the coarse states of each attribute begin in `log_tables`, an unknown cell being one more."""
        return np.cumsum([0, *(table.shape[1] + 1 for table in self.imputation.tables)])

    @cached_property
    def _draws(self) -> Codes:
        """(attributes, components, n_draws) at the fine granularity."""
        draws = self.imputation.draws(self.network.nodes[:-1])
        coarse = draws.reshape(-1, draws.shape[2]).astype(np.uint64)
        fine = self.network.refine(coarse).reshape(draws.shape)
        return np.ascontiguousarray(np.moveaxis(fine, 2, 0), dtype=code_dtype(max(self.network.n_states)))


def learn_imputation(
    network: LookedUpModel, rows: Rows, classes: Array, by_state: Sequence[Array], order: Sequence[int]
) -> Imputation:
    """From the rows a model was learnt from.

    classes   (classes,) counts
    by_state  of each attribute (states, classes) counts
    order     of the nodes in the result: node k of it is node order[k] of the model here
    """
    coarse = []
    for column, counts in zip(network.columns[:-1], by_state, strict=True):
        grouped = np.zeros((column.coarse.n_states, len(classes)))
        np.add.at(grouped, column.coarse_codes[:-1], counts)
        coarse.append(grouped)
    shares, tables = learn_mixture(rows, classes, coarse)
    none = tuple(np.zeros((len(counts) + 1, len(classes))) for counts in by_state)
    uncorrected = Imputation(N_DRAWS, shares, tables, np.zeros(len(classes)), none)
    return _corrected(Averaged(network, uncorrected), classes, by_state).reordered(order)


def _corrected(rule: Averaged, classes: Array, by_state: Sequence[Array]) -> Imputation:
    """The imputation with the corrections that make up for what the averages of none and one known cell miss.

    Few rows leave the average of a state as it is: it counts as PSEUDO_ROWS more of them.
    """
    n_rows = np.concatenate([counts.sum(axis=1) for counts in by_state])
    owners = np.repeat(np.arange(len(by_state)), [len(counts) for counts in by_state])
    numbers = np.concatenate([np.arange(len(counts)) for counts in by_state])
    counted = np.flatnonzero((n_rows > 0) & np.isin(owners, _used_attributes(rule.network)))
    chosen = counted[np.argsort(-n_rows[counted], kind="stable")[:MAX_STATES]]
    n_states = np.array(rule.network.n_states[:-1])
    codes = np.tile(n_states, (len(chosen) + 1, 1)).astype(code_dtype(int(n_states.max())))
    codes[np.arange(len(chosen)), owners[chosen]] = numbers[chosen]
    averages = rule._averages(codes)
    counts = np.concatenate([np.concatenate(list(by_state))[chosen], classes[np.newaxis]])
    target = counts + PSEUDO_ROWS * averages
    target[-1] = classes
    target /= np.maximum(target.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    ratio = np.divide(target, averages, out=np.ones_like(target), where=(target > 0) & (averages > 0))
    corrections = np.clip(np.log(ratio), -LARGEST_CORRECTION, LARGEST_CORRECTION)
    states = [np.zeros((len(each) + 1, len(classes))) for each in by_state]
    for position, correction in zip(chosen.tolist(), corrections[:-1], strict=True):
        states[owners[position]][numbers[position]] = correction
    return replace(rule.imputation, nothing=corrections[-1], states=tuple(states))


def _used_attributes(network: LookedUpModel) -> list[int]:
    """Those that P(class | row) depends on; of a network all that have several states."""
    if network.kind == "tables":
        return [attribute for attribute, n_states in enumerate(network.n_states[:-1]) if n_states > 1]
    mains = {attribute for attribute, main in enumerate(network.mains) if main.any()}
    trees = set() if network.forest is None else set(network.forest.attributes.tolist())
    return sorted(mains | trees | {attribute for pair in network.pairs for attribute in pair})


def needs_imputation(missing: str, describes_attributes: bool) -> bool:
    """Whether unknown cells are averaged over by an imputation model.

    Tables that describe the attributes need none: to average over their own joint is to marginalise it.
    """
    return missing in ("auto", "average", "category") and not describes_attributes


def choose_rule(network: AnyModel, imputation: Imputation | None = None, missing: str = "marginalize") -> MissingRule:
    """The rule of a model learnt with this `missing`, averaging where there is an imputation; or of a model alone."""
    match network.kind:
        case "mixtures":
            return Mixed(network)
        case "trees":
            return LeftOut(network)
    if imputation is not None:
        return Averaged(network, imputation)
    if network.kind == "effects":
        return Expected(network)
    return Skipped(network) if missing == "skip" else SummedOut(network)
