"""ClusterRows: whatever the parts are, all that rows can do gives what one batch in memory gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cut_rows import assert_rows_are, assert_same_rows
from oracle import random_batch, take_rows

pytest.importorskip("distributed", reason="needs Dask: pip install 'tanager[dask]'")

from tanager.dask.cluster import Cluster, ClusterRows
from tanager.errors import MemoryLimitError
from tanager.runtime.resources import count_threads
from tanager.table import folds
from tanager.table.folds import split_rows
from tanager.table.rows import gather, row_keys

N_STATES = (2, 3, 4, 3)
edges = st.lists(st.integers(0, 80), max_size=6)


def on_cluster(client, batch, cuts=()):
    """The rows in parts that end before given ones; some are empty if these repeat."""
    ends = [0, *sorted(cuts), batch.n_rows]
    parts = [take_rows(batch, range(first, last)) for first, last in pairwise(ends)]
    cluster = Cluster(client)
    return ClusterRows(cluster, cluster.map("encode", lambda part: part, parts))


@settings(max_examples=8, deadline=None)
@given(cuts=edges, gaps=st.sampled_from([0.0, 0.3]), weighted=st.booleans(), numbers=st.sets(st.integers(0, 79)))
def test_every_answer_is_that_of_the_batch_for_any_cut_of_it(client, cuts, gaps, weighted, numbers):
    batch = random_batch(3, 80, N_STATES, gaps, weighted=weighted)
    rows = on_cluster(client, batch, cuts)
    assert rows.place == "cluster"
    assert_rows_are(rows, batch, np.array(sorted(numbers), dtype=int))


def test_more_rows_than_fit_this_machine_are_refused(client, monkeypatch):
    rows = on_cluster(client, random_batch(3, 80, N_STATES), (40,))
    monkeypatch.setattr("tanager.table.rows.physical_memory", lambda: 4 * 79 * 4)
    assert rows.take(np.arange(79)).n_rows == 79
    with pytest.raises(MemoryLimitError, match="80 rows are needed in memory"):
        gather(rows)


@pytest.mark.parametrize("cuts", [(), (20, 30, 70)])
def test_sums_add_up_and_can_be_taken_again(client, cuts):
    batch = random_batch(3, 80, N_STATES)
    rows = on_cluster(client, batch, cuts)
    made = rows.prepare(_class_counts)
    classes = np.bincount(batch.class_codes, minlength=3)
    for factor in (1.0, 2.0):
        number, (counted, total) = made.sum(_times, factor, offset=1)
        np.testing.assert_array_equal(counted, factor * classes)
        assert total == factor * 80
        assert 1 <= number <= 2  # something is made for each thread that has rows
        counted[:] = -1.0  # what is here is of no use to a worker
    assert rows.sum(_threads) <= len(cuts) + 1


def test_large_arguments_of_two_passes_are_told_apart(client):
    made = on_cluster(client, random_batch(3, 80, N_STATES), (40,)).prepare(_class_counts)
    odds = np.zeros(50_000)
    assert [made.sum(_at_odds, odds + k) for k in range(3)] == [0.0, 80.0, 160.0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [(), (1_000,), (5, 8_000)])
def test_the_rows_of_folds_are_those_drawn_in_memory(client, cuts, weighted):
    batch = random_batch(0, 9_000, (3, 4, 2), weighted=weighted)
    rows = on_cluster(client, batch, cuts)
    for most_rows in (5_000, 1_000):
        pairs = zip(split_rows(rows, most_rows, 0), split_rows(batch, most_rows, 0), strict=True)
        for ours, theirs in pairs:
            for own, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(own.row_weights, other.row_weights, rtol=1e-12)  # sums in another order
                assert_same_rows(replace(own, weights=None), replace(other, weights=None))


def test_of_very_many_rows_folds_are_drawn_from_those_of_the_lowest_keys(client, monkeypatch):
    batch = random_batch(0, 900, (200, 200, 2))
    monkeypatch.setattr(folds, "MAX_ROWS_TO_DRAW_FROM", 300)
    low = batch.take(row_keys(batch.codes, batch.class_codes, batch.row_weights) < 2**64 // 3)
    third = {(*row, label) for row, label in zip(low.codes.tolist(), low.class_codes, strict=True)}
    assert 250 < len(third) < 350
    drawn = [
        np.column_stack([part.codes, part.class_codes]).repeat(part.row_weights.astype(int), axis=0).tolist()
        for cuts in [(), (100, 101, 500)]
        for part in next(split_rows(on_cluster(client, batch, cuts), 100, 0))
    ]
    assert drawn[:2] == drawn[2:]
    assert {tuple(row) for row in drawn[0] + drawn[1]} <= third
    assert [len(part) for part in drawn[:2]] == [100, 100]


def _threads(block):
    return count_threads()


def _class_counts(blocks):
    return sum(np.bincount(block.class_codes, minlength=3) for block in blocks).astype(float)


def _times(counted, factor, offset):
    return offset, (factor * counted, factor * counted.sum())


def _at_odds(counted, odds):
    return float(odds[0] * counted.sum())


WORKERS = {"one": 1, "two": 2, "three": 1}


def group(lengths, holders, workers=WORKERS):
    """Groups of parts 0, 1, ... that lie at given workers."""
    parts = [SimpleNamespace(key=number) for number in range(len(lengths))]
    where = {number: (holder,) for number, holder in enumerate(holders)}
    client = SimpleNamespace(status="running", who_has=lambda asked: where, nthreads=lambda: dict(workers))
    return Cluster(client).group(parts, lengths)


@given(st.lists(st.tuples(st.integers(1, 50), st.sampled_from([*WORKERS, "lost"]))))
def test_every_part_is_in_one_group_and_no_thread_has_more_than_its_share_and_a_part(parts):
    lengths, holders = [length for length, _ in parts], [holder for _, holder in parts]
    groups = group(lengths, holders)
    assert sorted(part.key for own in groups for part in own.parts) == list(range(len(parts)))
    assert len(groups) <= sum(WORKERS.values())
    for own in groups:
        assert own.n_rows == sum(lengths[part.key] for part in own.parts) > 0
        assert own.n_rows <= sum(lengths) / 4 + max(lengths)


@given(st.permutations(["one", "two", "two", "three"] * 3))
def test_parts_that_lie_evenly_stay_where_they_are(holders):
    for own in group([7] * 12, holders):
        assert {holders[part.key] for part in own.parts} == {own.worker}
        assert own.n_rows == 21
