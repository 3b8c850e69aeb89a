"""CountEngine: the role of whatever turns blocks of rows into counts, and the choice of one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

import numpy as np

from tanager.counts.family import CountTable, PairTables, pair_offsets, strides
from tanager.errors import OptionError
from tanager.registry import unknown_option
from tanager.table.rows import EncodedBatch

# Above this many (row, table) updates the compiled kernels repay their start, half a second for a few sets and two and
# a half for all pairs, once; NumPy does about 3e8 updates a second.
SETS_WORTH_COMPILING = 20_000_000
PAIRS_WORTH_COMPILING = 40_000_000


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


def choose_engine(name: str, device: str | None = None) -> CountEngine:
    """The engine of that name; `device` is where the torch engine works, and the others have none."""
    if str(name) not in ENGINES:
        raise unknown_option("engine", name, ENGINES)
    if name == "torch":
        return _torch_engine(device)
    if device is not None:
        raise OptionError(f"device={device!r} has no meaning for engine={name!r}.", hint="use engine='torch'.")
    return ENGINES[name]()


@dataclass(frozen=True)
class AutoEngine:
    """NumPy for small work, which must not wait for a compiler; the compiled kernels once they are worth their start.

    They are where the work is large, and where kernels of the kind it takes are loaded already. `n_rows` are the rows
    of the whole table where a batch is a block of it: what is chosen does not depend on how the table is cut.
    """

    n_rows: int = 0

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        compiled = max(self.n_rows, batch.n_rows) * len(node_sets) > SETS_WORTH_COMPILING
        return self._choose(batch, "sets", compiled).count(batch, node_sets)

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        n_pairs = batch.n_attributes * (batch.n_attributes - 1) // 2
        compiled = max(self.n_rows, batch.n_rows) * n_pairs > PAIRS_WORTH_COMPILING
        return self._choose(batch, "pairs", compiled).count_pairs(batch)

    def _choose(self, batch: EncodedBatch, what: str, compiled: bool) -> CountEngine:
        loaded = sys.modules.get("tanager.counts.numba_engine")
        ready = loaded is not None and loaded.kernels_of(batch, what) in loaded.LOADED
        return ENGINES["numba" if compiled or ready else "numpy"]()


def engine_for(engine: CountEngine, n_rows: int) -> CountEngine:
    """The engine for the blocks of a table of so many rows."""
    return replace(engine, n_rows=n_rows) if isinstance(engine, AutoEngine) else engine


def _numba_engine() -> CountEngine:
    from tanager.counts.numba_engine import NumbaEngine

    return NumbaEngine()


def _torch_engine(device: str | None = None) -> CountEngine:
    try:
        from tanager.torch.engine import TorchEngine
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise OptionError(
            "engine='torch' needs the package torch, which is not installed.", hint="pip install 'tanager[torch]'."
        ) from None
    return TorchEngine(device)


class NumpyEngine:
    """The reference: a mixed-radix index per row, then `bincount`. Plain, exact, never waits for a compiler."""

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        return [self._count_one(batch, nodes) for nodes in node_sets]

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        offsets = pair_offsets(batch.n_states)
        dtype = np.int64 if batch.weights is None else np.float64
        counts: CountTable = np.empty(offsets[-1], dtype=dtype)
        states = np.array(batch.n_states)
        classes, codes = batch.class_codes.astype(np.int64)[:, np.newaxis], batch.codes.astype(np.int64)
        first = 0
        for i in range(batch.n_attributes - 1):
            # One index for all pairs of i and a later attribute, whose tables lie one after another.
            last = first + batch.n_attributes - 1 - i
            others, start, end = codes[:, i + 1 :], offsets[first], offsets[last]
            position = (
                offsets[first:last]
                - start
                + (classes * states[i] + codes[:, i, np.newaxis]) * states[i + 1 : -1]
                + others
            )
            if batch.incomplete[i:].any():
                position[(codes[:, i, np.newaxis] == states[i]) | (others == states[i + 1 : -1])] = end - start
            weights = None if batch.weights is None else np.repeat(batch.weights, last - first)
            counts[start:end] = np.bincount(position.reshape(-1), weights, minlength=end - start)[: end - start]
            first = last
        return PairTables(batch.n_states, counts, offsets)

    def _count_one(self, batch: EncodedBatch, nodes: tuple[int, ...]) -> CountTable:
        size = prod(batch.n_states[node] for node in nodes)
        position = np.zeros(batch.n_rows, dtype=np.int64)
        for node, stride in zip(nodes, strides(nodes, batch.n_states), strict=True):
            position += batch.column(node).astype(np.int64) * stride
        weights = batch.weights
        if any(node < batch.n_attributes and batch.incomplete[node] for node in nodes):
            present = np.logical_and.reduce([batch.column(node) < batch.n_states[node] for node in nodes])
            position = position[present]
            weights = None if weights is None else weights[present]
        counts = np.bincount(position, weights, minlength=size)
        # Without a row left, bincount gives integers even with weights.
        return counts if weights is None else counts.astype(np.float64, copy=False)


# Imported on use: only the numba engine may load numba, and only the torch engine torch. A new engine is a file and a
# line here.
ENGINES: dict[str, Callable[[], CountEngine]] = {
    "auto": AutoEngine,
    "numpy": NumpyEngine,
    "numba": _numba_engine,
    "torch": _torch_engine,
}
