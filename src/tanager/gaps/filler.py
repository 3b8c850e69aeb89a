"""The filler: a second network, of frequencies, that says what the missing cells of a row may hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.network.network import Network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.scores.information import edge_likelihoods
from tanager.structure.dag import Dag
from tanager.structure.spanning import NO_PARENT, maximum_spanning_tree
from tanager.structure.ties import level, smallest_gain
from tanager.table.batch import Codes
from tanager.table.schema import ColumnSchema

Floats = NDArray[np.float64]

MAX_ATTRIBUTES_OF_TREE = 500  # with more, the tables of all pairs cost more than a tree is worth
SEED = 0


def learn_filler(counts: CountStore, columns: Sequence[ColumnSchema]) -> Network:
    """The tree-augmented naive Bayes network of greatest likelihood, its tables smoothed frequencies.

    Naive Bayes for counts without rows, which know no pairs, and where pairs are too many.
    """
    parents = [NO_PARENT] * counts.n_attributes
    if counts.n_rows > 0 and 1 < counts.n_attributes <= MAX_ATTRIBUTES_OF_TREE:
        # Chow and Liu 1968; Friedman et al. 1997.
        n_rows = float(counts.flat((counts.n_attributes,)).sum())
        parents = maximum_spanning_tree(level(edge_likelihoods(counts.pairs()), smallest_gain(n_rows))).tolist()
    dag = Dag.augmented_naive_bayes([() if parent == NO_PARENT else (parent,) for parent in parents])
    return Network(tuple(columns), dag, Frequency().tables(ParameterTask(dag, counts)), columns[-1].name)


@dataclass(frozen=True)
class FillingTree:
    """A tree-augmented naive Bayes network, ready to draw missing cells.

    order    attributes, parents first
    parents  of each attribute the attribute that is its parent, or -1
    tables   of each attribute, (classes, states of the parent or 1, states)
    classes  (classes,) their logarithms
    ranks    of each attribute the place of its name among all: its draws do not depend on where its column stands
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    tables: tuple[Floats, ...]
    classes: Floats
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
        ranks = np.argsort(np.argsort(network.nodes[:-1])).tolist()
        with np.errstate(divide="ignore"):  # a class that no row has yet
            return cls(order, tuple(parents), tuple(tables), np.log(network.tables[target][0]), tuple(ranks))

    @property
    def n_states(self) -> tuple[int, ...]:
        return tuple(table.shape[2] for table in self.tables)

    @property
    def cells_per_row(self) -> int:
        """Of all likelihoods."""
        return len(self.classes) * sum(self.n_states)

    def numbers(self, n_draws: int) -> Floats:
        """(n_draws, n_attributes + 1) the numbers by which each attribute, and last the class, is drawn."""
        return spread_numbers(n_draws, len(self.ranks) + 1)[:, [*self.ranks, len(self.ranks)]]

    def fill(self, codes: Codes, n_draws: int, compiled: bool = False) -> Codes:
        """(n_attributes, n_rows, n_draws) the cells present, and draws of the missing ones given these."""
        numbers = self.numbers(n_draws)
        filled = np.empty((codes.shape[1], len(codes), n_draws), dtype=codes.dtype)
        if compiled:
            self._fill_compiled(codes, numbers, filled)
            return filled
        filled[...] = codes.T[..., np.newaxis]
        likelihoods, weights = self._collect(codes)
        classes = _invert(weights.T[:, np.newaxis], numbers[:, -1])
        for node in self.order:
            rows = np.flatnonzero(codes[:, node] == self.tables[node].shape[2])
            if len(rows):
                row_classes, parent = classes[rows], self.parents[node]
                states = 0 if parent < 0 else filled[parent, rows]
                chances = self.tables[node][row_classes, states] * likelihoods[node][row_classes, rows[:, np.newaxis]]
                filled[node, rows] = _invert(chances, numbers[:, node])
        return filled

    def _collect(self, codes: Codes) -> tuple[list[Floats], Floats]:
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

    def _fill_compiled(self, codes: Codes, numbers: Floats, filled: Codes) -> None:
        from tanager.gaps.fill_kernels import fill_rows

        n_states = np.array(self.n_states)
        starts = np.concatenate([[0], np.cumsum(n_states)])
        offsets = np.cumsum([0, *(table.size for table in self.tables)])
        flat = np.concatenate([table.reshape(-1) for table in self.tables])
        order, parents = np.array(self.order), np.array(self.parents)
        fill_rows(codes, order, parents, n_states, starts, offsets, flat, self.classes, numbers, filled)


def _invert(chances: Floats, numbers: Floats) -> NDArray[np.intp]:
    """(n_rows, n_draws) states from chances (n_rows, n_draws or 1, states) and numbers (n_draws,) from 0 to 1."""
    cumulative = chances.cumsum(axis=2)
    above = numbers[:, np.newaxis] * cumulative[..., -1:] >= cumulative[..., :-1]
    states: NDArray[np.intp] = above.sum(axis=2)
    return states


@lru_cache(maxsize=8)
def spread_numbers(n_draws: int, n_nodes: int) -> Floats:
    """(n_draws, n_nodes) numbers from 0 to 1: each column has one in each of n_draws equal parts, shuffled.

    So a single missing cell is met with its shares, to a draw (a Latin hypercube, McKay et al. 1979). Not the middles
    of the parts: a share of 21/64 would then be a tie, which rounding decides.
    """
    generator = np.random.default_rng(SEED)
    columns = [(generator.permutation(n_draws) + generator.uniform(0.4, 0.6)) / n_draws for _ in range(n_nodes)]
    return np.stack(columns, axis=1)
