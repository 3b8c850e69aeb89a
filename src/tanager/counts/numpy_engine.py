"""The reference engine: a mixed-radix index per row, then `bincount`. Plain, exact, never waits for a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tanager.arrays import Flags
from tanager.counts.family import CountTable, PairTables, pair_offsets, strides
from tanager.table.rows import EncodedBatch


class NumpyEngine:
    """See `CountEngine`."""

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
            present = _rows_present(batch, nodes)
            position = position[present]
            weights = None if weights is None else weights[present]
        counts = np.bincount(position, weights, minlength=size)
        # Without a row left, bincount gives integers even with weights.
        return counts if weights is None else counts.astype(np.float64, copy=False)


def _rows_present(batch: EncodedBatch, nodes: tuple[int, ...]) -> Flags:
    """Rows in which no node of the set is missing."""
    present = np.ones(batch.n_rows, dtype=bool)
    for node in nodes:
        present &= batch.column(node) < batch.n_states[node]
    return present
