"""EvidenceRows: the rows to infer from, each kind of row once, cut into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.errors import DataError
from tanager.network.inference.elimination_plan import EliminationPlan

RowCodes = NDArray[np.integer]
PlaceCodes = NDArray[np.int32]

# Cells of cliques, all rows together, from which the compiled kernels repay their start.
WORK_WORTH_COMPILING = 5_000_000
COMPILED_BLOCK_ROWS = 2_000  # not a power of two: columns that far apart would share a few lines of the cache
NUMPY_BLOCK_CELLS = 1 << 18
ROWS_WORTH_A_SAMPLE = 20_000
SAMPLE_SEED = 0


@dataclass(frozen=True)
class EvidenceRows:
    """Rows of a table, (n_rows, n_nodes) codes, as a plan sees them.

    first         a row of each kind: rows that agree in every node of the plan are of one kind
    kind          (n_rows,) the kind of every row
    compiled      whether there is work enough for the compiled kernels
    blocks        slices of the kinds, small enough that their cliques stay in cache
    all_distinct  whether each row is a kind of its own, in their order
    """

    plan: EliminationPlan
    codes: RowCodes
    first: NDArray[np.intp]
    kind: NDArray[np.intp]
    compiled: bool
    blocks: list[slice]
    all_distinct: bool

    @classmethod
    def of(cls, plan: EliminationPlan, codes: RowCodes, compilable: bool = True, passes: int = 1) -> EvidenceRows:
        # A table without rows is given one, of which there are none: every result then has its shape.
        table = codes if len(codes) else np.zeros((1, codes.shape[1]), codes.dtype)
        first, kind = _kinds(table, plan.nodes)
        n_states = zip(plan.nodes, plan.n_states, strict=True)
        unobserved = {place for place, (node, r) in enumerate(n_states) if r > 1 and (table[:, node] >= r).any()}
        wrong = sorted(plan.nodes[place] for place in unobserved if place >= plan.n_open)
        if wrong:
            raise DataError(f"node {wrong[0]} is missing in a row, but the tree was compiled with it as known.")
        cells_per_row = sum(plan.clique_cells(unobserved))
        compiled = compilable and passes * len(first) * cells_per_row >= WORK_WORTH_COMPILING
        length = COMPILED_BLOCK_ROWS if compiled else max(1, NUMPY_BLOCK_CELLS // max(1, cells_per_row))
        blocks = [slice(start, start + length) for start in range(0, len(first), length)]
        all_distinct = len(first) == len(table) and bool((first == np.arange(len(table))).all())
        return cls(plan, table, first, kind[: len(codes)], compiled, blocks, all_distinct)

    def of_rows(self, values: Array) -> Array:
        """(n_rows, ...) from values of every kind."""
        return values if self.all_distinct and len(self.kind) else values[self.kind]

    def codes_of(self, block: slice) -> PlaceCodes:
        """(n_kinds of the block, n_places), column-major; a node of one state is always in it."""
        rows = block if self.all_distinct else self.first[block]  # a slice is quicker than a list of its rows
        codes = np.asfortranarray(self.codes[rows][:, self.plan.nodes], dtype=np.int32)
        codes[:, np.array(self.plan.n_states) == 1] = 0
        return codes

    def total(self, weights: Array | None) -> Array:
        """The weight of all rows of each kind."""
        return np.bincount(self.kind, weights, minlength=len(self.first)).astype(np.float64)


def _kinds(codes: RowCodes, columns: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """`distinct_rows`; but of many rows of which a sample has no two alike, each is a kind of its own.

    Of n rows of n kinds or fewer, all equally likely, 4 sqrt(n) hold two alike with probability 1 - exp(-8).
    """
    n_rows = len(codes)
    if n_rows >= ROWS_WORTH_A_SAMPLE:
        sample = np.random.default_rng(SAMPLE_SEED).choice(n_rows, int(4 * np.sqrt(n_rows)), replace=False)
        if len(distinct_rows(codes[sample], columns)[0]) == len(sample):
            return np.arange(n_rows), np.arange(n_rows)
    return distinct_rows(codes, columns)


def distinct_rows(codes: RowCodes, columns: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """(a row of each kind, the kind of every row): rows are of one kind when they agree in these columns.

    Rows are sorted by a 64-bit hash, many times faster than by their cells. Should two kinds share a hash, which is
    looked for, they are sorted by their cells after all.
    """
    hashes = np.zeros(len(codes), dtype=np.uint64)
    for column in columns:
        hashes ^= codes[:, column].astype(np.uint64)
        hashes *= np.uint64(0x9E3779B97F4A7C15)  # odd, so no two hashes become one
        hashes ^= hashes >> np.uint64(32)  # high bits, which depend on all cells so far, into low ones
    in_order = np.sort(hashes)
    if (in_order[1:] != in_order[:-1]).all():
        return np.arange(len(codes)), np.arange(len(codes))
    _, first, kind = np.unique(hashes, return_index=True, return_inverse=True)
    alike = first[kind]
    if any((codes[alike, column] != codes[:, column]).any() for column in columns):
        _, first, kind = np.unique(codes[:, list(columns)], axis=0, return_index=True, return_inverse=True)
    return first, kind
