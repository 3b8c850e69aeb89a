"""ClusterPass: loss and gradient of rows on workers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.dask.batch import ClusterBatch
from tanager.dask.cluster import FAN_IN
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.compiled_pass import CompiledPass
from tanager.parameters.conditional.objectives import IndicatorPass, RowPass
from tanager.table.batch import EncodedBatch
from tanager.threads import thread_limit

Array = NDArray[np.float64]


class ClusterPass:
    """`RowPass` over rows on workers: log odds go out, losses and gradients are added up.

    What a pass needs of the parts is made once, on the worker that has them, and kept there.
    """

    def __init__(self, cells: ClassCells, batch: ClusterBatch, power: int, compiled: bool) -> None:
        self._cluster = batch.cluster
        self._passes = batch.cluster.map_groups(
            "prepare", _make_passes, batch.groups, cells=cells, power=power, compiled=compiled
        )

    def __call__(self, odds: Array) -> tuple[float, Array]:
        if not self._passes:
            return 0.0, np.zeros_like(odds)
        found = self._cluster.map("gradient", _run_passes, self._passes, odds=odds)
        return self._cluster.sum(_add_passes, found, most=FAN_IN)


def _make_passes(parts: list[EncodedBatch], cells: ClassCells, power: int, compiled: bool) -> list[RowPass]:
    if compiled:
        return [CompiledPass(cells, parts, power)]
    return [IndicatorPass(cells, part, power) for part in parts]


def _run_passes(passes: list[RowPass], odds: Array) -> tuple[float, Array]:
    with thread_limit(1):  # a worker has threads of its own
        return _add_passes([own(odds) for own in passes])


def _add_passes(found: list[tuple[float, Array]]) -> tuple[float, Array]:
    return sum(value for value, _ in found), np.sum([gradient for _, gradient in found], axis=0)
