"""log P(class, attributes) of every row by look-ups on a device. Importing this module imports torch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.network.log_joint import LogJoint
from tanager.torch.device import choose_device, to_device, with_less_memory

# Bytes for each row, and for each row and class.
BYTES_PER_ROW = 32
BYTES_PER_SCORE = 40


def look_up_on_device(
    joint: LogJoint, codes: Codes, device: str | None, normalized: bool = False
) -> NDArray[np.float64]:
    """What `joint(codes, normalized)` gives, in float64 on the device."""
    place = choose_device(device)
    return with_less_memory(lambda n_bytes: _look_up(joint, codes, place, normalized, n_bytes), place, "predicting")


def _look_up(
    joint: LogJoint, codes: Codes, device: torch.device, normalized: bool, n_bytes: int
) -> NDArray[np.float64]:
    n_rows, n_attributes = codes.shape
    n_classes = joint.tables.shape[1]
    tables = to_device(joint.tables, device)
    result = np.empty((n_rows, n_classes))
    length = max(1, n_bytes // (BYTES_PER_ROW + BYTES_PER_SCORE * n_classes + 8 * n_attributes))
    for first in range(0, n_rows, length):
        columns = to_device(codes[first : first + length].T, device)
        logs = torch.zeros((columns.shape[1], n_classes), dtype=torch.float64, device=device)
        cells = torch.empty(columns.shape[1], dtype=torch.int64, device=device)
        for nodes, strides, offset in zip(joint.nodes, joint.strides, joint.offsets.tolist(), strict=True):
            cells.fill_(offset)
            for node, stride in zip(nodes.tolist(), strides.tolist(), strict=True):
                if stride:
                    cells.add_(columns[node], alpha=stride)
            logs += tables.index_select(0, cells)
        if normalized:
            logs = logs.log_softmax(dim=1)
        result[first : first + length] = logs.cpu().numpy()
    return result
