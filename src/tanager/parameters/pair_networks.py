"""The networks of A2DE, thousands of them, from counts that each three attributes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.network.mixture import SuperparentNetworks, table_starts
from tanager.parameters.protocol import ParameterTask
from tanager.runtime.resources import count_threads, map_threads
from tanager.structure.averaged import superparents_of
from tanager.structure.dag import Dag

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
    from tanager.parameters.pair_kernels import fill_pair_networks

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
