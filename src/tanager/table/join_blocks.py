"""Blocks of rows that were elsewhere -> one batch in memory, if there is room for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.errors import MemoryLimitError
from tanager.memory import physical_memory
from tanager.table.batch import EncodedBatch, code_dtype


def check_fits(n_rows: int, n_states: Sequence[int]) -> None:
    """Refuse rows that would take more than a quarter of the memory of this machine."""
    n_bytes = n_rows * len(n_states) * code_dtype(max(n_states)).itemsize
    if n_bytes > physical_memory() // 4:
        raise MemoryLimitError(
            f"{n_rows:,} rows are needed in memory at once, where they would take {n_bytes / 2**30:.3g} GiB.",
            hint="fit a sample of the rows, or use parameters='frequency'.",
        )


def join_blocks(blocks: Sequence[EncodedBatch], n_states: tuple[int, ...]) -> EncodedBatch:
    """The rows of all blocks in their order; all of them have weights, or none has."""
    if not blocks:
        return EncodedBatch.empty(n_states)
    weights = [block.weights for block in blocks if block.weights is not None]
    return EncodedBatch(
        np.asfortranarray(np.concatenate([block.codes for block in blocks])),
        np.concatenate([block.class_codes for block in blocks]),
        n_states,
        np.any([block.incomplete for block in blocks], axis=0),
        np.concatenate(weights) if weights else None,
    )
