"""ClusterBatch: encoded rows that stay on the workers, and what is done to them there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn

import numpy as np
from dask.sizeof import sizeof
from distributed import Future
from numpy.typing import NDArray

from tanager.counts.count_store import physical_memory
from tanager.dask.cluster import Cluster, Group
from tanager.errors import MemoryLimitError, OptionError
from tanager.parameters.conditional.held_out import split_rows
from tanager.table.batch import Codes, EncodedBatch, Weights, code_dtype

# With more rows than this, folds are drawn from every second of them, every third, ...: the client holds 25 bytes for
# each row that it draws from.
MOST_DRAWN_FROM = 1 << 26


class ClusterBatch(EncodedBatch):
    """An `EncodedBatch` of which only the outline is here; every part of the rows is an `EncodedBatch` on a worker.

    The order of the parts is that of the rows; none is empty. Of their weights only the least is here.
    """

    cluster: Cluster
    parts: tuple[Future, ...]
    lengths: tuple[int, ...]

    def __init__(self, cluster: Cluster, parts: Sequence[Future], n_states: tuple[int, ...]) -> None:
        outlines = cluster.gather(cluster.map("outline", _outline, parts))
        filled = [(part, *outline) for part, outline in zip(parts, outlines, strict=True) if outline[0]]
        incomplete = np.zeros(len(n_states) - 1, dtype=bool)
        for _, _, own, _ in filled:
            incomplete |= own
        least = [weight for *_, weight in filled if weight is not None]
        fields = {
            "n_states": n_states,
            "incomplete": incomplete,
            "weights": np.array([min(least)]) if least else None,
            "cluster": cluster,
            "parts": tuple(part for part, *_ in filled),
            "lengths": tuple(length for _, length, *_ in filled),
        }
        self.__dict__.update(fields)  # the base is frozen

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    @property
    def n_attributes(self) -> int:
        return len(self.n_states) - 1

    @property
    def codes(self) -> Codes:
        self._refuse()

    @property
    def class_codes(self) -> Codes:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise OptionError(
            "this structure or parameter learner looks at single rows, which are on the workers.",
            hint="use parameters='frequency', 'acll' or 'conditional', or fit a sample in memory.",
        )

    @cached_property
    def groups(self) -> list[Group]:
        """The parts by the thread that works on them."""
        return self.cluster.group(self.parts, self.lengths)

    def map(
        self, name: str, function: Callable[..., EncodedBatch], n_states: tuple[int, ...], **shared: object
    ) -> ClusterBatch:
        """The table whose parts are `function(part, **shared)`."""
        return ClusterBatch(self.cluster, self.cluster.map(name, function, self.parts, **shared), n_states)

    def gather(self) -> EncodedBatch:
        """All rows, here."""
        n_bytes = self.n_rows * (self.n_attributes + 1) * code_dtype(max(self.n_states)).itemsize
        if n_bytes > physical_memory() // 4:
            raise MemoryLimitError(
                f"{self.n_rows:,} rows are needed on the client, where they would take {n_bytes / 2**30:.3g} GiB.",
                hint="leave stopping='tolerance', or fit a sample in memory.",
            )
        return self.join(self.cluster.gather(self.parts))

    def take(self, rows: NDArray[np.integer]) -> EncodedBatch:
        """Some rows, by ascending number, here."""
        ends = np.cumsum(self.lengths)
        own = np.split(rows, np.searchsorted(rows, ends[:-1]))
        some = [number for number, numbers in enumerate(own) if len(numbers)]
        parts = [self.parts[number] for number in some]
        places = [own[number] - (ends[number] - self.lengths[number]) for number in some]
        return self.join(self.cluster.gather(self.cluster.map("take", take_rows, parts, places)))

    def split_rows(self, most_rows: int, seed: int) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
        """`tanager.parameters.conditional.held_out.split_rows`, which takes the same rows; they come here."""
        if self.n_rows <= 2 * most_rows:
            yield from split_rows(self.gather(), most_rows, seed)
            return
        step = -(-self.n_rows // MOST_DRAWN_FROM)
        starts = np.cumsum(self.lengths) - self.lengths
        offsets = (-starts) % step
        own = self.cluster.map("classes", _classes_and_weights, self.parts, offsets.tolist(), step=step)
        numbers = np.arange(0, self.n_rows, step)[:, np.newaxis]
        # The split carries the codes along unseen: here they are the numbers of the rows.
        classes, weights = zip(*self.cluster.gather(own), strict=True)
        drawn = EncodedBatch(
            numbers.view(np.uint64), np.concatenate(classes), self.n_states, self.incomplete, _join_weights(weights)
        )
        for fold in split_rows(drawn, most_rows, seed):
            kept, held_out = (
                replace(self.take(rows.codes[:, 0].view(np.int64)), weights=rows.weights) for rows in fold
            )
            yield kept, held_out

    def join(self, batches: Sequence[EncodedBatch]) -> EncodedBatch:
        """One table of these rows of the parts, here."""
        codes = np.concatenate([batch.codes for batch in batches])
        class_codes = np.concatenate([batch.class_codes for batch in batches])
        weights = _join_weights([batch.weights for batch in batches])
        return EncodedBatch(np.asfortranarray(codes), class_codes, self.n_states, self.incomplete, weights)


@sizeof.register(EncodedBatch)
def _n_bytes(part: EncodedBatch) -> int:
    """For Dask, which would think a part as small as its outline, and moving it free."""
    arrays = (part.codes, part.class_codes, part.incomplete, part.weights)
    return sum(array.nbytes for array in arrays if array is not None)


def _join_weights(weights: Sequence[Weights | None]) -> Weights | None:
    some = [own for own in weights if own is not None]
    return np.concatenate(some) if some else None


def _outline(part: EncodedBatch) -> tuple[int, NDArray[np.bool_], float | None]:
    least = None if part.weights is None else float(part.weights.min(initial=np.inf))
    return part.n_rows, part.incomplete, least


def take_rows(part: EncodedBatch, rows: NDArray[np.integer]) -> EncodedBatch:
    """Some rows of a part, by number."""
    codes = np.asfortranarray(part.codes[rows])
    incomplete = (codes == np.array(part.n_states[:-1])).any(axis=0)
    weights = None if part.weights is None else part.weights[rows]
    return EncodedBatch(codes, part.class_codes[rows], part.n_states, incomplete, weights)


def _classes_and_weights(part: EncodedBatch, first: int, step: int) -> tuple[Codes, Weights | None]:
    return part.class_codes[first::step], None if part.weights is None else part.weights[first::step]
