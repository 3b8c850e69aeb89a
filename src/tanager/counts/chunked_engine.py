"""ChunkedEngine: counts of rows that stay on disk, added up over chunks; integers, so the cut changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tanager.counts.engine import (
    PAIRS_WORTH_COMPILING,
    SETS_WORTH_COMPILING,
    AutoEngine,
    CountEngine,
    choose_engine,
)
from tanager.counts.family import CountTable
from tanager.counts.pair_tables import PairTables
from tanager.table.batch import EncodedBatch
from tanager.table.stream_batch import StreamedBatch


class ChunkedEngine:
    """See `CountEngine`: another engine on each chunk of a `StreamedBatch`; "auto" chooses by the work in all."""

    def __init__(self, engine: CountEngine) -> None:
        self._own = engine

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        engine = self._engine(batch.n_rows * len(node_sets) > SETS_WORTH_COMPILING)
        if not isinstance(batch, StreamedBatch) or not node_sets:
            return engine.count(batch, node_sets)
        totals: list[CountTable] = []
        for chunk in batch.chunks():
            counted = engine.count(chunk, node_sets)
            totals = [total + own for total, own in zip(totals, counted, strict=True)] if totals else counted
        return totals

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        n_pairs = batch.n_attributes * (batch.n_attributes - 1) // 2
        engine = self._engine(batch.n_rows * n_pairs > PAIRS_WORTH_COMPILING)
        if not isinstance(batch, StreamedBatch):
            return engine.count_pairs(batch)
        chunks = batch.chunks()
        total = engine.count_pairs(next(chunks))
        for chunk in chunks:
            total.counts[:] += engine.count_pairs(chunk).counts
        return total

    def _engine(self, compiled: bool) -> CountEngine:
        if not isinstance(self._own, AutoEngine):
            return self._own
        return choose_engine("numba" if compiled else "numpy")
