"""FillingTree: the filler, a tree of frequencies, ready to draw what the missing cells of a row may hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Ints
from tanager.network.network import Network

Places = NDArray[np.intp]


@dataclass(frozen=True)
class FillingTree:
    """A tree-augmented naive Bayes network, ready to draw missing cells.

    order    attributes, parents first
    parents  of each attribute the attribute that is its parent, or -1
    tables   of each attribute, (classes, states of the parent or 1, states)
    classes  (classes,) their logarithms
    ranks    of each attribute its place in the order of the names, which decides the numbers it is drawn with
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    tables: tuple[Array, ...]
    classes: Array
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, network: Network) -> FillingTree:
        target = len(network.nodes) - 1
        parents, tables = [], []
        for family in network.dag.families[:target]:
            parent = next((node for node in family.parents if node != target), -1)
            n_parent = 1 if parent < 0 else network.n_states[parent]
            cells = network.tables[family.child].reshape(n_parent, -1, network.n_states[family.child])
            parents.append(parent)
            tables.append(np.ascontiguousarray(cells.swapaxes(0, 1)))
        order = tuple(node for node in network.dag.order if node != target)
        ranks = np.argsort(np.argsort(np.array(network.nodes[:target]), kind="stable"))
        with np.errstate(divide="ignore"):  # a class that no row has yet
            logs = np.log(network.tables[target][0])
        return cls(order, tuple(parents), tuple(tables), logs, tuple(ranks.tolist()))

    @property
    def n_states(self) -> tuple[int, ...]:
        return tuple(table.shape[2] for table in self.tables)

    def numbers(self, n_draws: int) -> Array:
        """(n_draws, n_attributes + 1) the numbers that the attributes, and last the class, are drawn with.

        Those of the class ascend: the order of draws is no part of a mean, and kernels find the draws of a class at
        once.
        """
        numbers = spread_numbers(n_draws, len(self.ranks) + 1)[:, [*(rank + 1 for rank in self.ranks), 0]]
        return numbers[np.argsort(numbers[:, -1])]

    def fill(self, codes: Codes, n_draws: int, compiled: bool = False) -> Codes:
        """(n_attributes, n_rows, n_draws) the cells present, and draws of the missing ones given these."""
        numbers = self.numbers(n_draws)
        filled = np.empty((codes.shape[1], len(codes), n_draws), dtype=codes.dtype)
        if compiled:
            from tanager.missing.fill_kernels import fill_rows

            fill_rows(codes, self.arrays, np.ascontiguousarray(numbers.T), filled)
            return filled
        filled[...] = codes.T[..., np.newaxis]
        likelihoods, weights = self._collect(codes)
        classes = _invert(weights.T, np.arange(len(codes))[:, np.newaxis], numbers[:, -1])
        for node in self.order:
            rows = np.flatnonzero(codes[:, node] == self.tables[node].shape[2])
            if len(rows):
                # (classes, states of the parent, rows, states)
                chances = self.tables[node][:, :, np.newaxis] * likelihoods[node][:, np.newaxis, rows]
                parent, n_above = self.parents[node], self.tables[node].shape[1]
                above = 0 if parent < 0 else filled[parent, rows].astype(np.intp)
                places = (classes[rows] * n_above + above) * len(rows) + np.arange(len(rows))[:, np.newaxis]
                filled[node, rows] = _invert(chances.reshape(-1, chances.shape[3]), places, numbers[:, node])
        return filled

    def _collect(self, codes: Codes) -> tuple[list[Array], Array]:
        """From the leaves to the roots: what the cells present say of every attribute, and of the class.

        likelihoods  of each attribute, (classes, n_rows, states) P(cells present at and below it | its state, class),
                     but for a factor of the row and the class
        weights      (classes, n_rows) P(class | cells present), but for a factor of the row
        """
        # Their logarithms at first: a product over hundreds of children would underflow.
        likelihoods = [np.zeros((len(self.classes), len(codes), table.shape[2])) for table in self.tables]
        logs = np.tile(self.classes[:, np.newaxis], len(codes))
        for node in reversed(self.order):
            n_states = self.tables[node].shape[2]
            fits = (codes[:, node, np.newaxis] == np.arange(n_states)) | (codes[:, [node]] == n_states)
            logs_of_states = np.where(fits, likelihoods[node], -np.inf)
            highest = logs_of_states.max(axis=2, keepdims=True)
            likelihoods[node] = np.exp(logs_of_states - highest)
            logs += highest[..., 0]
            message = np.log(likelihoods[node] @ self.tables[node].swapaxes(1, 2))
            if self.parents[node] >= 0:
                likelihoods[self.parents[node]] += message
            else:
                logs += message[..., 0]
        return likelihoods, np.exp(logs - logs.max(axis=0))

    @cached_property
    def arrays(self) -> Tree:
        """All of it for kernels."""
        n_states, tables = np.array(self.n_states), np.concatenate([table.reshape(-1) for table in self.tables])
        with np.errstate(divide="ignore"):
            logs = np.log(tables)
        return Tree(
            np.array(self.order),
            np.array(self.parents),
            n_states,
            np.concatenate([[0], np.cumsum(n_states)]),
            np.cumsum([0, *(table.size for table in self.tables)]),
            tables,
            logs,
            self.classes,
        )


class Tree(NamedTuple):
    """A `FillingTree` as arrays.

    starts   where the states of each attribute begin in an array of the states of all
    offsets  where the (classes, parent states, states) table of each attribute begins in `tables`
    logs     of the tables
    """

    order: Ints
    parents: Ints
    n_states: Ints
    starts: Ints
    offsets: Ints
    tables: Array
    logs: Array
    classes: Array


def _invert(chances: Array, places: Places, numbers: Array) -> Places:
    """(n_rows, n_draws) states, each drawn with a number (n_draws,) by the chances at its place, (places, states)."""
    cumulative = chances.cumsum(axis=1).T.copy()
    reached = numbers * cumulative[-1][places]
    states = np.zeros(reached.shape, dtype=np.intp)
    for bound in cumulative[:-1]:
        states += reached >= bound[places]
    return states


@lru_cache(maxsize=8)
def spread_numbers(n_draws: int, n_columns: int) -> Array:
    """(n_draws, n_columns) numbers from 0 to 1: multiples of the roots of the primes, less their whole parts.

    Each column, and most pairs of columns, fill the interval (the square) evenly (Richtmyer 1951). A browser computes
    the same.
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
