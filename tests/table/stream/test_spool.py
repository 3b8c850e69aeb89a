"""What is read from a spool is what was written to it."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.errors import MemoryLimitError
from tanager.table.stream import spool as stream_spool
from tanager.table.stream.spool import Spool, codes_like, mapped_array

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
        patch.setattr(stream_spool, "CHUNK_ROWS", chunk_rows)
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


def test_mapped_arrays_stay_when_their_file_is_closed_and_take_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    codes = mapped_array((3, 5), np.dtype(np.uint16)).T
    codes[:] = np.arange(15).reshape(5, 3)
    assert codes.flags.f_contiguous
    assert codes.sum() == 105
    assert list(tmp_path.iterdir()) == []


def test_codes_like_are_mapped_where_codes_are():
    mapped = mapped_array((3, 5), np.dtype(np.uint8)).T[1:4]
    for codes, expected in ((mapped, True), (np.zeros((5, 3), np.uint8, order="F"), False)):
        made = codes_like(codes, 7, 2, codes.dtype)
        assert made.shape == (7, 2)
        assert made.flags.f_contiguous
        assert made.flags.owndata != expected


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system cannot take space beforehand")
def test_a_full_disk_is_an_error_before_the_first_store(monkeypatch):
    def full(*rest: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(MemoryLimitError, match="the codes take 1,000 bytes"):
        mapped_array((10, 100), np.dtype(np.uint8))
