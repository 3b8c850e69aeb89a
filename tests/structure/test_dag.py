from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.structure import Dag


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """A secret order and parents that keep to it."""
    order = draw(st.permutations(range(draw(st.integers(1, 7)))))
    parents: list[list[int]] = [[] for _ in order]
    for place, node in enumerate(order):
        parents[node] = draw(st.lists(st.sampled_from(order[:place]), max_size=4)) if place else []
    return list(order), parents


@given(graphs())
@settings(max_examples=50)
def test_every_parent_comes_before_its_children_in_the_order(graph):
    _, parents = graph
    dag = Dag(tuple(map(tuple, parents)))
    place = {node: position for position, node in enumerate(dag.order)}
    assert sorted(dag.order) == list(range(len(parents)))
    assert all(place[parent] < place[child] for parent, child in dag.edges)


@given(graphs())
@settings(max_examples=50)
def test_an_edge_that_leads_back_closes_a_cycle_and_is_refused(graph):
    order, parents = graph
    for earlier, later in pairwise(order):
        parents[later].append(earlier)
    parents[order[0]].append(order[-1])
    with pytest.raises(OptionError, match="cycle"):
        Dag(tuple(map(tuple, parents)))


def test_equal_parents_in_any_order_make_equal_structures():
    assert Dag(((), (), (1, 0, 1))) == Dag(((), (), (0, 1)))


def test_edges_and_families_say_the_same_as_the_parents():
    dag = Dag(((2,), (0, 2), ()))
    assert dag.edges == ((2, 0), (0, 1), (2, 1))
    assert dag.families == (Family(0, (2,)), Family(1, (0, 2)), Family(2, ()))


def test_augmented_naive_bayes_gives_every_attribute_the_class_and_the_class_nothing():
    assert Dag.augmented_naive_bayes([(), (0,)]).parents == ((2,), (0, 2), ())


def test_a_parent_that_is_no_node_is_refused():
    with pytest.raises(OptionError, match="names parent 3"):
        Dag(((), (3,)))
