"""The engine that counts inside workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tanager.counts.engine import CountEngine, choose_engine
from tanager.counts.family import CountTable
from tanager.counts.pair_tables import PairTables
from tanager.table.batch import EncodedBatch


def choose_worker_engine(name: str, device: str | None) -> CountEngine:
    """The engine of that name, as it can be sent to workers."""
    return TorchOnWorkers(device) if name == "torch" else choose_engine(name, device)


@dataclass(frozen=True)
class TorchOnWorkers:
    """The torch engine, made where it counts: a device cannot be sent, and this machine need not have one."""

    device: str | None

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        return choose_engine("torch", self.device).count(batch, node_sets)

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        return choose_engine("torch", self.device).count_pairs(batch)
