"""What is read from a spool, or from a file of arrays, is what was written to it."""

from __future__ import annotations

import errno

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.errors import MemoryLimitError
from tanager.table.stream import rows as stream_rows
from tanager.table.stream.rows import ScratchFile, Spool

DTYPES = [np.uint8, np.uint16, np.uint32, np.float32, np.float64]


def values_and_gaps(cells: np.ndarray) -> list[float | None]:
    """Cells as Python has them, None for a code that says missing."""
    most = np.iinfo(cells.dtype).max if cells.dtype.kind == "u" else None
    return [None if most is not None and cell == most else float(cell) for cell in cells.tolist()]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.lists(st.sampled_from(DTYPES), min_size=3, max_size=3)), min_size=1, max_size=8
    ),
    st.integers(1, 12),
)
def test_cells_come_back_in_order_whatever_the_batches_and_their_dtypes(batches, chunk_rows):
    rng = np.random.default_rng(0)
    written: list[list[float | None]] = [[], [], []]
    found: list[list[float | None]] = [[], [], []]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_rows, "CHUNK_ROWS", chunk_rows)
        spool = Spool()
        for n_rows, dtypes in batches:
            columns = [rng.integers(0, 250, n_rows).astype(dtype) for dtype in dtypes]
            for column in columns:
                if column.dtype.kind == "u":
                    column[rng.random(n_rows) < 0.3] = np.iinfo(column.dtype).max
            spool.append(columns)
            for own, column in zip(written, columns, strict=True):
                own += values_and_gaps(column)
        assert spool.n_rows == len(written[0])
        spool.flush()
        for chunk in spool.chunks:
            for own, column in zip(found, chunk.columns(spool.read(chunk)), strict=True):
                own += values_and_gaps(column)
        spool.close()
    assert found == written


def test_arrays_stay_when_their_file_is_closed_and_it_takes_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = ScratchFile()
    odd, codes = np.arange(3, dtype=np.uint8), np.asfortranarray(np.arange(15, dtype=np.uint16).reshape(5, 3))
    assert file.append(odd) == 0
    file.align()
    start = file.append(codes)
    data = file.read(0, file.size)
    file.close()
    found = data[start:].view(np.uint16).reshape(3, 5).T
    assert found.flags.aligned
    np.testing.assert_array_equal(found, codes)
    np.testing.assert_array_equal(data[:3], odd)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_with_the_bytes_that_are_left_to_write():
    class Full:
        def write(self, data: memoryview) -> int:
            if len(data) < 1_000:
                raise OSError(errno.ENOSPC, "no space left on device")
            return 400

    file = ScratchFile()
    file.close()
    file._file = Full()
    with pytest.raises(MemoryLimitError, match="the codes of the next rows take 600 bytes"):
        file.append(np.zeros((10, 100), np.uint8))
