"""Passes over rows on a device: loss and gradient. Importing this module imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch

from tanager.arrays import Array
from tanager.counts.engine import CountEngine
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.objectives import LINEAR_TO, MARGIN, ZERO_FROM, Layout
from tanager.table.rows import EncodedBatch
from tanager.torch.engine import TorchEngine
from tanager.torch.rows import WORKING_BYTES, DeviceRows, to_device, with_less_memory

# Additions of neighbouring rows go to different copies of the gradient, as those to one place wait for each other.
COPIES = {"cuda": 32, "cpu": 1}
# Cells of all copies together: those of large tables are far apart anyway.
MAX_COPIED_CELLS = 1 << 24
# (row, family) look-ups of a pass below which the compiled pass on the host is done before a device has started.
LOOK_UPS_WORTH_DEVICE = 2_000_000
# Bytes for each row and class of a part: scores, probabilities, residuals and their temporary copies.
BYTES_PER_SCORE = 80


def passes_on_device(
    engine: CountEngine | None, cells: ClassCells, blocks: Sequence[EncodedBatch], power: int
) -> list[TorchPass]:
    """The pass over each block on the device of the engine; none where the host is quicker."""
    if sum(block.n_rows for block in blocks) * len(cells.families) < LOOK_UPS_WORTH_DEVICE:
        return []
    layout = Layout.of(cells, blocks)
    return [TorchPass(cast(TorchEngine, engine).rows(block), layout, power) for block in blocks]


class TorchPass:
    """The pass in float64: a look-up for each group of families (`CompiledPass`), residuals, and these added back.

    On a GPU the order of the additions is not fixed: the last digit of a gradient may change from run to run.
    """

    def __init__(self, rows: DeviceRows, layout: Layout, power: int) -> None:
        self._rows = rows
        self._layout = layout
        self._power = power
        self._positions: dict[tuple[int, int], torch.Tensor] = {}
        self._n_bytes = WORKING_BYTES[rows.device.type]

    def __call__(self, odds: Array) -> tuple[float, Array]:
        """Loss and its gradient at log odds against the last class; both (n_cells, n_classes - 1)."""
        value, gradient = with_less_memory(
            lambda n_bytes: self._run(odds, n_bytes), self._rows.device, "a pass over the rows"
        )
        return value, (self._layout.members.T @ gradient).reshape(odds.shape)

    def _run(self, odds: Array, n_bytes: int) -> tuple[float, Array]:
        device, layout = self._rows.device, self._layout
        if n_bytes < self._n_bytes:  # memory was full: smaller parts, now and in later passes
            self._n_bytes = n_bytes
            self._positions.clear()
        n_bytes = self._n_bytes
        summed = layout.members @ odds
        # One column is a vector: torch adds numbers faster than rows of one number.
        tables = to_device(summed[:, 0] if odds.shape[1] == 1 else summed, device)
        n_cells = len(tables)
        n_copies = max(1, min(COPIES[device.type], MAX_COPIED_CELLS // n_cells))
        gradient = torch.zeros((n_copies * n_cells, *tables.shape[1:]), dtype=torch.float64, device=device)
        n_groups, n_rows = len(layout.offsets), self._rows.n_rows
        keep = 4 * n_groups * n_rows <= n_bytes
        length = max(1, n_bytes // (BYTES_PER_SCORE * (odds.shape[1] + 1) + 4 * n_groups))
        loss = torch.zeros((), dtype=torch.float64, device=device)
        for first in range(0, n_rows, length):
            part = (first, min(first + length, n_rows))
            positions = self._find(part, keep)
            scores = torch.zeros((part[1] - first, *tables.shape[1:]), dtype=torch.float64, device=device)
            for group in range(n_groups):
                scores += tables.index_select(0, positions[group])
            value, residuals = self._residuals(scores.reshape(len(scores), -1), part)
            loss += value
            residuals = residuals.reshape(scores.shape)
            copy = torch.arange(len(scores), dtype=torch.int32, device=device) % n_copies * n_cells
            for group in range(n_groups):
                gradient.index_add_(0, positions[group] + copy, residuals)
        total = gradient.reshape(n_copies, *tables.shape).sum(dim=0)
        return float(loss), total.cpu().numpy().reshape(summed.shape)

    def _find(self, part: tuple[int, int], keep: bool) -> torch.Tensor:
        """(n_groups, rows of the part) cells, kept for the next pass where they all fit."""
        if part in self._positions:
            return self._positions[part]
        layout, device = self._layout, self._rows.device
        positions = torch.empty((len(layout.offsets), part[1] - part[0]), dtype=torch.int32, device=device)
        for group, offset in enumerate(layout.offsets.tolist()):
            positions[group] = offset
            for node, stride in zip(layout.nodes[group].tolist(), layout.strides[group].tolist(), strict=True):
                if stride:
                    positions[group].add_(self._rows.codes[node, slice(*part)], alpha=stride)
        if keep:
            self._positions[part] = positions
        return positions

    def _residuals(self, odds: torch.Tensor, part: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss of the rows and its derivative by their log odds (rows, n_classes - 1) against the last class."""
        classes = self._rows.codes[-1, slice(*part)].to(torch.int64)[:, None]
        logs = torch.nn.functional.pad(odds, (0, 1)).log_softmax(dim=1)
        own_logs = logs.gather(1, classes)
        own_shares = own_logs.exp()
        if self._power == 0:
            losses, slopes = -own_logs, torch.ones_like(own_shares)
        elif self._power == MARGIN:
            wrong = -torch.expm1(own_logs)
            odds_of_class = own_logs - wrong.log()
            short = (ZERO_FROM - odds_of_class).clamp(0.0, ZERO_FROM - LINEAR_TO)
            losses = torch.where(odds_of_class < LINEAR_TO, 1.0 - odds_of_class, 0.5 * short**2)
            slopes = short / wrong.clamp_min(torch.finfo(wrong.dtype).tiny)
        else:
            wrong = -torch.expm1(own_logs)
            losses = wrong**self._power
            slopes = own_shares if self._power == 1 else 2.0 * wrong * own_shares
        if self._rows.weights is not None:
            weights = self._rows.weights[slice(*part), None]
            losses, slopes = losses * weights, slopes * weights
        residuals = logs.exp().mul_(slopes)
        residuals.scatter_add_(1, classes, -slopes)
        return losses.sum(), residuals[:, :-1].contiguous()
