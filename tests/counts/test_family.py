"""The arithmetic of families and of the pair tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import count_rows, random_batch
from tanager.counts.family import Family, PairTables, pair_offsets, strides
from tanager.counts.numpy_engine import NumpyEngine

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


@given(states, st.integers(1, 3))
def test_pairs_lie_row_by_row_of_the_upper_triangle(n_states: list[int], n_classes: int) -> None:
    n = len(n_states)
    offsets = pair_offsets((*n_states, n_classes))
    pairs = PairTables((*n_states, n_classes), np.empty(0), offsets)
    upper = [(i, j) for i in range(n) for j in range(i + 1, n)]
    assert [pairs.index(i, j) for i, j in upper] == list(range(len(upper)))
    assert np.diff(offsets).tolist() == [n_classes * n_states[i] * n_states[j] for i, j in upper]
    assert offsets[0] == 0


def test_a_pair_table_can_be_read_in_both_directions() -> None:
    batch = random_batch(0, 60, (2, 3, 4, 2))
    pairs = NumpyEngine().count_pairs(batch)
    for parent, child in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]:
        np.testing.assert_array_equal(pairs.table(parent, child), count_rows(batch, (parent, 3, child)))
