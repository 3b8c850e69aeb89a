"""StreamedBatch: encoded rows that stay on disk, and come chunk by chunk or as a memory-mapped array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes, EncodedBatch, Weights, code_dtype
from tanager.table.stream.final_codes import Meaning
from tanager.table.stream.spool import CHUNK_ROWS, Chunk, Spool, mapped_array
from tanager.threads import map_threads


class StreamedBatch(EncodedBatch):
    """An `EncodedBatch` whose rows are in a spool: the attributes, their weights if `weighted`, the class.

    `chunks` reads them there. Whoever asks for `codes` has them written out once more, as one array mapped into
    memory; the spool is then closed. `n_elsewhere` rows more are nowhere but in counts; then nobody asks for `codes`.
    """

    _spool: Spool
    _meanings: tuple[Meaning, ...]
    _n_rows: int
    _weighted: bool

    def __init__(
        self,
        spool: Spool,
        meanings: Sequence[Meaning],
        incomplete: NDArray[np.bool_],
        n_elsewhere: int = 0,
        weighted: bool = False,
    ) -> None:
        fields = {
            "n_states": tuple(meaning.schema.n_states for meaning in meanings),
            "incomplete": incomplete,
            "_spool": spool,
            "_meanings": tuple(meanings),
            "_n_rows": spool.n_rows + n_elsewhere,
            "_weighted": weighted,
        }
        self.__dict__.update(fields)  # the base is frozen

    def __repr__(self) -> str:
        return f"StreamedBatch({self.n_rows:,} rows, n_states={self.n_states})"

    @property
    def n_rows(self) -> int:
        return self._n_rows

    @property
    def n_attributes(self) -> int:
        return len(self.n_states) - 1

    @property
    def codes(self) -> Codes:
        """(n_rows, n_attributes), column-major, mapped into memory."""
        return self._arrays[0]

    @property
    def class_codes(self) -> Codes:
        """(n_rows,) mapped into memory."""
        return self._arrays[1]

    @property
    def weights(self) -> Weights | None:
        """(n_rows,) mapped into memory, or None for all ones."""
        return self._arrays[2] if self._weighted else None

    def chunks(self) -> Iterator[EncodedBatch]:
        """The rows, a few hundred thousand at a time, in memory."""
        if "_arrays" in self.__dict__:
            for first in range(0, self.n_rows, CHUNK_ROWS):
                rows = slice(first, first + CHUNK_ROWS)
                codes = np.asfortranarray(self.codes[rows])
                weights = None if self.weights is None else self.weights[rows]
                yield EncodedBatch(codes, self.class_codes[rows], self.n_states, self.incomplete, weights)
            return
        for chunk in self._spool.chunks:
            data = self._spool.read(chunk)
            columns = chunk.columns(data)
            classes = np.empty(chunk.n_rows, dtype=self._class_dtype)
            self._meanings[-1].write(columns[-1], classes)
            weights = columns[-2].astype(np.float64) if self._weighted else None
            yield EncodedBatch(self._chunk_codes(chunk, data), classes, self.n_states, self.incomplete, weights)

    def _chunk_codes(self, chunk: Chunk, data: NDArray[np.uint8]) -> Codes:
        own = self._meanings[:-1]
        of_bytes = set(chunk.dtypes[: len(own)]) == {np.dtype(np.uint8)}
        if of_bytes and all(meaning.is_own_code for meaning in own):
            return data[: chunk.n_rows * len(own)].reshape(len(own), chunk.n_rows).T
        codes = np.empty((chunk.n_rows, len(own)), dtype=self._dtype, order="F")
        columns = chunk.columns(data)
        map_threads(lambda j: own[j].write(columns[j], codes[:, j]), range(len(own)))
        return codes

    @cached_property
    def _arrays(self) -> tuple[Codes, Codes, Weights]:
        assert self._spool.n_rows == self.n_rows, "some rows were not kept"
        codes = mapped_array((self.n_attributes, self.n_rows), self._dtype).T
        classes = mapped_array((self.n_rows,), self._class_dtype)
        weights = mapped_array((self.n_rows if self._weighted else 0,), np.dtype(np.float64))
        first = 0
        for part in self.chunks():
            rows = slice(first, first + part.n_rows)
            codes[rows], classes[rows] = part.codes, part.class_codes
            if part.weights is not None:
                weights[rows] = part.weights
            first += part.n_rows
        self._spool.close()
        return codes, classes, weights

    @property
    def _dtype(self) -> np.dtype[np.unsignedinteger]:
        return code_dtype(max(self.n_states))

    @property
    def _class_dtype(self) -> np.dtype[np.unsignedinteger]:
        return code_dtype(self.n_classes)
