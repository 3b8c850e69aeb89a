"""Frequency: tables that repeat the smoothed frequencies of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.network.mixture import SuperparentNetworks, table_starts
from tanager.network.network import Network
from tanager.parameters.hierarchical import Hierarchical
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask
from tanager.registry import unknown_option
from tanager.runtime.resources import count_threads, map_threads, no_collection
from tanager.structure.averaged import superparents_of
from tanager.structure.dag import Dag


class Frequency(ParameterLearner):
    """Smoothed relative frequencies of every family, with alpha pseudo-rows.

    smoothing="laplace"       (N_jk + alpha) / (N_j + alpha r): alpha rows in every cell; alpha = 1 unless given
    smoothing="friedman"      (N_jk + alpha P(k)) / (N_j + alpha): alpha rows spread as the node's marginal P;
                              alpha = 5 unless given (Friedman, Geiger and Goldszmidt 1997)
    smoothing="hierarchical"  the tables of `Hierarchical`: learnt numbers of rows, at least alpha, spread as the table
                              of one parent less has it; alpha = 32 unless given (Petitjean et al. 2018)

    N_jk are rows with state k under parent configuration j, r the node's states. A class node without parents keeps
    its plain frequencies.

    A row counts for the families of which it has every cell. In naive Bayes this is the maximum likelihood estimate
    (Zhou 2002, theorem 4.1). In other structures it is biased unless cells are missing completely at random, whatever
    the row holds; the remedy is `EM`.
    """

    needs = "families"
    fits = ("tables", "mixtures", "trees")
    describes_attributes = True

    def __init__(self, smoothing: str = "laplace", alpha: float | None = None) -> None:
        self.smoothing = smoothing
        self.alpha = alpha

    @property
    def smooths_counts(self) -> bool:  # type: ignore[override]
        """A back-off has no pseudo-rows that are the same under all parents; searches judge by Laplace's then."""
        return self.smoothing != "hierarchical"

    @property
    def posterior(self) -> Literal["dirichlet"] | None:  # type: ignore[override]
        return "dirichlet" if self.smooths_counts else None

    def learn(self, task: ParameterTask) -> LearntNetwork:
        if self.smoothing == "hierarchical":
            return Hierarchical(DEFAULT_ALPHA["hierarchical"] if self.alpha is None else self.alpha).learn(task)
        return LearntNetwork(task.network(self.tables(task)))

    def learn_members(self, task: ParameterTask, members: Sequence[Dag]) -> Sequence[Network]:
        """Those with two superparents together, from the counts of all triples."""
        pairs = superparent_pairs(members) if self.smooths_counts else None
        return super().learn_members(task, members) if pairs is None else pair_networks(self.pseudo_rows, task, pairs)

    def tables(self, task: ParameterTask) -> tuple[NDArray[np.float64], ...]:
        """The table of each node, (parent configurations, states)."""
        with no_collection():
            return self._tables(task)

    def _tables(self, task: ParameterTask) -> tuple[NDArray[np.float64], ...]:
        parents, counts = task.dag.parents, task.counts
        tables: list[NDArray[np.float64]] = []
        stacks = counts.stacks(parents)  # thousands of small tables are worth a step together
        for stack in stacks:
            rows = stack.counts.reshape(len(stack.counts), -1, stack.counts.shape[-1])
            children = stack.children[:1] if self.smoothing == "laplace" else stack.children
            families = [Family(child, parents[child]) for child in children.tolist()]
            smoothed = rows + np.stack([self.pseudo_rows(counts, family) for family in families])[:, np.newaxis]
            tables.extend(smoothed / smoothed.sum(axis=2, keepdims=True))
        place = np.argsort(np.concatenate([stack.children for stack in stacks]))
        return tuple([tables[position] for position in place.tolist()])

    def pseudo_rows(
        self, counts: CountStore, family: Family, smooth_class: bool = False, more: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        """(states,) pseudo-rows that every parent configuration of a family gets.

        `smooth_class` gives them to a class without parents too. `more` are rows in each state beside those counted.
        """
        if str(self.smoothing) not in DEFAULT_ALPHA:
            raise unknown_option("smoothing", self.smoothing, DEFAULT_ALPHA)
        if self.smoothing == "hierarchical":
            raise OptionError(
                "smoothing='hierarchical' has no pseudo-rows that are the same for all parents, which are needed here.",
                hint="use smoothing='laplace' or 'friedman', or parameters='hierarchical'.",
            )
        alpha = DEFAULT_ALPHA[self.smoothing] if self.alpha is None else self.alpha
        if not alpha > 0:
            raise OptionError(f"alpha={alpha!r} of Frequency must be a number above zero.")
        n_states = counts.n_states[family.child]
        if family.child == counts.n_attributes and not family.parents and not smooth_class:
            return np.zeros(n_states)
        if self.smoothing == "laplace":
            return np.full(n_states, alpha)
        # The marginal is that of the node alone: a state may be seen only beside missing parents.
        seen = counts.table(Family(family.child, ())).reshape(-1) + more
        # A node without any row has no marginal; its pseudo-rows are spread evenly.
        return alpha * (seen / seen.sum()) if seen.sum() > 0 else np.full(n_states, alpha / n_states)


DEFAULT_ALPHA = {"laplace": 1.0, "friedman": 5.0, "hierarchical": 32.0}

Int64s = NDArray[np.int64]
PseudoRows = Callable[[CountStore, Family], Array]

FEWEST = 100
"""Networks from which they are worth a kernel; fewer are filled one by one."""


def superparent_pairs(members: Sequence[Dag]) -> Int64s | None:
    """(n_members, 2) the superparents of each, ascending; None if they are few, or some have not two."""
    if len(members) < FEWEST:
        return None
    found = [superparents_of(dag) for dag in members]
    if any(chain is None or len(chain) != 2 or chain[0] > chain[1] for chain in found):
        return None
    return np.array(found, dtype=np.int64)


def pair_networks(pseudo_rows: PseudoRows, task: ParameterTask, superparents: Int64s) -> SuperparentNetworks:
    """The networks with these superparents; every table is the smoothed frequencies of its family.

    pseudo_rows  those that every parent configuration of a family gets: (states,), the same for all its parents
    """
    from tanager.parameters.kernels import fill_pair_networks

    counts, n_states, target = task.counts, np.array(task.counts.n_states, dtype=np.int64), task.counts.n_attributes
    families = [Family(node, (target,)) for node in range(target)]
    pseudo = [pseudo_rows(counts, family) for family in families]
    alone = [_shares(table + more) for table, more in zip(counts.tables(families), pseudo, strict=True)]
    classes = Family(target, ())
    class_table = _shares(counts.table(classes) + pseudo_rows(counts, classes)).reshape(-1)
    pairs, triples = counts.pairs(), counts.triples()
    starts = table_starts(superparents, counts.n_states)
    tables = np.empty(int(starts[-1, -1]) + counts.n_classes)
    flat_pseudo, flat_alone = np.concatenate(pseudo), np.concatenate([table.reshape(-1) for table in alone])
    n_shares = 4 * count_threads()
    map_threads(
        lambda first: fill_pair_networks(
            first,
            n_shares,
            n_states,
            superparents,
            starts,
            (class_table, flat_alone, flat_pseudo),
            (pairs.counts, pairs.offsets),
            (triples.counts, triples.starts),
            tables,
        ),
        range(n_shares),
    )
    return SuperparentNetworks(task.columns, superparents, tables, starts)


def _shares(smoothed: Array) -> Array:
    return smoothed / smoothed.sum(axis=-1, keepdims=True)
