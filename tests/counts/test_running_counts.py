"""Counts taken before the states are known are those of the rows once they are."""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import batch_of, count_rows
from tanager.counts import engine as engine_module
from tanager.counts import running_counts
from tanager.counts.engine import ENGINES, CountEngine, choose_engine
from tanager.counts.numpy_engine import NumpyEngine
from tanager.counts.running_counts import CountedRows, RunningCounts, renumber
from tanager.table.rows import EncodedBatch

GAP = -1


class Column:
    """Cells as values 0, 1, ..., or a gap; the numbers of values as they are first seen; and what they come to mean."""

    def __init__(self, values: np.ndarray, final: np.ndarray) -> None:
        self.values = values
        self.seen = list(dict.fromkeys(values[values != GAP].tolist()))
        self.final = final  # of each value, and last of a gap

    def outline(self, n_rows: int) -> tuple[int, bool]:
        so_far = self.values[:n_rows]
        return len(set(so_far.tolist()) - {GAP}), bool((so_far == GAP).any())

    def provisional(self, rows: slice, n_values: int) -> np.ndarray:
        return np.array([n_values if value == GAP else self.seen.index(value) for value in self.values[rows].tolist()])

    @property
    def meaning(self) -> np.ndarray:
        """As `RunningCounts.counted` takes it: of each value as seen, and of a gap."""
        return self.final[[*self.seen, GAP]]


def random_columns(seed: int, n_rows: int, gaps: float, n_final: tuple[int, ...]) -> list[Column]:
    """Attributes of up to five values that come to mean up to `n_final` states, and a class of three values."""
    rng = np.random.default_rng(seed)
    columns = []
    for n_states in n_final:
        values = np.where(rng.random(n_rows) < gaps, GAP, rng.integers(0, 5, n_rows))
        # A gap may be a state, or missing; so may any value.
        columns.append(Column(values, rng.integers(0, n_states + 1, 6)))
    classes = np.arange(n_rows) % 3
    rng.shuffle(classes)
    return [*columns, Column(classes, np.append(rng.permutation(3), 3))]


def count_in_batches(
    columns: list[Column], edges: list[int], counts: RunningCounts, n_states: tuple[int, ...], weights=None
) -> CountedRows:
    n_rows = len(columns[0].values)
    for low, high in pairwise([0, *sorted(edges), n_rows]):
        if low == high:
            continue
        n_values, has_missing = zip(*(column.outline(high) for column in columns), strict=True)
        parts = zip(columns, n_values, strict=True)
        *codes, classes = [column.provisional(slice(low, high), n).astype(np.uint8) for column, n in parts]
        own = None if weights is None else weights[low:high]
        counts.add(np.array(codes, dtype=np.uint8).T, classes, own, n_values, has_missing)
    found = counts.counted([column.meaning for column in columns], n_states)
    assert found is not None
    assert counts.n_rows == n_rows
    return found


def final_batch(columns: list[Column], n_states: tuple[int, ...], weights=None) -> EncodedBatch:
    """The same rows by their final states: the oracle."""
    codes = [column.final[column.values] for column in columns]  # GAP is the last
    return batch_of(np.column_stack(codes[:-1]), codes[-1], n_states, weights)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 60), max_size=5), st.sampled_from([0.0, 0.2]), st.booleans())
def test_any_cut_into_batches_gives_the_counts_of_the_rows(seed, edges, gaps, weighted):
    n_states = (3, 1, 5, 2, 3)
    columns = random_columns(seed, 60, gaps, n_states[:-1])
    weights = np.random.default_rng(seed).integers(1, 9, 60) / 4 if weighted else None
    found = count_in_batches(columns, edges, RunningCounts(NumpyEngine(), pairs=True), n_states, weights)
    rows = final_batch(columns, n_states, weights)
    pairs = found.pairs()
    assert pairs.counts.dtype == (np.float64 if weighted else np.int64)
    np.testing.assert_array_equal(pairs.counts, NumpyEngine().count_pairs(rows).counts)
    for nodes in [(4,), (0,), (3,), (0, 4), (2, 4), (0, 2), (1, 2, 4), (0, 3, 4)]:
        np.testing.assert_array_equal(found.table(nodes), count_rows(rows, nodes).reshape(-1))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 40), max_size=4), st.booleans())
