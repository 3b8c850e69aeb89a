"""Every engine counts what a loop over the rows counts."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracle import batch_of, count_rows, random_batch, take_rows
from tanager.counts import numba_engine
from tanager.counts.engine import ENGINES, AutoEngine, CountEngine, NumpyEngine, choose_engine
from tanager.counts.numba_engine import BLOCK_ROWS, MAX_MASKS, SLAB_ROWS, NumbaEngine
from tanager.errors import OptionError
from tanager.runtime.resources import thread_limit
from tanager.table.rows import EncodedBatch

# An example of many small tables costs milliseconds, the first one of a kernel a compilation.
few = settings(max_examples=20, deadline=None)


@st.composite
def batches(draw: st.DrawFn, n_rows: tuple[int, ...] = (0, 1, 63, 64, 65), weighted: bool = False) -> EncodedBatch:
    n_states = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    return random_batch(
        seed=draw(st.integers(0, 2**32)),
        n_rows=draw(st.sampled_from(n_rows)),
        n_states=(*n_states, draw(st.integers(1, 5))),
        gaps=draw(st.sampled_from([0.0, 0.2, 1.0])),
        empty_class=draw(st.booleans()),
        weighted=weighted,
    )


def node_sets(batch: EncodedBatch) -> list[tuple[int, ...]]:
    """Single nodes, and all of up to three nodes in both directions: enough to see every stride."""
    nodes = (*range(min(2, batch.n_attributes)), batch.n_attributes)
    return [*((node,) for node in nodes), nodes, nodes[::-1]]


def assert_counts_are_those_of_the_rows(engine: CountEngine, batch: EncodedBatch, tolerance: float = 0.0) -> None:
    for nodes, counted in zip(node_sets(batch), engine.count(batch, node_sets(batch)), strict=True):
        np.testing.assert_allclose(counted, count_rows(batch, nodes).reshape(-1), rtol=tolerance)
    pairs = engine.count_pairs(batch)
    for i in range(batch.n_attributes):
        for j in range(i + 1, batch.n_attributes):
            expected = count_rows(batch, (i, batch.n_attributes, j))
            np.testing.assert_allclose(pairs.table(parent=i, child=j), expected, rtol=tolerance)


@few
@given(batches())
@example(random_batch(0, 65, (1, 1, 2)))
@example(batch_of([[0, 1], [0, 0]], [0, 1], (0, 2, 2)))  # an attribute that is missing in every row has no state
def test_counts_equal_counting_row_by_row(engine: CountEngine, batch: EncodedBatch) -> None:
    assert_counts_are_those_of_the_rows(engine, batch)


@few
@given(batches(weighted=True))
def test_weighted_counts_equal_summing_row_by_row(engine: CountEngine, batch: EncodedBatch) -> None:
    assert_counts_are_those_of_the_rows(engine, batch, tolerance=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_counts_of_a_thousand_rows_equal_counting_row_by_row(engine: CountEngine, gaps: float) -> None:
    """Narrow attributes up to and above the limit of bit slices, more than a panel of masks, and wide ones between."""
    n_states = (4, 40, 2, 3, 1, 12, MAX_MASKS // 2, 5, MAX_MASKS, 2, 9, 3, 4)
    assert_counts_are_those_of_the_rows(engine, random_batch(1, 1000, (*n_states, 3), gaps))


@pytest.mark.parametrize("largest", [255, 300, 70_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_codes_of_every_width_are_counted(engine: CountEngine, largest: int, weighted: bool) -> None:
    batch = random_batch(2, 200, (largest, 3, 2, 2), gaps=0.2, weighted=weighted)
    assert batch.codes.dtype.itemsize == {255: 1, 300: 2, 70_000: 4}[largest]
    assert_counts_are_those_of_the_rows(engine, batch, tolerance=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_class_code_may_be_wider_than_the_attributes(engine: CountEngine, weighted: bool) -> None:
    assert_counts_are_those_of_the_rows(engine, random_batch(3, 700, (2, 3, 300), weighted=weighted), tolerance=1e-12)


@few
@given(batches(n_rows=(1, 64, 200)), st.integers(0, 2**32))
def test_whole_weights_equal_repeated_rows(engine: CountEngine, batch: EncodedBatch, seed: int) -> None:
    times = np.random.default_rng(seed).integers(1, 4, batch.n_rows)
    weighted = batch_of(batch.codes, batch.class_codes, batch.n_states, weights=times)
    repeated = take_rows(batch, np.repeat(np.arange(batch.n_rows), times))
    np.testing.assert_array_equal(engine.count_pairs(weighted).counts, engine.count_pairs(repeated).counts)
    for one, other in zip(
        engine.count(weighted, node_sets(batch)), engine.count(repeated, node_sets(batch)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@few
@given(batches(n_rows=(1, 65, 1000)), st.floats(0, 1))
def test_counts_add_up_over_a_split_of_the_rows(engine: CountEngine, batch: EncodedBatch, share: float) -> None:
    cut = round(share * batch.n_rows)
    parts = [take_rows(batch, range(cut)), take_rows(batch, range(cut, batch.n_rows))]
    whole = engine.count_pairs(batch).counts
    np.testing.assert_array_equal(whole, sum(engine.count_pairs(part).counts for part in parts))
    for nodes in node_sets(batch):
        [counted] = engine.count(batch, [nodes])
        np.testing.assert_array_equal(counted, sum(engine.count(part, [nodes])[0] for part in parts))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [0, 5])
def test_counts_are_integers_and_weighted_counts_floats(engine: CountEngine, n_rows: int, weighted: bool) -> None:
    batch = random_batch(4, n_rows, (2, 3, 2), weighted=weighted)
    kind = np.float64 if weighted else np.int64
    assert engine.count_pairs(batch).counts.dtype == kind
    assert engine.count(batch, [(0,)])[0].dtype == kind


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_engines_agree_over_several_slabs_and_blocks_of_rows(gaps: float) -> None:
    batch = random_batch(5, SLAB_ROWS + BLOCK_ROWS + 7, (3, 2, 30, 4, 1, 2), gaps)
    pairs = NumbaEngine().count_pairs(batch)
    np.testing.assert_array_equal(pairs.counts, NumpyEngine().count_pairs(batch).counts)
    assert pairs.counts.sum() > batch.n_rows


@pytest.mark.parametrize("n_rows", [1, 64, 511, 512, 1000, SLAB_ROWS + BLOCK_ROWS + 77])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_rows_are_grouped_by_class_alike_one_by_one_and_in_vectors(n_rows, n_classes, monkeypatch) -> None:
    batch = random_batch(5, n_rows, (3, 2, 5, n_classes), gaps=0.2, empty_class=True)
    expected = NumpyEngine().count_pairs(batch).counts
    for max_classes in (0, numba_engine.MAX_CLASSES_TAKEN):  # the second is the first where the processor cannot
        monkeypatch.setattr(numba_engine, "MAX_CLASSES_TAKEN", max_classes)
        np.testing.assert_array_equal(NumbaEngine().count_pairs(batch).counts, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_number_of_threads_changes_no_bit(weighted: bool) -> None:
    batch = random_batch(6, 3000, (*[3, 17, 2, 40] * 5, 3), gaps=0.1, weighted=weighted)
    found = []
    for n_jobs in (1, 5):
        with thread_limit(n_jobs):
            found.append([NumbaEngine().count_pairs(batch).counts, *NumbaEngine().count(batch, node_sets(batch))])
    for alone, together in zip(*found, strict=True):
        np.testing.assert_array_equal(alone, together)


def test_read_only_arrays_are_counted(engine: CountEngine) -> None:
    batch = random_batch(7, 100, (2, 30, 3, 2), weighted=True)
    assert batch.weights is not None
    for array in (batch.codes, batch.class_codes, batch.weights, batch.incomplete):
        array.flags.writeable = False
    assert_counts_are_those_of_the_rows(engine, batch, tolerance=1e-12)


def test_auto_compiles_only_for_large_work(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = random_batch(8, 50, (2, 3, 2))
    chosen: list[str] = []

    def choose(name: str) -> CountEngine:
        chosen.append(name)
        return NumpyEngine()

    for name in ("numpy", "numba"):
        monkeypatch.setitem(ENGINES, name, partial(choose, name))
    monkeypatch.setitem(sys.modules, "tanager.counts.numba_engine", None)  # as if no kernel were loaded yet
    AutoEngine().count_pairs(batch)
    AutoEngine().count(batch, [(0,)])
    monkeypatch.setattr("tanager.counts.engine.PAIRS_WORTH_COMPILING", 49)
    monkeypatch.setattr("tanager.counts.engine.SETS_WORTH_COMPILING", 49)
    AutoEngine().count_pairs(batch)
    AutoEngine().count(batch, [(0,)])
    assert chosen == ["numpy", "numpy", "numba", "numba"]


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"engine='nunba'.*'numba', 'numpy'"):
        choose_engine("nunba")
