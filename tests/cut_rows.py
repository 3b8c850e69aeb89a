"""CutRows: a table cut into blocks that lie in two places, and what all `Rows` do. Nobody must notice the place."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import attrgetter

import numpy as np

from oracle import batch_of
from tanager.table.rows import EncodedBatch, Outline, Rows, add, gather


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


def assert_same_rows(one: EncodedBatch, other: EncodedBatch) -> None:
    assert one.n_states == other.n_states
    assert one.codes.flags.f_contiguous
    for own, expected in ((one.codes, other.codes), (one.class_codes, other.class_codes)):
        assert own.dtype == expected.dtype
        np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(one.incomplete, other.incomplete)
    np.testing.assert_array_equal(one.row_weights, other.row_weights)
    assert not one.n_rows or (one.weights is None) == (other.weights is None)


def assert_rows_are(rows: Rows, batch: EncodedBatch, numbers: np.ndarray) -> None:
    """Rows answer as the batch in memory does, also after a map: all, those of a number, sums, and what is prepared."""
    for change in (_unchanged, some_rows, _two_attributes, _no_rows):
        own, expected = rows.map(change), batch.map(change)
        assert (own.n_rows, own.n_attributes, own.n_classes) == (expected.n_rows, expected.n_attributes, 3)
        assert own.n_states == expected.n_states
        assert own.outline.least_weight == expected.outline.least_weight
        np.testing.assert_array_equal(own.incomplete, gather(own).incomplete)
        assert_same_rows(gather(own), expected.take(slice(None)))
        assert_same_rows(gather(own.kept()), expected.take(slice(None)))
        wanted = numbers[numbers < expected.n_rows]
        assert_same_rows(own.take(wanted), expected.take(wanted))
        for found, known in zip(own.sum(_sums), expected.sum(_sums), strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-12)
        assert own.prepare(_count_rows).sum(_times, 2) == 2 * expected.n_rows


def some_rows(block: EncodedBatch) -> EncodedBatch:
    return block.take(block.codes[:, 1] == 0)


def _unchanged(block: EncodedBatch) -> EncodedBatch:
    return block


def _two_attributes(block: EncodedBatch) -> EncodedBatch:
    return block.select(slice(2))


def _no_rows(block: EncodedBatch) -> EncodedBatch:
    return block.take(slice(0))


def _sums(block: EncodedBatch) -> tuple[int, np.ndarray, list[float]]:
    """Numbers, arrays and lists, each additive."""
    return block.n_rows, block.codes.astype(np.int64).sum(axis=0), [float(block.row_weights.sum())]


def _count_rows(blocks: list[EncodedBatch]) -> int:
    return sum(block.n_rows for block in blocks)


def _times(number: int, factor: int) -> int:
    return number * factor
