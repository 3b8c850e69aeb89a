"""EncodedBatch: rows as small integers, the only form in which later layers see data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.unsignedinteger]
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedBatch:
    """Rows of a table as codes.

    Nodes are numbered as everywhere after this layer: the attributes 0 .. n-1 in column order, then the class, n.

    codes        (n_rows, n_attributes), column-major, in the smallest unsigned dtype that holds every code
    class_codes  (n_rows,), unsigned
    n_states     states of each node, the class last; the code of a missing cell is the node's number of states
    weights      (n_rows,) positive, or None for all ones
    incomplete   (n_attributes,) booleans: whether the column has a missing cell
    """

    codes: Codes
    class_codes: Codes
    n_states: tuple[int, ...]
    incomplete: NDArray[np.bool_]
    weights: Weights | None = None

    @classmethod
    def empty(cls, n_states: tuple[int, ...]) -> EncodedBatch:
        """No rows of such a table."""
        n_attributes = len(n_states) - 1
        codes = np.empty((0, n_attributes), dtype=code_dtype(max(n_states)), order="F")
        return cls(codes, codes[:, :0].reshape(-1), n_states, np.zeros(n_attributes, dtype=bool))

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def n_attributes(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_classes(self) -> int:
        return self.n_states[-1]

    def column(self, node: int) -> Codes:
        """The codes of one node, contiguous."""
        return self.class_codes if node == self.n_attributes else self.codes[:, node]


def code_dtype(n_states: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned dtype that holds codes 0 .. n_states (the last one says missing)."""
    return np.min_scalar_type(n_states)
