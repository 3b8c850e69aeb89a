"""The basis functions of a term: a smooth curve along ordered bins, a number for each category, products for a pair.

The curve of an ordered attribute has a random-walk (first-difference) prior: the penalty is on the squared steps from
bin to bin, so that a fine bin is estimated together with its neighbours. The basis is rotated to its principal
components, of which the smoothest are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.table.binning import GROWTH
from tanager.table.schema import ColumnSchema

Term = tuple[int, ...]
"""The attributes of a term: one, or the two of a pair."""
Pairs = tuple[tuple[int, int], ...]
IDENTITY = ((0, 0),)
"""The shape of a term whose cells are its effects."""

# Smoothest parts of a curve: with more the loss is the same, and a fit takes longer.
CURVE_PARTS = 32
# Of a curve in a pair, times the fifth root of the rows, as the numbers of bins are (`table.binning`).
PAIR_PARTS = 1.25
# A walk of more steps has smaller ones, so that its ends are no further apart: finer bins mean no larger effects.
FULL_STEPS = 4


@cache
def random_walk(n: int, most: int) -> Array:
    """(n, components) the basis of the random-walk prior on n bins: at most `most` components, the smoothest first.

    The curve is T u with a penalty on u^2, T being the bins by the steps up to them. Rotated to the eigenvectors of
    T' T it is the same curve under the same prior, but its components are uncorrelated over equally frequent bins, as
    the optimiser needs. The smoothest have the largest variance.
    """
    steps = np.tri(n)[:, 1:]
    steps = steps - steps.mean(axis=0)
    turn = np.linalg.eigh(steps.T @ steps)[1][:, ::-1]
    walk: Array = step_size(n) * steps @ turn[:, :most]
    return walk


def step_size(n: int) -> float:
    """The standard deviation of a step of the prior on n bins, in units of 1 / sqrt(lambda)."""
    return float(np.sqrt(min(1.0, FULL_STEPS / max(1, n - 1))))


@dataclass(frozen=True)
class Basis:
    """The states of an attribute as sums of effects.

    matrix   (n_states, n_effects); None where every state has an effect of its own
    shares   (n_states,) of the training rows
    unknown  whether there is one more cell, of an unknown state: the mean of the others by their shares
    """

    matrix: Array | None
    shares: Array
    unknown: bool = False

    @classmethod
    def of(cls, column: ColumnSchema, shares: Array, most: int, direction: int = 0) -> Basis:
        """A smooth curve of at most so many parts where states have an order; a missing state is apart from it.

        With a direction the effects are the steps of the walk themselves, which may not be negative.
        """
        if not column.has_order:
            return cls(None, shares)
        n_bins = column.n_states - column.missing_state
        walk = direction * step_size(n_bins) * np.tri(n_bins)[:, 1:] if direction else random_walk(n_bins, most)
        total = shares[:n_bins].sum()
        walk = walk - (shares[:n_bins] / total if total > 0 else np.full(n_bins, 1 / n_bins)) @ walk
        if column.missing_state:
            walk = np.block([[walk, np.zeros((n_bins, 1))], [np.zeros((1, walk.shape[1])), np.ones((1, 1))]])
        return cls(walk, shares)

    def squared(self) -> Basis:
        """The squared entries of the matrix: how far an effect moves each state."""
        return self if self.matrix is None else replace(self, matrix=self.matrix**2)

    def centred(self) -> Basis:
        """The basis with a mean of zero over all rows: in a pair, missing and observed have opposite effects."""
        return self if self.matrix is None else replace(self, matrix=self.matrix - self.shares @ self.matrix)

    @property
    def n_cells(self) -> int:
        return len(self.shares) + self.unknown

    @property
    def n_effects(self) -> int:
        return len(self.shares) if self.matrix is None else self.matrix.shape[1]

    @property
    def is_identity(self) -> bool:
        return self.matrix is None and not self.unknown


@dataclass(frozen=True)
class _Stack:
    """Bases of one shape: matrices (n_terms, n_cells, n_effects), or None where cells are effects."""

    matrices: Array | None

    @classmethod
    def of(cls, bases: Sequence[Basis]) -> _Stack:
        if bases[0].is_identity:
            return cls(None)
        matrices = [np.eye(len(basis.shares)) if basis.matrix is None else basis.matrix for basis in bases]
        if bases[0].unknown:
            matrices = [np.vstack([own, basis.shares @ own]) for own, basis in zip(matrices, bases, strict=True)]
        return cls(np.stack(matrices))

    def times(self, values: Array, transposed: bool) -> Array:
        """Expand (n_terms, ..., n_effects, k) to cells, or if `transposed` collect cells to effects."""
        if self.matrices is None:
            return values
        matrices = self.matrices if values.dtype == np.float64 else self._single
        matrices = matrices.swapaxes(1, 2) if transposed else matrices
        return (matrices if values.ndim == matrices.ndim else matrices[:, np.newaxis]) @ values

    @cached_property
    def _single(self) -> Array:
        assert self.matrices is not None
        return self.matrices.astype(np.float32)


@dataclass(frozen=True)
class _Group:
    """Neighbouring terms of one shape, which are expanded together: cells and effects of each of their attributes."""

    stacks: tuple[_Stack, ...]
    n_terms: int
    cells: tuple[int, ...]
    effects: tuple[int, ...]

    def times(self, values: Array, transposed: bool) -> Array:
        """(cells, k) from (effects, k), or the other way round."""
        if not self.stacks:
            return values
        n, k = self.n_terms, values.shape[1]
        before = self.cells if transposed else self.effects
        values = values.reshape(n, *before, k)
        if len(self.stacks) == 2:
            values = self.stacks[1].times(values, transposed)
            last = values.shape[2]
            values = values.reshape(n, before[0], last * k)
        return self.stacks[0].times(values, transposed).reshape(-1, k)


class Terms:
    """The terms of a model in an order in which those of one shape are neighbours, and where their cells lie.

    A cell is a state of an attribute or two states of a pair; unknown may be one more state of each.

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
        self.terms = tuple(sorted(every, key=lambda term: (*self._shape(term), term)))
        self.n_cells = np.array([prod(b.n_cells for b in self.bases(term)) for term in self.terms], dtype=np.intp)
        self.n_effects = np.array([prod(b.n_effects for b in self.bases(term)) for term in self.terms], np.intp)
        self.first_cell = np.concatenate([[0], np.cumsum(self.n_cells)]).astype(np.intp)
        self.first_effect = np.concatenate([[0], np.cumsum(self.n_effects)]).astype(np.intp)

    @classmethod
    def of(
        cls,
        columns: Sequence[ColumnSchema],
        shares: Sequence[Array],
        n_rows: int,
        unknown: bool = True,
        monotone: Sequence[int] = (),
    ) -> Terms:
        """The attributes alone. `shares` (n_states,) of the rows are those of the fine states."""
        parts = pair_parts(n_rows)
        directions = monotone or [0] * len(columns)
        fine = [Basis.of(*each[:2], CURVE_PARTS, each[2]) for each in zip(columns, shares, directions, strict=True)]
        pairs = zip(columns, shares, strict=True)
        coarse = [Basis.of(c.coarse, coarse_shares(c, own), parts).centred() for c, own in pairs]
        return cls(columns, fine, coarse, monotone=monotone).with_unknown(unknown)

    def only(self, terms: Iterable[Term]) -> Terms:
        """The same attributes with other terms."""
        return Terms(self.columns, self.fine, self.coarse, terms, self.monotone)

    def with_unknown(self, unknown: bool) -> Terms:
        """The same with or without cells of unknown states; effects are the same."""
        fine, coarse = ([replace(basis, unknown=unknown) for basis in bases] for bases in (self.fine, self.coarse))
        return Terms(self.columns, fine, coarse, self.terms, self.monotone)

    def squared(self) -> Terms:
        """The squares of the entries of all bases: how far an effect moves each cell."""
        fine, coarse = ([basis.squared() for basis in bases] for bases in (self.fine, self.coarse))
        return Terms(self.columns, fine, coarse, self.terms)

    def bases(self, term: Term) -> tuple[Basis, ...]:
        return (self.fine[term[0]],) if len(term) == 1 else tuple(self.coarse[a] for a in term)

    def _shape(self, term: Term) -> tuple[tuple[int, int], ...]:
        """Terms whose cells are effects have one shape, whatever their number of states is."""
        bases = self.bases(term)
        if all(basis.is_identity for basis in bases):
            return IDENTITY
        return tuple((basis.n_cells, basis.n_effects) for basis in bases)

    @cached_property
    def _groups(self) -> list[tuple[slice, slice, _Group]]:
        """Effects, cells and the group of the terms of each shape."""
        found, first = [], 0
        for shape, members in groupby(self.terms, self._shape):
            terms = [self.bases(term) for term in members]
            last = first + len(terms)
            stacks = () if shape == IDENTITY else tuple(_Stack.of(column) for column in zip(*terms, strict=True))
            sizes = [tuple(sizes) for sizes in zip(*((b.n_cells, b.n_effects) for b in terms[0]), strict=True)]
            effects = slice(self.first_effect[first], self.first_effect[last])
            cells = slice(self.first_cell[first], self.first_cell[last])
            found.append((effects, cells, _Group(stacks, len(terms), *sizes)))
            first = last
        return found

    def expand(self, effects: Array) -> Array:
        """(cells, k) what each cell adds, from effects (n_effects, k)."""
        tables = np.empty((self.first_cell[-1], effects.shape[1]), effects.dtype)
        for own, cells, group in self._groups:
            tables[cells] = group.times(effects[own], transposed=False)
        return tables

    def collect(self, by_cell: Array) -> Array:
        """(n_effects, k) the transpose of `expand`: slopes by the effects from slopes by the cells."""
        found = np.empty((self.first_effect[-1], by_cell.shape[1]), by_cell.dtype)
        for own, cells, group in self._groups:
            found[own] = group.times(by_cell[cells], transposed=True)
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
                n_steps = self.n_effects[k] - self.columns[term[0]].missing_state
                found[self.first_effect[k] : self.first_effect[k] + n_steps] = 0.0
        return found

    def take(self, other: Terms, effects: Array) -> Array:
        """Effects (n_effects, ...) of these terms from those of other terms; zero where the others lack a term."""
        found = np.zeros((self.first_effect[-1], *effects.shape[1:]))
        at = {term: k for k, term in enumerate(other.terms)}
        for k, term in enumerate(self.terms):
            if term in at:
                own = slice(self.first_effect[k], self.first_effect[k + 1])
                found[own] = effects[other.first_effect[at[term]] : other.first_effect[at[term] + 1]]
        return found


def pair_parts(n_rows: int) -> int:
    """Number of basis functions of each curve in a pair, for this number of rows."""
    return max(2, round(PAIR_PARTS * n_rows**GROWTH))


def coarse_shares(column: ColumnSchema, shares: Array) -> Array:
    """(coarse states,) from those of the fine states."""
    return np.bincount(column.coarse_codes[:-1], shares, minlength=column.coarse.n_states).astype(np.float64)
