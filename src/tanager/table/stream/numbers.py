"""Numbers that come batch by batch -> provisional codes, in the order in which values were first seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.table.batch import Weights
from tanager.table.categories import code_dtype, look_up, occurring, shift, spans_little
from tanager.table.columns import Numbers
from tanager.table.stream.sketch import ValueSketch
from tanager.table.value_counts import ValueCounts, count_values

MAX_DISTINCT_NUMBERS = (1 << 16) - 1
UNKNOWN = -1
BYTES: tuple[np.dtype[np.integer], ...] = (np.dtype(np.int8), np.dtype(np.uint8))


def pack_codes(codes: NDArray[np.integer], n_values: int, out: Codes) -> Codes:
    """Codes in the smallest unsigned dtype, whose largest number says missing, as -1 does in `codes`.

    They are in `out` if that has this dtype.
    """
    dtype = code_dtype(n_values)
    if dtype != out.dtype:
        return codes.astype(dtype)
    out[:] = codes
    return out


@dataclass(frozen=True)
class BatchRows:
    """What is known of the rows of a batch beside a column: class codes, classes so far, weights (None for ones)."""

    class_codes: Codes
    n_classes: int
    weights: Weights | None = None


class NumberVocabulary:
    """The distinct numbers of a column so far; the code of a number never changes.

    Whole numbers of a small range are looked up in a table, all others by hashing. Where codes are in the order of the
    numbers without a hole, as they are for most columns from the first batch on, the code is a subtraction.
    """

    def __init__(self) -> None:
        self.values: Numbers = np.empty(0, dtype=np.int8)
        self._sorted: Numbers = self.values
        self._order: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._low = 0
        self._table: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._packed: Codes = np.empty(0, dtype=np.uint8)
        self._is_range = False
        self._bytes_of_range: list[np.dtype[np.integer]] = []

    def codes(self, values: Numbers, out: Codes) -> Codes:
        """The code of each number, NaN as missing; in `out`, bytes, if they fit there."""
        if values.dtype.kind == "f" or len(values) == 0:
            return self._hash(values, out)
        if values.dtype in self._bytes_of_range:
            # A number outside the range wraps around to a code above all others.
            np.subtract(values.view(np.uint8), np.uint8(self._low % 256), out=out)
            if out.max() < len(self.values):
                return out
        low, high = int(values.min()), int(values.max())
        if self._is_range and self._low <= low and high < self._low + len(self.values):
            codes = self._like_codes(out)
            shift(values, self._low, codes)
            return codes
        first, last = low, high
        if len(self._table):
            first, last = min(low, self._low), max(high, self._low + len(self._table) - 1)
        if not spans_little(first, last):
            return self._hash(values, out)
        return self._look_up(values, first, last, out)

    def _look_up(self, values: Numbers, first: int, last: int, out: Codes) -> Codes:
        if not len(self._table) or first < self._low or last >= self._low + len(self._table):
            self._cover(first, last)
        if len(self.values):
            codes = self._take(values, out)
            if codes.max() < np.iinfo(codes.dtype).max:
                return codes
        occurs = occurring(values, self._low, len(self._table))
        new = np.flatnonzero(occurs & (self._table == UNKNOWN)) + self._low
        self._append(new.astype(values.dtype))
        return self.codes(values, out)

    def _take(self, values: Numbers, out: Codes) -> Codes:
        codes = self._like_codes(out)
        look_up(self._packed, values, self._low, codes)
        return codes

    def _like_codes(self, out: Codes) -> Codes:
        """`out`, or another where codes do not fit there."""
        dtype = code_dtype(len(self.values))
        return out if out.dtype == dtype else np.empty(len(out), dtype=dtype)

    def _cover(self, first: int, last: int) -> None:
        table = np.full(last - first + 1, UNKNOWN, dtype=np.int32)
        table[self._low - first :][: len(self._table)] = self._table
        inside = (self.values >= first) & (self.values <= last) & (self.values == np.rint(self.values))
        table[self.values[inside].astype(np.intp) - first] = np.flatnonzero(inside)
        self._low, self._table = first, table
        self._pack()

    def _pack(self) -> None:
        self._packed = self._table.astype(code_dtype(len(self.values)))

    def _hash(self, values: Numbers, out: Codes) -> Codes:
        encoded = pa.array(values).dictionary_encode()
        distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
        present = distinct == distinct
        new = present & (self._find(distinct) == UNKNOWN)
        if new.any():
            self._append(np.unique(distinct[new]) + distinct.dtype.type(0))  # -0.0 is 0.0
        found = np.where(present, self._find(distinct), UNKNOWN)
        return pack_codes(found[encoded.indices.to_numpy(zero_copy_only=False)], len(self.values), out)

    def _find(self, values: Numbers) -> NDArray[np.intp]:
        if len(self._sorted) == 0:
            return np.full(len(values), UNKNOWN, dtype=np.intp)
        position = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return np.where(self._sorted[position] == values, self._order[position], UNKNOWN)

    def _append(self, new: Numbers) -> None:
        """`new` are ascending and unknown."""
        n_known = len(self.values)
        joined = np.concatenate([self.values, new])
        self.values = joined if n_known else new
        self._order = np.argsort(self.values, kind="stable")
        self._sorted = self.values[self._order]
        if len(self._table):
            whole = (new >= self._low) & (new < self._low + len(self._table)) & (new == np.rint(new))
            self._table[new[whole].astype(np.intp) - self._low] = n_known + np.flatnonzero(whole)
            self._pack()
        self._is_range = bool(
            self.values.dtype.kind in "iu"
            and len(self._table)
            and np.array_equal(self.values, np.arange(len(self.values)) + self._low)
        )
        high = self._low + len(self.values) - 1
        in_bytes = self._is_range and code_dtype(len(self.values)) == np.uint8
        self._bytes_of_range = [dtype for dtype in BYTES if in_bytes and _holds(dtype, self._low, high)]


def _holds(dtype: np.dtype[np.integer], low: int, high: int) -> bool:
    bounds = np.iinfo(dtype)
    return bool(bounds.min <= low and high <= bounds.max)


class NumberCoder:
    """A numeric column: provisional codes, and how often each class has each value.

    With `cut` the numbers are to be cut into bins: once they are more than `MAX_DISTINCT_NUMBERS`, they are kept as
    they are in place of codes, and counted by a `ValueSketch`.
    """

    def __init__(self, cut: bool) -> None:
        self.vocabulary = NumberVocabulary()
        self.sketch: ValueSketch | None = None
        self._cut = cut
        self._counted: NDArray[Any] = np.zeros((0, 1), dtype=np.int64)
        self._n_rows = 0

    def encode(self, values: Numbers, rows: BatchRows, out: Codes) -> Codes | NDArray[np.floating]:
        """Codes, in `out` if they fit a byte, or numbers: an array of unsigned or of float dtype says which."""
        if self.sketch is None:
            codes = self.vocabulary.codes(values, out)
            if not self._cut:
                return codes
            if len(self.vocabulary.values) <= MAX_DISTINCT_NUMBERS:
                self._count(codes, rows)
                return codes
            self.sketch = ValueSketch()
            if self._counted.any():
                self.sketch.add(self._table_counts())
        self.sketch.add(count_values(values, rows.class_codes, rows.weights, n_classes=rows.n_classes))
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)

    def counts(self) -> ValueCounts:
        """Rows of each (value, class); of a column that is not cut, one for each value."""
        if self.sketch is not None:
            return self.sketch.counts()
        if self._cut:
            return self._table_counts()
        return ValueCounts.of_distinct(self.vocabulary.values.astype(np.float64))

    def _count(self, codes: Codes, rows: BatchRows) -> None:
        n_values, n_classes = len(self.vocabulary.values), rows.n_classes
        # One row more for the missing.
        cells = np.minimum(codes, n_values).astype(np.intp)
        cells *= n_classes
        cells += rows.class_codes
        found: NDArray[Any] = np.bincount(cells, rows.weights, minlength=(n_values + 1) * n_classes)
        counted = found.reshape(-1, n_classes)[:-1]
        self._n_rows += int(counted.sum() if rows.weights is None else np.count_nonzero(codes < n_values))
        counted[: self._counted.shape[0], : self._counted.shape[1]] += self._counted
        self._counted = counted

    def _table_counts(self) -> ValueCounts:
        order = np.argsort(self.vocabulary.values[: len(self._counted)])
        counted = self._counted[order]
        ranks, classes = np.nonzero(counted)
        values = self.vocabulary.values[order].astype(np.float64)
        return ValueCounts(values[ranks], classes, counted[ranks, classes].astype(np.float64), self._n_rows)
