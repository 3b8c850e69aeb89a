"""PairLookUps: the tables of all pairs of attributes in one array, looked up for all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.network.network import Tables


@dataclass(frozen=True)
class PairLookUps:
    """Logs of the tables of a child given a parent and the class, or given the class alone.

    n_states  of the attributes, then of the class
    alone     (n,) where log P(x_c | class) begins in `logs`, at [class, x_c]
    pairs     (n, n) where log P(x_c | x_p, class) begins for [parent, child], at [x_p, class, x_c]; of a child with
              itself where log P(x_c | class) does
    """

    n_states: tuple[int, ...]
    logs: Array
    alone: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @classmethod
    def of(cls, tables: Sequence[Tables], n_states: Sequence[int]) -> PairLookUps:
        """From the tables of every superparent: `superparent_dag`."""
        n_attributes = len(n_states) - 1
        flat = [table.reshape(-1) for member in tables for table in member[:n_attributes]]
        starts = np.concatenate([[0], np.cumsum([len(table) for table in flat])[:-1]]).astype(np.int64)
        pairs = starts.reshape(n_attributes, n_attributes)
        with np.errstate(divide="ignore"):
            return cls(tuple(n_states), np.log(np.concatenate(flat)), pairs.diagonal().copy(), pairs)

    def at(self, codes: Codes, label: int) -> tuple[Array, Array]:
        """(n_rows, n) log P(x_c | class) and (n_rows, n, n) log P(x_c | x_p, class) less it, at [parent, child].

        What stands for a missing cell, and for a child with itself, means nothing.
        """
        *attributes, n_classes = self.n_states
        states = np.array(attributes)
        held = np.where(codes < states, codes, 0).astype(np.int64)
        alone = self.logs[self.alone + label * states + held]
        # A child is no parent of itself: its table has one row for each class, the first of which is looked up.
        other = ~np.eye(len(states), dtype=bool)
        rows = (held * n_classes + label)[:, :, np.newaxis] * other
        pairs = self.logs[self.pairs + rows * states + held[:, np.newaxis, :]]
        return alone, pairs - alone[:, np.newaxis, :]
