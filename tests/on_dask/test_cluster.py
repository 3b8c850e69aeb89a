"""Groups of parts: one for each thread of the workers, with equal work and few moves."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed", reason="needs Dask: pip install 'tanager[dask]'")

from tanager.dask.cluster import Cluster

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


def test_parts_of_one_worker_go_to_all():
    assert [own.n_rows for own in group([5] * 8, ["one"] * 8)] == [10, 10, 10, 10]
