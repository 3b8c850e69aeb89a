"""CountEngine: the role of whatever turns blocks of rows into counts, and the choice of one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tanager.counts.family import CountTable, PairTables
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


def _numpy_engine() -> CountEngine:
    from tanager.counts.numpy_engine import NumpyEngine

    return NumpyEngine()


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


# Imported on use: only the numba engine may load numba, and only the torch engine torch. A new engine is a file and a
# line here.
ENGINES: dict[str, Callable[[], CountEngine]] = {
    "auto": AutoEngine,
    "numpy": _numpy_engine,
    "numba": _numba_engine,
    "torch": _torch_engine,
}
