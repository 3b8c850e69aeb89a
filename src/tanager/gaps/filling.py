"""Filling: what `Averaged` knows besides the network. A filler fitted to it, and corrections of its class frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.gaps.calibrate import calibrate
from tanager.gaps.completions import Completions
from tanager.gaps.corrections import learn_corrections
from tanager.gaps.filler import learn_filler
from tanager.network.any_network import AnyNetwork
from tanager.network.network import Network
from tanager.table.batch import Codes
from tanager.table.schema import ColumnSchema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Filling:
    """The filler F, and by how much the weights of completions are bent: exp(sum_c lambda_c P(c | completion)).

    lambda is the mean of `nothing` and of the entries of the cells present.

    filler   has the nodes of the network, at their coarse granularity where they have two; its attributes have the
             class and at most one attribute as parents
    nothing  (classes,)
    states   of each attribute (coarse states + 1, classes); zero for a missing cell
    """

    filler: Network
    nothing: Floats
    states: tuple[Floats, ...]

    def corrections(self, coarse: Codes) -> Floats:
        """(n_rows, n_classes) lambda; less its highest, which changes nothing."""
        total = np.tile(self.nothing, (len(coarse), 1))
        for attribute, entries in enumerate(self.states):
            total += entries[coarse[:, attribute]]
        known = (coarse < np.array(self.filler.n_states[:-1])).sum(axis=1)
        total /= 1.0 + known[:, np.newaxis]
        return np.asarray(total - total.max(axis=1, keepdims=True))

    def reordered(self, order: Sequence[int]) -> Filling:
        """With the nodes in another order, as `Network.reordered`."""
        return Filling(self.filler.reordered(order), self.nothing, tuple(self.states[node] for node in order[:-1]))


def learn_filling(network: AnyNetwork, counts: CountStore, columns: Sequence[ColumnSchema]) -> Filling:
    """From the counts of classes and of states by class; F starts as the tree of frequencies."""
    target = counts.n_attributes
    tables = counts.tables(Family(node, (target,)) for node in range(target))
    by_state = [np.asarray(table[0].T, dtype=np.float64) for table in tables]
    classes = np.asarray(counts.table(Family(target, ()))[0, 0], dtype=np.float64)
    filler = calibrate(learn_filler(counts, [column.coarse for column in columns]), network, classes, by_state)
    return Filling(filler, *learn_corrections(Completions(network, filler), classes, by_state))
