"""Averaged: P(class | row) averaged over the possible values of the unknown cells; and the choice of a rule.

`Imputation` is the distribution of unknown cells given the known ones, a mixture with independent attributes.

With `missing` "auto" and "category" a missing cell may be a state of its own, which the schema decides. Cells that are
still unknown then follow the rule that `choose_rule` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import count, islice, pairwise
from math import isqrt
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from tanager.additive.forest import WORK_WORTH_COMPILING
from tanager.additive.model import AnyModel, LookedUpModel
from tanager.arrays import Array, ClassCodes, Codes, Ints, Words
from tanager.errors import DataError
from tanager.missing.marginalize import LeftOut, Mixed, SummedOut
from tanager.missing.rule import Contributions, Expected, MissingRule, Skipped, answer_apart
from tanager.network.log_joint import normalize_log
from tanager.runtime import PicklesFields
from tanager.runtime.resources import map_threads
from tanager.table.columns import code_dtype
from tanager.table.rows import Blocks, EncodedBatch, Rows, join_blocks
from tanager.table.schema import ColumnSchema

MISSING = ("auto", "average", "marginalize", "skip", "category")
BLOCK_ROWS = 1_024
N_DRAWS = 16
# Of a class that is rare among the draws; less would leave a row of one known cell away from its frequencies.
LARGEST_CORRECTION = 13.0
ROUNDING = 1e-9
# States with a correction of their own, the most frequent ones.
MAX_STATES = 16_384
# Attributes of a component are not quite independent: with all of the log-likelihood the weights are too certain.
TEMPER = 0.7
MAX_COMPONENTS, COMPONENTS_PER_CLASS = 64, 8
# A component describes many rows, and never one alone.
ROWS_PER_COMPONENT, DISTINCT_PER_COMPONENT = 15, 3
# Of all tables: a column of thousands of categories has few components.
MAX_CELLS = 1 << 18
MAX_ROWS = 8_192
PSEUDO_ROWS, LEAST_COUNT = 2.0, 0.5
MAX_STEPS, SMALLEST_STEP = 40, 1e-3
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


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


@dataclass(frozen=True)
class Imputation(PicklesFields):
    """F(x) = sum_k shares[k] prod_i tables[i][k, x_i], and corrections of what is averaged over it.

    The corrections are added to the log probabilities of the classes, so that a row of unknown cells has the class
    frequencies of the training rows, and a row of one known cell nearly those of the rows that have it.

    n_draws  completions of a row
    shares   (components,) they add up to one
    tables   of each attribute (components, coarse states)
    nothing  (classes,) the correction where no cell is known
    states   of each attribute (states + 1, classes) the correction where this cell alone is known; zero if unknown
    """

    n_draws: int
    shares: Array
    tables: tuple[Array, ...]
    nothing: Array
    states: tuple[Array, ...]

    def check(self, columns: Sequence[ColumnSchema]) -> None:
        """Refuse arrays of other shapes than the states of a model with these columns, the class last."""
        n_classes, n_components = columns[-1].n_states, len(self.shares)
        shapes = [(n_classes,), *((column.n_states + 1, n_classes) for column in columns[:-1])]
        shapes += [(n_components, column.coarse.n_states) for column in columns[:-1]]
        for array, shape in zip((self.nothing, *self.states, *self.tables), shapes, strict=True):
            if array.shape != shape:
                raise DataError(f"an array of the imputation has shape {array.shape}; the columns need {shape}.")
        if not all((array > 0).all() and np.isfinite(array).all() for array in (self.shares, *self.tables)):
            raise DataError("a probability of the imputation is not above zero.")

    @property
    def log_tables(self) -> Array:
        """(coarse states and one for an unknown cell of all attributes, components): tempered; unknown adds nothing."""
        none = np.zeros((1, len(self.shares)))
        return np.concatenate([part for table in self.tables for part in (TEMPER * np.log(table.T), none)])

    def draws(self, names: Sequence[str]) -> Ints:
        """(components, n_draws, attributes) coarse states; `names` are those of the attributes.

        An attribute is drawn with the same numbers in every component and for every row: by its place in the order of
        the names, those that are not informative coming last, so that they change nothing.
        """
        blank = [bool((table == 1.0 / table.shape[1]).all()) for table in self.tables]
        ranks = np.argsort(sorted(range(len(names)), key=lambda node: (blank[node], names[node]))).tolist()
        numbers = spread_numbers(self.n_draws, len(ranks))
        drawn = np.empty((len(self.shares), self.n_draws, len(ranks)), dtype=np.int64)
        for attribute, (table, rank) in enumerate(zip(self.tables, ranks, strict=True)):
            ends = table.cumsum(axis=1)
            ends = ends[:, :-1] / ends[:, -1:]
            drawn[:, :, attribute] = [np.searchsorted(each, numbers[:, rank], side="right") for each in ends]
        return drawn

    @cached_property
    def used(self) -> list[bool]:
        """Whether the model depends on an attribute. Other attributes have no correction."""
        return [bool(entries.any()) for entries in self.states]

    def corrections(self, codes: Codes) -> Array:
        """(n_rows, n_classes): the mean of those of the known cells, less the more cells are known."""
        n_used = sum(self.used)
        n_known = np.zeros(len(codes))
        total = np.zeros((len(codes), len(self.nothing)))
        for attribute in np.flatnonzero(self.used).tolist():
            entries = self.states[attribute]
            total += entries[codes[:, attribute]]
            n_known += codes[:, attribute] < len(entries) - 1
        unknown = (n_used - n_known) / max(n_used - 1, 1)
        total *= (unknown / np.maximum(n_known, 1.0))[:, np.newaxis]
        total[n_known == 0] = self.nothing
        return total

    def reordered(self, order: Sequence[int]) -> Imputation:
        """With the attributes in another order, as `Network.reordered`; the class stays last."""
        tables, states = ([parts[node] for node in order[:-1]] for parts in (self.tables, self.states))
        return replace(self, tables=tuple(tables), states=tuple(states))

    def without_attribute(self, attribute: int) -> Imputation:
        """Without an attribute: its states get equal probabilities in every component, and its correction is zero."""
        tables, states = list(self.tables), list(self.states)
        tables[attribute] = np.tile(self.shares @ tables[attribute], (len(self.shares), 1))
        states[attribute] = np.zeros_like(states[attribute])
        return replace(self, tables=tuple(tables), states=tuple(states))


def learn_mixture(rows: Rows, classes: Array, by_state: Sequence[Array]) -> tuple[Array, tuple[Array, ...]]:
    """The shares and tables of an `Imputation`, by EM within each class: every component is of one class.

    Rows are sampled by their cells, so their order decides nothing. With counts alone, and no rows, a class is one
    component. Many classes, or columns of very many states, are not told apart.

    classes   (classes,) rows of each class
    by_state  of each attribute (coarse states, classes) counts
    """
    n_cells = sum(len(counts) for counts in by_state)
    starts = np.cumsum([0, *(len(counts) for counts in by_state)])
    counts = np.concatenate([*by_state, np.zeros((0, len(classes)))])
    most = max(1, min(MAX_COMPONENTS, MAX_CELLS // max(n_cells, 1)))
    groups = [np.array([c]) for c in np.flatnonzero(classes)]
    groups = groups if 0 < len(groups) <= most else [np.arange(len(classes))]
    told_apart = np.array([np.count_nonzero(each.sum(axis=1)) > 1 for each in by_state], dtype=bool)
    cells, class_codes, weights = _sample(rows, starts, np.flatnonzero(told_apart))
    overall = _normalize(counts.sum(axis=1) + LEAST_COUNT, starts)
    shares, tables = [], []
    for group in groups:
        members = np.isin(class_codes, group)
        prior = _normalize(counts[:, group].sum(axis=1) + overall, starts)
        affordable = min(COMPONENTS_PER_CLASS * len(group), most // len(groups))
        by_weight = int(weights[members].sum() / ROWS_PER_COMPONENT)
        wanted = min(affordable, by_weight, int(members.sum()) // DISTINCT_PER_COMPONENT)
        if wanted > 1:
            parts, component_tables = _fit_components(cells[members], weights[members], starts, prior, wanted)
        else:
            frequencies = _normalize(counts[:, group].sum(axis=1) + PSEUDO_ROWS * prior, starts)
            parts, component_tables = np.ones(1), frequencies[np.newaxis]
        shares.append(parts * classes[group].sum() / max(classes.sum(), LEAST_COUNT) if len(groups) > 1 else parts)
        tables.append(component_tables)
    table = np.concatenate(tables)
    split = [table[:, first:last] for first, last in pairwise(starts)]
    known = zip(split, told_apart, strict=True)
    return np.concatenate(shares), tuple(table if several else _uniform(table) for table, several in known)


def _fit_components(
    cells: sp.csr_matrix, weights: Array, starts: Ints, prior: Array, n_components: int
) -> tuple[Array, Array]:
    """(components,) shares and (components, cells) probabilities of greatest likelihood, `prior` being pseudo-rows."""
    resemblance = cells @ cells[_spread_rows(cells, weights, n_components)].T.toarray()
    member = softmax(resemblance, axis=1)
    by_cell = cells.T.tocsr()
    for _ in range(MAX_STEPS):
        weighted = member * weights[:, np.newaxis]
        tables = _normalize((by_cell @ weighted).T + PSEUDO_ROWS * prior, starts)
        shares = weighted.sum(axis=0) + LEAST_COUNT
        shares /= shares.sum()
        before, member = member, softmax(cells @ np.log(tables).T + np.log(shares), axis=1)
        if np.abs(member - before).max() < SMALLEST_STEP:
            break
    return shares, tables


def _spread_rows(cells: sp.csr_matrix, weights: Array, n: int) -> list[int]:
    """n rows unlike each other: each is drawn by the cells in which it differs from those before (k-means++)."""
    chosen = [0]
    alike = np.zeros(cells.shape[0])
    n_attributes = np.diff(cells.indptr).max()
    for k in range(1, n):
        alike = np.maximum(alike, cells @ cells[[chosen[-1]]].toarray()[0])
        reached = np.cumsum(weights * (n_attributes - alike + 1e-9))
        chosen.append(min(int(np.searchsorted(reached, (k * GOLDEN) % 1.0 * reached[-1])), len(reached) - 1))
    return chosen


def _uniform(table: Array) -> Array:
    """The distribution of an attribute without information: at most one of its states occurs."""
    return np.full_like(table, 1.0 / table.shape[1])


def _sample(rows: Rows, starts: Ints, attributes: Ints) -> tuple[sp.csr_matrix, Ints, Array]:
    """At most MAX_ROWS distinct rows at the coarse granularity: those of lowest key, so their order decides nothing.

    cells        (rows, cells of all attributes) one for each known cell of these attributes
    class_codes  (rows,)
    weights      (rows,)
    """
    n_states = np.diff(starts)
    blocks = rows.sum(partial(_lowest_rows, attributes=attributes), "lowest").values
    (batch,) = _lowest_rows(join_blocks(blocks, rows.n_states), attributes).values
    codes = batch.codes[:, attributes].astype(np.int64)
    known = codes < n_states[attributes]
    indices = (starts[attributes] + codes)[known]
    pointers = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    cells = sp.csr_matrix((np.ones(len(indices)), indices, pointers), shape=(len(codes), int(starts[-1])))
    return cells, batch.class_codes.astype(np.int64), batch.row_weights


def _lowest_rows(batch: EncodedBatch, attributes: Ints) -> Blocks[EncodedBatch]:
    """Distinct rows of lowest key (by these attributes and the class), each with the weight of all rows equal to it."""
    keys = _mix(batch.class_codes.astype(np.uint64))
    for attribute in attributes.tolist():
        keys = _mix(keys ^ batch.codes[:, attribute].astype(np.uint64))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.bincount(inverse, batch.row_weights)[:MAX_ROWS].astype(np.float64)
    return Blocks((replace(batch.take(first[:MAX_ROWS]), weights=weights),))


def _mix(keys: Words) -> Words:
    """Pseudo-random numbers by hashing numbers (splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _normalize(counts: Array, starts: Ints) -> Array:
    """(..., cells) the counts of each attribute divided by their sum."""
    totals = np.add.reduceat(counts, starts[:-1], axis=-1)
    return np.asarray(counts / np.repeat(totals, np.diff(starts), axis=-1))


@lru_cache(maxsize=8)
def spread_numbers(n_draws: int, n_columns: int) -> Array:
    """(n_draws, n_columns) numbers from 0 to 1: multiples of the roots of the primes, less their whole parts.

    Each column, and most pairs of columns, fill the interval (the square) evenly (Richtmyer 1951).
    """
    roots = np.sqrt(np.array(_first_primes(n_columns), dtype=np.float64))
    return np.asarray(((np.arange(n_draws) + 0.5)[:, np.newaxis] * roots) % 1.0)


def _first_primes(n: int) -> list[int]:
    primes = (number for number in count(2) if all(number % factor for factor in range(2, isqrt(number) + 1)))
    return list(islice(primes, n))
