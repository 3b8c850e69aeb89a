"""ClusterBatch: encoded rows that stay on the workers, and what is done to them there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from tanager.counts.count_store import physical_memory
from tanager.dask.cluster import Cluster
from tanager.errors import MemoryLimitError, OptionError
from tanager.parameters.held_out import split_rows
from tanager.table.batch import Codes, EncodedBatch, code_dtype

# With more rows than this, folds are drawn from every second of them, every third, ...: the client holds 25 bytes for
# each row that it draws from.
MOST_DRAWN_FROM = 1 << 26


class ClusterBatch(EncodedBatch):
    """An `EncodedBatch` of which only the outline is here; every part of the rows is an `EncodedBatch` on a worker.

    The order of the parts is that of the rows; none is empty.
    """

    cluster: Cluster
    parts: tuple[Future, ...]
    lengths: tuple[int, ...]

    def __init__(self, cluster: Cluster, parts: Sequence[Future], n_states: tuple[int, ...]) -> None:
        outlines = cluster.gather(cluster.map("outline", _outline, parts))
        filled = [(part, *outline) for part, outline in zip(parts, outlines, strict=True) if outline[0]]
        incomplete = np.zeros(len(n_states) - 1, dtype=bool)
        for _, _, own in filled:
            incomplete |= own
        fields = {
            "n_states": n_states,
            "incomplete": incomplete,
            "weights": None,
            "cluster": cluster,
            "parts": tuple(part for part, _, _ in filled),
            "lengths": tuple(length for _, length, _ in filled),
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
        """`tanager.parameters.held_out.split_rows`, which takes the same rows; they come here."""
        if self.n_rows <= 2 * most_rows:
            yield from split_rows(self.gather(), most_rows, seed)
            return
        step = -(-self.n_rows // MOST_DRAWN_FROM)
        starts = np.cumsum(self.lengths) - self.lengths
        offsets = (-starts) % step
        own = self.cluster.map("classes", _class_codes, self.parts, offsets.tolist(), step=step)
        numbers = np.arange(0, self.n_rows, step)[:, np.newaxis]
        # The split carries the codes along unseen: here they are the numbers of the rows.
        drawn = EncodedBatch(
            numbers.view(np.uint64), np.concatenate(self.cluster.gather(own)), self.n_states, self.incomplete
        )
        for kept, held_out in split_rows(drawn, most_rows, seed):
            yield self.take(kept.codes[:, 0].view(np.int64)), self.take(held_out.codes[:, 0].view(np.int64))

    def join(self, batches: Sequence[EncodedBatch]) -> EncodedBatch:
        """One table of these rows of the parts, here."""
        codes = np.concatenate([batch.codes for batch in batches])
        class_codes = np.concatenate([batch.class_codes for batch in batches])
        return EncodedBatch(np.asfortranarray(codes), class_codes, self.n_states, self.incomplete)


def _outline(part: EncodedBatch) -> tuple[int, NDArray[np.bool_]]:
    return part.n_rows, part.incomplete


def take_rows(part: EncodedBatch, rows: NDArray[np.integer]) -> EncodedBatch:
    """Some rows of a part, by number."""
    codes = np.asfortranarray(part.codes[rows])
    incomplete = (codes == np.array(part.n_states[:-1])).any(axis=0)
    return EncodedBatch(codes, part.class_codes[rows], part.n_states, incomplete)


def _class_codes(part: EncodedBatch, first: int, step: int) -> Codes:
    return part.class_codes[first::step]
