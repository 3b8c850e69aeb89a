"""CountStore answers every family as a direct count would, counts little, and refuses what would not fit."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from oracle import count_rows, random_batch
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine, NumpyEngine
from tanager.counts.family import CountTable, Family, PairTables, pair_cells, pair_offsets, strides
from tanager.errors import MemoryLimitError
from tanager.table.rows import EncodedBatch

N_STATES = (2, 3, 4, 2, 3)  # four attributes and the class, node 4
NAMES = ("age", "colour", "city", "sex", "class")


class WatchedEngine(NumpyEngine):
    """Remembers what it was asked to count."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        self.asked += node_sets
        return super().count(batch, node_sets)

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        self.asked.append("pairs")
        return super().count_pairs(batch)


def direct(batch: EncodedBatch, family: Family) -> NDArray[np.float64]:
    """Parents ascending, the class last, then the child: the nodes as a family lists them."""
    return count_rows(batch, family.nodes).reshape(family.class_shape(batch.n_states))


@st.composite
def families(draw: st.DrawFn) -> Family:
    child = draw(st.integers(0, 4))
    return Family.of(child, draw(st.sets(st.sampled_from([node for node in range(5) if node != child]), max_size=3)))


# Attributes 0 and 2 are those with gaps.
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(families(), max_size=4), max_size=4), st.booleans(), st.sampled_from([0.0, 0.3]), st.booleans()
)
def test_tables_equal_a_direct_count_whatever_was_asked_before(
    engine: CountEngine, asked: list[list[Family]], pairs: bool, gaps: float, weighted: bool
) -> None:
    batch = random_batch(1, 80, N_STATES, gaps, weighted=weighted)
    store = CountStore(batch, engine, NAMES)
    if pairs:
        store.pairs()
    for request in asked:
        for family, table in zip(request, store.tables(request), strict=True):
            np.testing.assert_allclose(table, direct(batch, family), rtol=1e-12)


def test_coarse_counts_are_those_of_the_first_attributes(engine: CountEngine) -> None:
    batch = random_batch(1, 80, N_STATES, 0.2)
    coarse = CountStore.coarse(batch, engine, ("age", "colour", "class"))
    assert coarse.n_states == (2, 3, 3)
    for child in (0, 1):
        table = coarse.table(Family(child, (coarse.n_attributes,)))
        np.testing.assert_array_equal(table, direct(batch, Family(child, (4,))))
    whole = CountStore.coarse(batch, engine, NAMES)
    np.testing.assert_array_equal(whole.table(Family(3, (4,))), direct(batch, Family(3, (4,))))


def test_a_set_inside_a_counted_one_is_not_counted_again() -> None:
    batch, engine = random_batch(2, 50, N_STATES), WatchedEngine()
    store = CountStore(batch, engine, NAMES)
    store.table(Family(0, (1, 2, 4)))
    for family in (Family(0, (1, 4)), Family(2, (4,)), Family(4, ()), Family(1, (0, 2, 4)), Family(4, (0, 1))):
        np.testing.assert_array_equal(store.table(family), direct(batch, family))
    assert engine.asked == [(0, 1, 2, 4)]


@pytest.mark.parametrize(("child", "counted_again"), [(1, [(1, 4)]), (0, [])], ids=["summed out", "asked for"])
def test_a_superset_is_used_unless_a_node_to_be_summed_out_has_gaps(child: int, counted_again: list[object]) -> None:
    batch, engine = random_batch(3, 50, N_STATES, gaps=0.4), WatchedEngine()
    store = CountStore(batch, engine, NAMES)
    store.table(Family(1, (0, 4)))
    family = Family(child, (4,))
    np.testing.assert_array_equal(store.table(family), direct(batch, family))
    assert engine.asked == [(0, 1, 4), *counted_again]


def test_pair_tables_answer_pairs_and_single_attributes() -> None:
    batch, engine = random_batch(4, 50, N_STATES), WatchedEngine()
    store = CountStore(batch, engine, NAMES)
    store.pairs()
    assert store.pairs() is store.pairs()
    for family in (Family(0, (1, 4)), Family(3, (2, 4)), Family(3, (4,)), Family(0, ()), Family(1, (0,))):
        np.testing.assert_array_equal(store.table(family), direct(batch, family))
    assert engine.asked == ["pairs"]


def test_tables_counted_elsewhere_are_not_counted_again() -> None:
    batch, engine = random_batch(5, 50, N_STATES), WatchedEngine()
    known: dict[tuple[int, ...], CountTable] = {(1, 4): count_rows(batch, (1, 4)).reshape(-1)}
    store = CountStore(batch, engine, NAMES, known=known)
    for family in (Family(1, (4,)), Family(4, (1,)), Family(4, ())):
        np.testing.assert_array_equal(store.table(family), direct(batch, family))
    assert engine.asked == []


def test_a_set_asked_for_twice_at_once_is_counted_once() -> None:
    engine = WatchedEngine()
    store = CountStore(random_batch(5, 50, N_STATES), engine, NAMES)
    store.tables([Family(0, (1, 4)), Family(1, (0, 4)), Family(0, (1, 4))])
    assert engine.asked == [(0, 1, 4)]


