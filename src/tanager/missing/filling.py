"""Filling: what `Averaged` knows besides the network: a filler, and corrections of the weights.

The corrections are learnt when the first gap is met, or a model file is written: most tables to classify have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.additive.model import LookedUpModel
from tanager.arrays import Array, Codes
from tanager.counts.count_store import CountStore
from tanager.errors import DataError
from tanager.missing.completions import Completions
from tanager.missing.corrections import learn_corrections
from tanager.network.network import Network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.scores.information import edge_likelihoods
from tanager.structure.dag import Dag
from tanager.structure.family_terms import level, smallest_gain
from tanager.structure.tree import NO_PARENT, maximum_spanning_tree
from tanager.table.schema import ColumnSchema

MAX_ATTRIBUTES_OF_TREE = 500  # with more, the tables of all pairs cost more than a tree is worth


@dataclass(frozen=True)
class Filling:
    """The filler F, and by how much the weights of completions are bent: exp(sum_c lambda_c P(c | completion)).

    lambda is the mean of `nothing` and of the entries of the cells present. The average is multiplied by exp(shift)
    with no cell present, by its root with one.

    filler   has the nodes of the network, at their coarse granularity where they have two; its attributes have the
             class and at most one attribute as parents
    nothing  (classes,)
    states   of each attribute (states + 1, classes); zero for a missing cell
    shift    (classes,)
    """

    filler: Network
    nothing: Array
    states: tuple[Array, ...]
    shift: Array

    def check(self, columns: Sequence[ColumnSchema]) -> None:
        """Refuse corrections of other shapes than the states of a network with these columns, the class last."""
        n_classes = columns[-1].n_states
        shapes = [(n_classes,), (n_classes,), *((column.n_states + 1, n_classes) for column in columns[:-1])]
        for array, shape in zip((self.nothing, self.shift, *self.states), shapes, strict=True):
            if array.shape != shape:
                raise DataError(f"a correction has shape {array.shape}; its states and the classes need {shape}.")

    def corrections(self, codes: Codes) -> Array:
        """(n_rows, n_classes) lambda; less its highest, which changes nothing."""
        total = np.tile(self.nothing, (len(codes), 1))
        for attribute, entries in enumerate(self.states):
            total += entries[codes[:, attribute]]
        total /= 1.0 + self._known(codes)
        return np.asarray(total - total.max(axis=1, keepdims=True))

    def shifted(self, codes: Codes, averages: Array) -> Array:
        """(n_rows, n_classes) the averages of these rows, shifted and adding up to one."""
        moved = averages * np.exp(np.maximum(1.0 - self._known(codes) / 2.0, 0.0) * self.shift)
        return np.asarray(moved / moved.sum(axis=1, keepdims=True))

    def _known(self, codes: Codes) -> Array:
        """(n_rows, 1) how many cells are present."""
        present = codes < np.array([len(entries) - 1 for entries in self.states])
        return np.asarray(present.sum(axis=1, keepdims=True), dtype=np.float64)

    def reordered(self, order: Sequence[int]) -> Filling:
        """With the nodes in another order, as `Network.reordered`."""
        states = tuple(self.states[node] for node in order[:-1])
        return Filling(self.filler.reordered(order), self.nothing, states, self.shift)


@dataclass(frozen=True)
class FillingTask:
    """What a filling is learnt from, once it is needed: the network and counts, no rows.

    classes   (classes,) counts
    by_state  of each attribute (states, classes) counts
    order     of the nodes in the filling: node k of it is node order[k] of the network here
    """

    network: LookedUpModel
    filler: Network
    classes: Array
    by_state: tuple[Array, ...]
    order: tuple[int, ...]

    @classmethod
    def of(
        cls,
        network: LookedUpModel,
        counts: CountStore,
        classes: Array,
        by_state: Sequence[Array],
        order: Sequence[int],
    ) -> FillingTask:
        """From counts at the coarse granularity, of the classes, and of all states of each attribute."""
        filler = learn_filler(counts, classes, [column.coarse for column in network.columns])
        return cls(network, filler, classes, tuple(by_state), tuple(order))

    def learn(self) -> Filling:
        """The filler stays as the counts have it: its draws must not depend on the last digits of a fit."""
        corrections = learn_corrections(Completions(self.network, self.filler), self.classes, self.by_state)
        return Filling(self.filler, *corrections).reordered(self.order)


def learn_filler(counts: CountStore, classes: Array, columns: Sequence[ColumnSchema]) -> Network:
    """The tree-augmented naive Bayes network of greatest likelihood, its tables smoothed frequencies.

    `classes` (classes,) are the rows of each.

    Naive Bayes for counts without rows, which know no pairs, and where pairs are too many.
    """
    parents = [NO_PARENT] * counts.n_attributes
    if counts.n_rows > 0 and 1 < counts.n_attributes <= MAX_ATTRIBUTES_OF_TREE:
        # Chow and Liu 1968; Friedman et al. 1997.
        gains = level(edge_likelihoods(counts), smallest_gain(float(classes.sum())))
        parents = maximum_spanning_tree(gains).tolist()
    dag = Dag.augmented_naive_bayes([() if parent == NO_PARENT else (parent,) for parent in parents])
    return Network(tuple(columns), dag, Frequency().tables(ParameterTask(dag, counts)), columns[-1].name)
