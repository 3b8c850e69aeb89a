"""ClusterEngine: counts of rows on workers, by the ordinary engine on each part, added up; integers, so exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.counts.engine import CountEngine, choose_engine
from tanager.counts.family import CountTable
from tanager.counts.pair_tables import PairTables
from tanager.dask.batch import ClusterBatch
from tanager.table.batch import EncodedBatch
from tanager.threads import thread_limit


@dataclass(frozen=True)
class ClusterEngine:
    """See `CountEngine`. `name` and `device` are those of the engine inside a worker, and of rows that are here."""

    name: str
    device: str | None = None

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        if not isinstance(batch, ClusterBatch):
            return self.own.count(batch, node_sets)
        if not node_sets:
            return []
        groups = [group.parts for group in batch.groups]
        counted = batch.cluster.map("count", _count_sets, groups, node_sets=list(node_sets), engine=self)
        return batch.cluster.sum(_add_tables, counted)

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        if not isinstance(batch, ClusterBatch):
            return self.own.count_pairs(batch)
        counted = batch.cluster.map("count", _count_pairs, [group.parts for group in batch.groups], engine=self)
        return batch.cluster.sum(_add_pairs, counted)

    @property
    def own(self) -> CountEngine:
        """The engine of the machine this runs on."""
        return choose_engine(self.name, self.device)


def _count_sets(parts: list[EncodedBatch], node_sets: list[tuple[int, ...]], engine: ClusterEngine) -> list[CountTable]:
    with thread_limit(1):  # a worker has threads of its own
        return _add_tables([engine.own.count(part, node_sets) for part in parts])


def _count_pairs(parts: list[EncodedBatch], engine: ClusterEngine) -> PairTables:
    with thread_limit(1):
        return _add_pairs([engine.own.count_pairs(part) for part in parts])


def _add_tables(counted: list[list[CountTable]]) -> list[CountTable]:
    return [np.sum(tables, axis=0) for tables in zip(*counted, strict=True)]


def _add_pairs(counted: list[PairTables]) -> PairTables:
    total = counted[0].counts.copy()
    for pairs in counted[1:]:
        total += pairs.counts
    return PairTables(counted[0].n_states, total, counted[0].offsets)