def test_the_cache_is_emptied_when_it_would_exceed_the_limit() -> None:
    batch, engine = random_batch(6, 50, N_STATES), WatchedEngine()
    # (0, 1, 4) has 18 cells, (0, 2, 4) 24, (3, 4) 6: the second does not fit beside the first, the third beside it.
    store = CountStore(batch, engine, NAMES, memory_limit=8 * (18 + 24 - 1))
    first, second, third = Family(0, (1, 4)), Family(0, (2, 4)), Family(3, (4,))
    for family in (first, second, third, second, third, first):
        np.testing.assert_array_equal(store.table(family), direct(batch, family))
    assert engine.asked == [(0, 1, 4), (0, 2, 4), (3, 4), (0, 1, 4)]


def test_a_table_that_exactly_fits_is_counted() -> None:
    store = CountStore(random_batch(7, 50, N_STATES), NumpyEngine(), NAMES, memory_limit=8 * 72)
    assert store.table(Family(0, (1, 2, 4))).size == 72
    with pytest.raises(MemoryLimitError):
        CountStore(random_batch(7, 50, N_STATES), NumpyEngine(), NAMES, 8 * 72 - 1).table(Family(0, (1, 2, 4)))


WIDE, WIDE_NAMES = (65_000, 65_000, 3, 65_000), ("postcode", "street", "sex", "client")
WIDE_SIZE = f"{65_000**3 / 2**27:.3g}"


@pytest.mark.parametrize(
    ("n_states", "names", "limit", "ask", "words"),
    [
        (WIDE, WIDE_NAMES, 2**33, lambda store: store.table(Family(1, (0, 3))),
         rf"table of 'street' given .* {re.escape(WIDE_SIZE)} GiB, more than the 8 GiB .*'postcode' alone has 65,000"),
        (N_STATES, NAMES, 8 * 24, lambda store: store.tables([Family(3, (0, 4)), Family(0, (2, 4))]),
         r"2 count tables at once, the largest .* 'age'.*'city' alone has 4"),
        (N_STATES, NAMES, 1000, lambda store: store.pairs(), r"all pairs of 4 attributes .*'city' alone has 4 states"),
    ],
    ids=["a table", "tables together", "all pairs"],
)  # fmt: skip
def test_tables_too_large_are_refused_before_they_are_counted(n_states, names, limit, ask, words) -> None:
    engine = WatchedEngine()
    with pytest.raises(MemoryLimitError, match=words):
        ask(CountStore(random_batch(8, 10, n_states), engine, names, memory_limit=limit))
    assert engine.asked == []


@pytest.mark.parametrize("n_states", [(2,), (3, 2), (2, 1, 4, 3), N_STATES])
def test_the_cells_of_all_pairs_are_those_of_their_tables(n_states: tuple[int, ...]) -> None:
    assert pair_cells(n_states) == pair_offsets(n_states)[-1]


def test_pairs_of_thousands_of_attributes_are_refused_without_a_number_for_each() -> None:
    n_states = (2,) * 20_001
    batch = EncodedBatch.empty(n_states)
    store = CountStore(batch, WatchedEngine(), [str(node) for node in range(len(n_states))], memory_limit=1 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match="all pairs of 20,000 attributes"):
            store.pairs()
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


states = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(states, st.data())
def test_strides_give_the_position_numpy_gives(n_states: list[int], data: st.DataObject) -> None:
    nodes = data.draw(st.permutations(range(len(n_states))))
    codes = [data.draw(st.integers(0, n_states[node] - 1)) for node in nodes]
    position = sum(code * stride for code, stride in zip(codes, strides(nodes, n_states), strict=True))
    assert position == np.ravel_multi_index(codes, [n_states[node] for node in nodes])


@given(st.permutations(range(4)))
def test_parents_are_in_order_however_they_are_given(parents: list[int]) -> None:
    assert Family.of(9, parents) == Family(9, (0, 1, 2, 3))
    assert Family.of(9, parents).nodes == (0, 1, 2, 3, 9)


@pytest.mark.parametrize(
    ("family", "shape", "class_shape"),
    [
        (Family(0, (1, 3)), (15, 2), (3, 5, 2)),  # attribute parent and class
        (Family(0, (1, 2)), (12, 2), (12, 1, 2)),  # without the class
        (Family(2, (3,)), (5, 4), (1, 5, 4)),  # naive Bayes
        (Family(3, ()), (1, 5), (1, 1, 5)),  # the class itself
        (Family(3, (0,)), (2, 5), (2, 1, 5)),  # the class as a child
    ],
)
def test_shapes_follow_the_states_of_the_parents(
    family: Family, shape: tuple[int, int], class_shape: tuple[int, int, int]
) -> None:
    n_states = (2, 3, 4, 5)
    assert family.shape(n_states) == shape
    assert family.class_shape(n_states) == class_shape
    assert family.size(n_states) == np.prod(shape)


def test_a_pair_table_can_be_read_in_both_directions() -> None:
    batch = random_batch(0, 60, (2, 3, 4, 2))
    pairs = NumpyEngine().count_pairs(batch)
    for parent, child in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]:
        np.testing.assert_array_equal(pairs.table(parent, child), count_rows(batch, (parent, 3, child)))
