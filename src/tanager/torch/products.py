"""Counts of all pairs of states as products of one-hot matrices, class by class.

With H_c the (cells, rows of class c) matrix of ones and zeros, one cell for each state of each attribute, the entry
[(i, x), (j, y)] of H_c H_c^T is the number of rows of class c with states x of i and y of j. Ones and zeros are exact
in bfloat16 and their sums in float32 below 2^24, so a GPU's matrix units count without error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from tanager.torch.rows import DeviceRows

EXACT_ROWS = (1 << 24) - 1
# Rows of a matrix are padded to a whole number of these, as the matrix units want them.
ALIGNED = 64
# Bytes of temporary arrays for each entry of a block of products, beside the products of each class.
BYTES_PER_ENTRY = 64


@dataclass(frozen=True)
class StateColumns:
    """The rows of H: attribute and state of each, (n_cells,)."""

    attribute: torch.Tensor
    state: torch.Tensor

    @classmethod
    def of(cls, n_states: tuple[int, ...], device: torch.device) -> StateColumns:
        """`n_states` of the attributes alone; the cells of an attribute follow each other."""
        states = torch.tensor(n_states, dtype=torch.int64, device=device)
        attribute = torch.repeat_interleave(torch.arange(len(n_states), device=device), states)
        first = torch.cumsum(states, 0) - states
        return cls(attribute, torch.arange(len(attribute), device=device) - first[attribute])

    @classmethod
    def by_state(cls, n_attributes: int, n_states: int, device: torch.device) -> StateColumns:
        """As many states for every attribute; the cells of a state follow each other."""
        attribute = torch.arange(n_attributes, device=device).repeat(n_states)
        return cls(attribute, torch.arange(n_states, device=device).repeat_interleave(n_attributes))

    def __len__(self) -> int:
        return len(self.attribute)


class OneHots:
    """H_c in parts of some rows each, made when asked for, or once where all of them fit in `n_bytes`."""

    def __init__(self, rows: DeviceRows, cells: StateColumns, n_bytes: int) -> None:
        self._rows = rows
        self._cells = cells
        if rows.weights is not None:
            self._dtype = torch.float64
        else:
            self._dtype = torch.bfloat16 if rows.device.type == "cuda" else torch.float32
        # The codes, what they compare to, and the matrix.
        per_row = len(cells) * (rows.codes.itemsize + 1 + self._dtype.itemsize)
        length = min(max(n_bytes // per_row, ALIGNED), EXACT_ROWS) // ALIGNED * ALIGNED
        self._parts = rows.chunks(length)
        self._kept: dict[tuple[int, int], torch.Tensor] | None = {} if per_row * rows.n_rows <= n_bytes else None

    @property
    def n_classes(self) -> int:
        return len(self._parts)

    def parts(self, c: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """(H_c, H_c times the weights of the rows) of every part."""
        for part in self._parts[c]:
            matrix = self._matrix(part)
            weights = self._rows.weights
            weighted = matrix if weights is None else matrix[:, : part[1] - part[0]] * weights[slice(*part)]
            yield matrix[:, : weighted.shape[1]], weighted

    def _matrix(self, part: tuple[int, int]) -> torch.Tensor:
        if self._kept is not None and part in self._kept:
            return self._kept[part]
        codes = self._rows.codes[:, slice(*part)]
        length = codes.shape[1]
        matrix = torch.zeros(
            (len(self._cells), length + -length % ALIGNED), dtype=self._dtype, device=self._rows.device
        )
        matrix[:, :length] = codes[self._cells.attribute] == self._cells.state[:, None].to(codes.dtype)
        if self._kept is not None:
            self._kept[part] = matrix
        return matrix

    def sums(self) -> torch.Tensor:
        """(n_classes, n_cells) rows of each class in each cell, float64."""
        result = torch.zeros((self.n_classes, len(self._cells)), dtype=torch.float64, device=self._rows.device)
        for c in range(self.n_classes):
            for _, weighted in self.parts(c):
                result[c] += weighted.sum(dim=1, dtype=torch.float64)
        return result

    def product(self, c: int, left: slice, right: slice) -> torch.Tensor:
        """Rows of class c, or their weights, in each of the cells `left` and of the cells `right` at once."""
        total: torch.Tensor | None = None
        with _full_precision():
            for matrix, weighted in self.parts(c):
                found = _multiply(weighted[left], matrix[right])
                # Sums of several parts may exceed what float32 holds exactly.
                total = found if total is None else total.to(torch.float64) + found
        if total is None:
            shape = (len(range(*left.indices(len(self._cells)))), len(range(*right.indices(len(self._cells)))))
            return torch.zeros(shape, dtype=torch.float64, device=self._rows.device)
        return total


def blocks(cells: StateColumns, n_attributes: int, n_classes: int, n_bytes: int) -> Iterator[tuple[int, int]]:
    """(first, last) cells of runs of whole attributes whose products fit in `n_bytes`; at least one attribute each.

    The cells of an attribute follow each other.
    """
    ends = torch.searchsorted(cells.attribute, torch.arange(1, n_attributes + 1, device=cells.attribute.device))
    n_entries = max(1, n_bytes // (BYTES_PER_ENTRY + 16 * n_classes))
    edges = np.unique(ends.cpu().numpy())
    first = 0
    while first < len(cells):
        most = first + n_entries // (len(cells) - first)
        last = int(edges[max(np.searchsorted(edges, most, side="right") - 1, np.searchsorted(edges, first, "right"))])
        yield first, last
        first = last


def _multiply(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left right^T with sums in float32 at least."""
    if left.dtype == torch.bfloat16:
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left @ right.T


@contextmanager
def _full_precision() -> Iterator[None]:
    """Without it, partial sums of a product of bfloat16 may themselves be rounded to bfloat16."""
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_bf16_reduced_precision_reduction
    matmul.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        matmul.allow_bf16_reduced_precision_reduction = before
