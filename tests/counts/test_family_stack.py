"""Stacks of tables are the tables of a direct count, whatever the engine and whatever was counted before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import count_rows, random_batch
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.family import Family
from tanager.errors import MemoryLimitError
from tanager.table.rows import EncodedBatch

# Few different numbers of states make families alike; the class, node 5, has as many as some attributes.
N_STATES = (2, 3, 2, 3, 2, 2)
NAMES = tuple("abcdef")
TREE = ((5,), (0, 5), (0, 5), (1, 5), (1, 5), ())


@st.composite
def structures(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    """Up to three parents of each node, ascending; counts do not mind a cycle."""
    nodes = range(len(N_STATES))
    return tuple(
        tuple(sorted(draw(st.sets(st.sampled_from([other for other in nodes if other != node]), max_size=3))))
        for node in nodes
    )


def assert_stacks_hold(store: CountStore, batch: EncodedBatch, parents: tuple[tuple[int, ...], ...]) -> None:
    stacks = store.stacks(parents)
    assert sorted(np.concatenate([stack.children for stack in stacks]).tolist()) == list(range(len(parents)))
    for stack in stacks:
        assert len(stack.children) == 1 or len(parents) - 1 not in stack.children
        for child, table in zip(stack.children.tolist(), stack.counts, strict=True):
            family = Family(child, parents[child])
            expected = count_rows(batch, family.nodes).reshape(family.class_shape(N_STATES))
            np.testing.assert_allclose(table, expected, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(structures(), min_size=1, max_size=3), st.booleans(), st.sampled_from([0.0, 0.3]), st.booleans())
def test_every_node_is_in_one_stack_with_the_counts_of_its_family(
    engine: CountEngine, asked: list[tuple[tuple[int, ...], ...]], pairs: bool, gaps: float, weighted: bool
) -> None:
    batch = random_batch(1, 60, N_STATES, gaps, weighted=weighted)
    store = CountStore(batch, engine, NAMES)
    if pairs:
        store.pairs()
    for parents in asked:
        assert_stacks_hold(store, batch, parents)


def test_a_table_already_known_does_not_change_the_stacks(engine: CountEngine) -> None:
    batch = random_batch(2, 60, N_STATES)
    store = CountStore(batch, engine, NAMES)
    store.table(Family(5, ()))
    store.table(Family(1, (0,)))
    assert_stacks_hold(store, batch, TREE)


def test_tables_asked_for_after_a_stack_are_those_of_a_direct_count(engine: CountEngine) -> None:
    batch = random_batch(3, 60, N_STATES)
    store = CountStore(batch, engine, NAMES)
    store.stacks(TREE)
    for family in (Family(1, (0, 5)), Family(0, (1, 5)), Family(3, (5,)), Family(1, (3,)), Family(2, (0, 1, 5))):
        expected = count_rows(batch, family.nodes).reshape(family.class_shape(N_STATES))
        np.testing.assert_array_equal(store.table(family), expected)


def test_stacks_too_large_are_refused_as_tables_are(engine: CountEngine) -> None:
    store = CountStore(random_batch(4, 60, N_STATES), engine, NAMES, memory_limit=8 * 50)
    with pytest.raises(MemoryLimitError, match="6 count tables at once"):
        store.stacks(TREE)


def test_the_cache_is_emptied_when_it_would_exceed_the_limit_beside_the_stacks(engine: CountEngine) -> None:
    batch = random_batch(5, 60, N_STATES)
    # The tree has 4 + 12 + 8 + 18 + 12 + 2 cells; with the 36 of the first table they are too many.
    store = CountStore(batch, engine, NAMES, memory_limit=8 * 60)
    store.table(Family(3, (0, 1, 5)))
    assert_stacks_hold(store, batch, TREE)
    assert store._cells == 56
