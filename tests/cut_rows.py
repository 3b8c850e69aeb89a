"""CutRows: a table cut into blocks that lie in two places. What is written against `Rows` must not notice."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import attrgetter

import numpy as np

from oracle import batch_of
from tanager.table.rows import EncodedBatch, Outline, add


@dataclass(frozen=True)
class CutRows:
    """Rows as on a cluster of two workers: functions, and what is given to them, are sent as bytes."""

    place = "disk"

    cut: tuple[EncodedBatch, ...]

    @classmethod
    def of(cls, batch: EncodedBatch) -> CutRows:
        """Blocks of unequal length, one of them without rows; a block knows of its own gaps alone."""
        edges = [0, *(batch.n_rows * np.array([1, 1, 3, 4, 7]) // 7).tolist()]
        return cls(tuple(batch.take(slice(first, last)) for first, last in pairwise(edges)))

    @property
    def outline(self) -> Outline:
        return reduce(add, (block.outline for block in self.cut))

    n_states = property(attrgetter("outline.n_states"))
    incomplete = property(attrgetter("outline.incomplete"))
    n_rows = property(attrgetter("outline.n_rows"))
    n_attributes = property(lambda rows: len(rows.n_states) - 1)
    n_classes = property(lambda rows: rows.n_states[-1])

    def map(self, function: Callable, name: str = "map") -> CutRows:
        return CutRows(tuple(_sent(function)(block) for block in self.cut))

    def sum(self, function: Callable, name: str = "sum") -> object:
        return reduce(add, (_sent(function)(block) for block in self.cut))

    def prepare(self, make: Callable, name: str = "prepare") -> MadeInTwoPlaces:
        return MadeInTwoPlaces([_sent(make)(list(blocks)) for blocks in (self.cut[:2], self.cut[2:])])

    def take(self, numbers: np.ndarray) -> EncodedBatch:
        weighted = self.outline.least_weight is not None
        return batch_of(
            np.concatenate([block.codes for block in self.cut])[numbers],
            np.concatenate([block.class_codes for block in self.cut])[numbers],
            self.n_states,
            np.concatenate([block.row_weights for block in self.cut])[numbers] if weighted else None,
        )

    def kept(self) -> CutRows:
        return self

    def blocks(self) -> tuple[EncodedBatch, ...]:
        return self.cut


@dataclass(frozen=True)
class MadeInTwoPlaces:
    """What was made in each place, where it stays."""

    made: Sequence[object]

    def sum(self, function: Callable, *args: object, **kwargs: object) -> object:
        return reduce(add, (_sent(function)(made, *_sent(args), **_sent(kwargs)) for made in self.made))


def _sent(value: object) -> object:
    return pickle.loads(pickle.dumps(value))