def test_counts_of_single_attributes_need_no_pairs(seed, edges, pairs):
    for n_states in ((3, 2, 4, 3), (3, 3)):
        wanted = pairs and len(n_states) == 2  # of one attribute there are none
        columns = random_columns(seed, 40, 0.2, n_states[:-1])
        found = count_in_batches(columns, edges, RunningCounts(NumpyEngine(), pairs=wanted), n_states)
        rows, target = final_batch(columns, n_states), len(n_states) - 1
        for nodes in [(target,), (0,), (0, target), (target - 1, target)]:
            np.testing.assert_array_equal(found.table(nodes), count_rows(rows, nodes).reshape(-1))


def test_every_engine_gives_the_same(engine: CountEngine):
    n_states = (3, 2, 5, 3)
    columns = random_columns(1, 200, 0.1, n_states[:-1])
    expected = NumpyEngine().count_pairs(final_batch(columns, n_states)).counts
    found = count_in_batches(columns, [50, 120], RunningCounts(engine, pairs=True), n_states)
    np.testing.assert_array_equal(found.pairs().counts, expected)


def test_auto_compiles_once_all_batches_together_are_large_work(monkeypatch: pytest.MonkeyPatch):
    chosen: list[str] = []

    def choose(name: str) -> CountEngine:
        chosen.append(name)
        return NumpyEngine()

    for name in ("numpy", "numba"):
        monkeypatch.setitem(ENGINES, name, partial(choose, name))
    monkeypatch.setattr(engine_module, "PAIRS_WORTH_COMPILING", 150)
    monkeypatch.setitem(sys.modules, "tanager.counts.numba_engine", None)  # as if no kernel were loaded yet
    columns = random_columns(0, 60, 0.0, (3, 3, 3))  # three pairs, so 60 updates in every batch of 20 rows
    count_in_batches(columns, [20, 40], RunningCounts(choose_engine("auto"), pairs=True), (3, 3, 3, 3))
    assert chosen == ["numpy", "numpy", "numba"]


@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_renumbering_in_blocks_changes_nothing(block, monkeypatch):
    monkeypatch.setattr(running_counts, "BLOCK_CELLS", block)
    rng = np.random.default_rng(0)
    sets, before, after = np.array([[2, 0], [2, 1]]), (4, 3, 2), (2, 3, 2)
    codes = [np.array([1, 2, 0, 1]), np.array([2, 0, 1]), np.array([1, 0])]
    first, second = rng.integers(0, 99, (2, 4)), rng.integers(0, 99, (2, 3))
    expected = [np.zeros((2, 2), int), np.zeros((2, 3), int)]
    for c in range(2):
        for state in range(4):
            if codes[0][state] < 2:
                expected[0][codes[2][c], codes[0][state]] += first[c, state]
        for state in range(3):
            expected[1][codes[2][c], codes[1][state]] += second[c, state]
    found = renumber(np.concatenate([first.ravel(), second.ravel()]), sets, before, codes, after)
    np.testing.assert_array_equal(found, np.concatenate([own.ravel() for own in expected]))


@pytest.mark.parametrize("pairs", [False, True])
def test_tables_have_room_up_to_so_many_cells(pairs, monkeypatch):
    n_states = (3, 4, 5, 2)
    cells = 2 * (3 * 4 + 3 * 5 + 4 * 5) if pairs else 2 * (3 + 4 + 5)
    for limit in (cells - 1, cells):
        monkeypatch.setattr(running_counts, "MAX_COUNTED_CELLS", limit)
        assert RunningCounts(NumpyEngine(), pairs).has_room(n_states) == (limit == cells)


def test_without_a_row_there_is_nothing():
    assert RunningCounts(NumpyEngine(), pairs=True).counted([np.array([0])], (1, 2)) is None
