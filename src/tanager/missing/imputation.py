"""Imputation: the distribution of unknown cells given the known ones, a mixture with independent attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise, takewhile

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from tanager.arrays import Array, Codes, Ints, Words
from tanager.errors import DataError
from tanager.runtime import PicklesFields
from tanager.table.rows import Blocks, EncodedBatch, Rows, join_blocks
from tanager.table.schema import ColumnSchema

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
        alike = np.maximum(alike, (cells @ cells[chosen[-1]].T).toarray()[:, 0])
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
    primes: list[int] = []
    candidate = 2
    while len(primes) < n:
        if all(candidate % prime for prime in takewhile(lambda prime: prime**2 <= candidate, primes)):  # noqa: B023
            primes.append(candidate)
        candidate += 1
    return primes
