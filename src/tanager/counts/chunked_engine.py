"""ChunkedEngine: counts of rows that stay on disk, added up over chunks; integers, so the cut changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tanager.counts.engine import PAIRS_WORTH_COMPILING, SETS_WORTH_COMPILING, CountEngine
from tanager.counts.family import CountTable
from tanager.counts.pair_tables import PairTables
from tanager.counts.running_counts import CountedRows, settle
from tanager.table.batch import EncodedBatch
from tanager.table.stream.batch import StreamedBatch


class ChunkedEngine:
    """See `CountEngine`: another engine on each chunk of a `StreamedBatch`; "auto" chooses by the work in all.

    `counted` are rows of the batch that were counted when they were read, and are in no chunk.
    """

    def __init__(self, engine: CountEngine, counted: CountedRows | None = None) -> None:
        self._own = engine
        self._counted = counted

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        if not node_sets:
            return []
        engine = settle(self._own, batch.n_rows * len(node_sets) > SETS_WORTH_COMPILING)
        if not isinstance(batch, StreamedBatch):
            return engine.count(batch, node_sets)
        totals: list[CountTable] = []
        if self._counted is not None:
            totals = [self._counted.table(nodes) for nodes in node_sets]
        for chunk in batch.chunks():
            counted = engine.count(chunk, node_sets)
            totals = [total + own for total, own in zip(totals, counted, strict=True)] if totals else counted
        return totals

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        n_pairs = batch.n_attributes * (batch.n_attributes - 1) // 2
        engine = settle(self._own, batch.n_rows * n_pairs > PAIRS_WORTH_COMPILING)
        if not isinstance(batch, StreamedBatch):
            return engine.count_pairs(batch)
        total = None if self._counted is None else self._counted.pairs()
        for chunk in batch.chunks():
            own = engine.count_pairs(chunk)
            if total is None:
                total = own
            else:
                total.counts[:] += own.counts
        assert total is not None
        return total
