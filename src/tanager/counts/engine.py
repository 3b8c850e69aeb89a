"""CountEngine: the role of whatever turns batches into counts, and the choice of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tanager.counts.family import CountTable
from tanager.counts.pair_tables import PairTables
from tanager.registry import check_option
from tanager.table.batch import EncodedBatch

# Above this many (row, table) updates the compiled kernels repay their start; NumPy does about 3e8 a second.
WORK_WORTH_COMPILING = 200_000_000


class CountEngine(Protocol):
    """Counts are sums over the rows in which every node asked for is present; integers, or floats with weights.

    Every engine gives the same integers, and the same floats up to the order of summation.
    """

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        """One flat table per node set, its cells in mixed-radix order with the last node changing fastest."""
        ...

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        """The class-conditional tables of all pairs of attributes, in one pass over the batch."""
        ...


def choose_engine(name: str, n_jobs: int | None = None) -> CountEngine:
    """The engine of that name."""
    return ENGINES[check_option("engine", name, ENGINES)](n_jobs)


class AutoEngine:
    """NumPy for small work, which must not wait for a compiler; the compiled kernels for large work."""

    def __init__(self, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        return self._engine(batch.n_rows * len(node_sets)).count(batch, node_sets)

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        return self._engine(batch.n_rows * batch.n_attributes * (batch.n_attributes - 1) // 2).count_pairs(batch)

    def _engine(self, work: int) -> CountEngine:
        return choose_engine("numba" if work > WORK_WORTH_COMPILING else "numpy", self._n_jobs)


def _numpy_engine(n_jobs: int | None) -> CountEngine:
    from tanager.counts.numpy_engine import NumpyEngine

    return NumpyEngine()


def _numba_engine(n_jobs: int | None) -> CountEngine:
    from tanager.counts.numba_engine import NumbaEngine

    return NumbaEngine(n_jobs)


# Imported on use: only the numba engine may load numba. A new engine is a file and a line here.
ENGINES: dict[str, Callable[[int | None], CountEngine]] = {
    "auto": AutoEngine,
    "numpy": _numpy_engine,
    "numba": _numba_engine,
}
