"""Rows on disk against the same rows in memory, whatever blocks they come in; what is read is what was written."""

from __future__ import annotations

import errno
import os
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cut_rows import CutRows, assert_rows_are, some_rows
from oracle import random_batch
from tanager.errors import MemoryLimitError
from tanager.table.rows import EncodedBatch, gather
from tanager.table.stream import rows as stream_rows
from tanager.table.stream.rows import DiskRows, ScratchFile, Spool

N_STATES = (3, 2, 4, 3)
SEEDS = st.integers(0, 1_000)
edges = st.lists(st.integers(0, 60), max_size=6)


def on_disk(batch: EncodedBatch, edges: list[int]) -> DiskRows:
    """The rows of a batch in blocks that are made anew whenever they are asked for."""
    bounds = list(pairwise([0, *sorted(edges), batch.n_rows]))
    return DiskRows(batch.n_states, lambda: (batch.take(np.arange(low, high)) for low, high in bounds if low < high))


@settings(max_examples=30, deadline=None)
@given(edges, st.booleans(), st.sampled_from([0.0, 0.2]), st.booleans())
def test_every_answer_is_that_of_the_rows_in_memory(edges, weighted, gaps, kept):
    batch = random_batch(5, 60, N_STATES, gaps=gaps, weighted=weighted)
    rows = on_disk(batch, edges)
    rows = rows.kept() if kept else rows
    assert_rows_are(rows, batch, np.arange(0, 60, 3))
    assert sum(block.n_rows for block in rows.blocks()) == 60


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.booleans())
def test_blocks_in_two_places_answer_as_the_rows_in_memory(seed, weighted):
    """Those that all that is written against rows is tested with."""
    batch = random_batch(seed, 60, N_STATES, gaps=0.2, weighted=weighted)
    assert_rows_are(CutRows.of(batch), batch, np.arange(0, 60, 3))


def test_no_row_sums_up_to_what_no_row_gives():
    rows = DiskRows(N_STATES, lambda: iter(()))
    assert rows.n_rows == 0
    assert not rows.incomplete.any()
    for own in (rows, rows.kept(), rows.map(lambda block: block.select(slice(3)))):
        assert own.sum(lambda block: block.codes.shape) == (0, 3)
        assert own.prepare(len).made == 1
        assert gather(own).n_rows == 0


def test_kept_rows_are_read_once():
    batch, times = random_batch(5, 60, N_STATES, gaps=0.1, weighted=True), []
    rows = DiskRows(N_STATES, lambda: times.append(1) or iter([batch.take(slice(0, 20)), batch.take(slice(20, 60))]))
    kept = rows.kept()
    assert kept.kept() is kept
    changed = kept.map(some_rows).kept()
    expected = map(some_rows, kept.blocks())
    for block, other in zip(changed.blocks(), expected, strict=True):
        assert block.codes.tolist() == other.codes.tolist()
        assert block.weights.tolist() == other.weights.tolist()
    assert len(times) == 1


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the open files of a process are listed on Linux only")
def test_open_files_do_not_grow_with_the_blocks():
    batch = random_batch(5, 400, N_STATES)
    before = len(os.listdir("/proc/self/fd"))
    kept = on_disk(batch, list(range(400))).kept()
    assert sum(1 for _ in kept.blocks()) == 400
    assert len(os.listdir("/proc/self/fd")) < before + 100  # other threads of the process open some too


def test_rows_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("tanager.table.rows.physical_memory", lambda: 4 * 60 * 4)
    rows = on_disk(random_batch(5, 61, N_STATES), [])
    assert rows.take(np.arange(60)).n_rows == 60
    with pytest.raises(MemoryLimitError, match="61 rows are needed in memory at once"):
        gather(rows)


def test_memory_holds_a_block_at_a_time_however_many_there_are():
    block = random_batch(5, 20_000, N_STATES)
    n_bytes = block.codes.nbytes + block.class_codes.nbytes
    rows = DiskRows(N_STATES, lambda: (block.take(np.arange(20_000)) for _ in range(40)))
    tracemalloc.start()
    try:
        kept = rows.kept()
        total = kept.sum(lambda each: int(each.codes.sum()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 40 * int(block.codes.sum())
    assert peak < 8 * n_bytes  # a block, the numbers of its rows (8 bytes each), and what is left over


DTYPES = [np.int8, np.int16, np.int32, np.float32, np.float64]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.lists(st.sampled_from(DTYPES), min_size=3, max_size=3)), min_size=1, max_size=8
    ),
    st.integers(1, 12),
)
def test_cells_come_back_in_order_whatever_the_batches_and_their_dtypes(batches, chunk_rows):
    rng = np.random.default_rng(0)
    written: list[list[float]] = [[], [], []]
    found: list[list[float]] = [[], [], []]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_rows, "CHUNK_ROWS", chunk_rows)
        spool = Spool()
        for n_rows, dtypes in batches:
            columns = [rng.integers(-1, 127, n_rows).astype(dtype) for dtype in dtypes]
            spool.append(columns)
            for own, column in zip(written, columns, strict=True):
                own += column.tolist()
        assert spool.n_rows == len(written[0])
        spool.flush()
        for columns in spool.chunks():
            for own, column in zip(found, columns, strict=True):
                own += column.tolist()
        spool.close()
    assert found == written


def test_arrays_stay_when_their_file_is_closed_and_it_takes_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = ScratchFile()
    odd, codes = np.arange(3, dtype=np.uint8), np.asfortranarray(np.arange(15, dtype=np.uint16).reshape(5, 3))
    stored = file.append(odd), file.append(codes)
    data = file.read()
    file.close()
    for place, array in zip(stored, (odd, codes), strict=True):
        assert place.of(data).flags.aligned
        assert place.of(data).flags.f_contiguous
        np.testing.assert_array_equal(place.of(data), array)
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
