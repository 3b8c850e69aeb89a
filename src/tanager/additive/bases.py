"""What the effects of a term are: a smooth curve along ordered bins, a number for each category, products for a pair.

An ordered attribute's curve is a random walk along its bins: the penalty is on the squared steps, so that many fine
bins share strength. The walk is turned to its smoothest parts, of which a few are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]
Term = tuple[int, ...]
"""The attributes of a term: one, or the two of a pair."""
Pairs = tuple[tuple[int, int], ...]

# Smoothest parts of a curve: with more the loss is the same, and a fit takes longer.
CURVE_PARTS = 32
# Of a curve in a pair, times the fifth root of the rows, as the numbers of bins are (`table.granularity`).
PAIR_PARTS = 1.25
BINS_EXPONENT = 0.2
# A walk of more steps has smaller ones, so that its ends are no further apart: finer bins mean no larger effects.
FULL_STEPS = 4


@lru_cache(maxsize=None)
def random_walk(n: int, most: int) -> Array:
    """(n, parts) a random walk along n bins, in its smoothest parts, at most so many.

    The walk is T u with a penalty on u^2, T the bins by the steps up to them. Turned to the eigenvectors of T' T it is
    the same curve under the same prior, but its parts are uncorrelated over equally frequent bins, which the optimiser
    needs. The smoothest have the largest variance.
    """
    steps = np.tri(n)[:, 1:]
    steps = steps - steps.mean(axis=0)
    turn = np.linalg.eigh(steps.T @ steps)[1][:, ::-1]
    walk: Array = step_size(n) * steps @ turn[:, :most]
    return walk


def step_size(n: int) -> float:
    """Of a walk along n bins, in units of 1 / sqrt(lambda)."""
    return float(np.sqrt(min(1.0, FULL_STEPS / max(1, n - 1))))


@dataclass(frozen=True)
class Basis:
    """The states of an attribute as sums of effects.

    matrix  (n_states, n_effects); None where every state has an effect of its own
    shares  (n_states,) of the training rows: an unknown state, one more, is the mean of the others
    """

    matrix: Array | None
    shares: Array

    @classmethod
    def of(cls, column: ColumnSchema, shares: Array, most: int, direction: int = 0) -> Basis:
        """A smooth curve of at most so many parts where states have an order; a missing state is apart from it.

        With a direction the effects are the steps of the walk themselves, which may not be negative.
        """
        if not column.has_order:
            return cls(None, shares)
        n_bins = column.n_states - column.gap_state
        walk = direction * step_size(n_bins) * np.tri(n_bins)[:, 1:] if direction else random_walk(n_bins, most)
        total = shares[:n_bins].sum()
        walk = walk - (shares[:n_bins] / total if total > 0 else np.full(n_bins, 1 / n_bins)) @ walk
        if column.gap_state:
            walk = np.block([[walk, np.zeros((n_bins, 1))], [np.zeros((1, walk.shape[1])), np.ones((1, 1))]])
        return cls(walk, shares)

    def squared(self) -> Basis:
        """The squares of its entries: how far an effect moves each state."""
        return Basis(None if self.matrix is None else self.matrix**2, self.shares)

    @property
    def n_cells(self) -> int:
        return len(self.shares) + 1

    @property
    def n_effects(self) -> int:
        return len(self.shares) if self.matrix is None else self.matrix.shape[1]

    @property
    def key(self) -> tuple[int, int, bool]:
        return self.n_cells, self.n_effects, self.matrix is None


@dataclass(frozen=True)
class _Stack:
    """Bases of one shape: (n_terms, n_states, n_effects), None for one effect for each state; shares likewise."""

    matrices: Array | None
    shares: Array

    @classmethod
    def of(cls, bases: Iterable[Basis]) -> _Stack:
        bases = list(bases)
        shares = np.stack([basis.shares for basis in bases])[:, np.newaxis]
        if bases[0].matrix is None:
            return cls(None, shares)
        matrices = np.stack([basis.matrix for basis in bases if basis.matrix is not None])
        return cls(np.concatenate([matrices, shares @ matrices], axis=1), shares)

    def expand(self, effects: Array) -> Array:
        """(n_terms, n_cells, k) from (n_terms, n_effects, k)."""
        matrices, shares = self._in(effects.dtype)
        if matrices is not None:
            return matrices @ effects
        return np.concatenate([effects, shares @ effects], axis=1)

    def collect(self, by_cell: Array) -> Array:
        """(n_terms, n_effects, k) from (n_terms, n_cells, k): the transpose of `expand`."""
        matrices, shares = self._in(by_cell.dtype)
        if matrices is not None:
            return matrices.swapaxes(1, 2) @ by_cell
        return by_cell[:, :-1] + shares.swapaxes(1, 2) * by_cell[:, -1:]

    def along(self, values: Array, transposed: bool) -> Array:
        """`expand` or `collect` along the second axis of (n_terms, m, n, k), for each of the m."""
        n_terms, m, n, k = values.shape
        matrices, _ = self._in(values.dtype)
        if matrices is not None:
            return (matrices.swapaxes(1, 2) if transposed else matrices)[:, np.newaxis] @ values
        moved = values.swapaxes(1, 2).reshape(n_terms, n, m * k)
        found = self.collect(moved) if transposed else self.expand(moved)
        return found.reshape(n_terms, -1, m, k).swapaxes(1, 2)

    def _in(self, dtype: np.dtype[np.floating]) -> tuple[Array | None, Array]:
        """Matrices and shares in a precision."""
        if dtype == np.float64:
            return self.matrices, self.shares
        return self._single

    @cached_property
    def _single(self) -> tuple[Array | None, Array]:
        return None if self.matrices is None else self.matrices.astype(np.float32), self.shares.astype(np.float32)


@dataclass(frozen=True)
class _Group:
    """Neighbouring terms of one shape, which are expanded together."""

    stacks: tuple[_Stack, ...]
    n_terms: int
    cells: tuple[int, ...]
    effects: tuple[int, ...]

    def expand(self, effects: Array) -> Array:
        """(cells, k) from (effects, k)."""
        k = effects.shape[1]
        if len(self.stacks) == 1:
            return self.stacks[0].expand(effects.reshape(self.n_terms, -1, k)).reshape(-1, k)
        left, right = self.stacks
        table = left.expand(effects.reshape(self.n_terms, self.effects[0], -1))  # (n, left cells, right effects * k)
        by_right = table.reshape(self.n_terms, self.cells[0], self.effects[1], k)
        return right.along(by_right, transposed=False).reshape(-1, k)

    def collect(self, by_cell: Array) -> Array:
        k = by_cell.shape[1]
        if len(self.stacks) == 1:
            return self.stacks[0].collect(by_cell.reshape(self.n_terms, -1, k)).reshape(-1, k)
        left, right = self.stacks
        by_right = right.along(by_cell.reshape(self.n_terms, *self.cells, k), transposed=True)
        return left.collect(by_right.reshape(self.n_terms, self.cells[0], -1)).reshape(-1, k)


class Terms:
    """The terms of a model in an order in which those of one shape are neighbours, and where their cells lie.

    A cell is a state of an attribute or two states of a pair, unknown counted as one more state of each.

    columns  all attributes
    fine     their bases alone
    coarse   their bases in pairs
    terms    which there are
    monotone for each attribute 1 or -1 where its curve may only rise or fall; () where nothing is constrained
    """

    def __init__(
        self,
        columns: Sequence[ColumnSchema],
        fine: Sequence[Basis],
        coarse: Sequence[Basis],
        terms: Iterable[Term] | None = None,
        monotone: Sequence[int] = (),
    ) -> None:
        self.columns, self.fine, self.coarse, self.monotone = tuple(columns), tuple(fine), tuple(coarse), monotone
        every = ((a,) for a in range(len(columns))) if terms is None else terms
        self.terms = tuple(sorted(every, key=lambda term: [len(term), *(basis.key for basis in self.bases(term)), term]))
        self.n_cells = np.array([_product(b.n_cells for b in self.bases(term)) for term in self.terms], dtype=np.intp)
        self.n_effects = np.array([_product(b.n_effects for b in self.bases(term)) for term in self.terms], np.intp)
        self.first_cell = np.concatenate([[0], np.cumsum(self.n_cells)]).astype(np.intp)
        self.first_effect = np.concatenate([[0], np.cumsum(self.n_effects)]).astype(np.intp)

    @classmethod
    def of(
        cls, columns: Sequence[ColumnSchema], shares: Sequence[Array], n_rows: int, monotone: Sequence[int] = ()
    ) -> Terms:
        """The attributes alone. `shares` (n_states,) of the rows are those of the fine states."""
        parts = max(2, round(PAIR_PARTS * n_rows**BINS_EXPONENT))
        directions = monotone or [0] * len(columns)
        fine = [Basis.of(*each[:2], CURVE_PARTS, each[2]) for each in zip(columns, shares, directions, strict=True)]
        coarse = [
            Basis.of(column.coarse, coarse_shares(column, own), parts)
            for column, own in zip(columns, shares, strict=True)
        ]
        return cls(columns, fine, coarse, monotone=monotone)

    def only(self, terms: Iterable[Term]) -> Terms:
        """The same attributes with other terms."""
        return Terms(self.columns, self.fine, self.coarse, terms, self.monotone)

    def squared(self) -> Terms:
        """The squares of the entries of all bases: how far an effect moves each cell."""
        fine, coarse = ([basis.squared() for basis in bases] for bases in (self.fine, self.coarse))
        return Terms(self.columns, fine, coarse, self.terms)

    def bases(self, term: Term) -> tuple[Basis, ...]:
        return (self.fine[term[0]],) if len(term) == 1 else tuple(self.coarse[a] for a in term)

    @cached_property
    def _groups(self) -> list[tuple[slice, slice, _Group]]:
        """Effects, cells and the group of the terms of each shape."""
        found, first = [], 0
        for _, members in groupby(self.terms, lambda term: [basis.key for basis in self.bases(term)]):
            terms = [self.bases(term) for term in members]
            stacks = tuple(_Stack.of(column) for column in zip(*terms, strict=True))
            group = _Group(
                stacks, len(terms), tuple(b.n_cells for b in terms[0]), tuple(b.n_effects for b in terms[0])
            )
            last = first + len(terms)
            effects = slice(self.first_effect[first], self.first_effect[last])
            found.append((effects, slice(self.first_cell[first], self.first_cell[last]), group))
            first = last
        return found

    def expand(self, effects: Array) -> Array:
        """(cells, k) what each cell adds, from effects (n_effects, k)."""
        tables = np.empty((self.first_cell[-1], effects.shape[1]), effects.dtype)
        for own, cells, group in self._groups:
            tables[cells] = group.expand(effects[own])
        return tables

    def collect(self, by_cell: Array) -> Array:
        """(n_effects, k) the transpose of `expand`: slopes by the effects from slopes by the cells."""
        found = np.empty((self.first_effect[-1], by_cell.shape[1]), by_cell.dtype)
        for own, cells, group in self._groups:
            found[own] = group.collect(by_cell[cells])
        return found

    def cells(self, codes: NDArray[np.integer], first: int, last: int) -> NDArray[np.int32]:
        """(n_rows, last - first) the cell of each row in some terms, numbered from the first of them."""
        terms = self.terms[first:last]
        found = np.empty((len(codes), len(terms)), np.int32, order="F")
        paired = {a for term in terms if len(term) > 1 for a in term}
        coarse = {a: self.columns[a].coarse_codes.astype(np.int32)[codes[:, a]] for a in paired}
        for k, term in enumerate(terms):
            if len(term) == 1:
                found[:, k] = codes[:, term[0]]
            else:
                np.multiply(coarse[term[0]], self.coarse[term[1]].n_cells, out=found[:, k])
                found[:, k] += coarse[term[1]]
        found += (self.first_cell[first:last] - self.first_cell[first]).astype(np.int32)
        return np.ascontiguousarray(found)

    def lower(self) -> Array | None:
        """(n_effects,) the least that effects may be; None where nothing is constrained."""
        if not any(self.monotone):
            return None
        found = np.full(self.first_effect[-1], -np.inf)
        for k, term in enumerate(self.terms):
            if len(term) == 1 and self.monotone[term[0]]:
                n_steps = self.n_effects[k] - self.columns[term[0]].gap_state
                found[self.first_effect[k] : self.first_effect[k] + n_steps] = 0.0
        return found

    def take(self, other: Terms, effects: Array) -> Array:
        """Effects (n_effects, ...) of these terms from those of others; zero for terms that the others have not."""
        found = np.zeros((self.first_effect[-1], *effects.shape[1:]))
        at = {term: k for k, term in enumerate(other.terms)}
        for k, term in enumerate(self.terms):
            if term in at:
                own = slice(self.first_effect[k], self.first_effect[k + 1])
                found[own] = effects[other.first_effect[at[term]] : other.first_effect[at[term] + 1]]
        return found


def coarse_shares(column: ColumnSchema, shares: Array) -> Array:
    """(coarse states,) from those of the fine states."""
    return np.bincount(column.coarse_codes[:-1], shares, minlength=column.coarse.n_states).astype(np.float64)


def _product(numbers: Iterable[int]) -> int:
    found = 1
    for number in numbers:
        found *= number
    return found
