"""Canonical form and perfectness against the definitions, pair by pair, and the figures of Roos et al. 2005."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.network.network import Network
from tanager.structure.dag import Dag, canonical_form, is_perfect, is_perfect_for
from tanager.table.schema import ColumnSchema


@st.composite
def dags(draw):
    """Parents among the earlier nodes of a random order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_nodes, density = draw(st.integers(1, 7)), draw(st.sampled_from([0.2, 0.5, 0.9]))
    order = rng.permutation(n_nodes).tolist()
    parents = [()] * n_nodes
    for place, node in enumerate(order):
        parents[node] = tuple(earlier for earlier in order[:place] if rng.random() < density)
    return Dag(tuple(parents))


def joined(dag, one, other):
    return one in dag.parents[other] or other in dag.parents[one]


@settings(max_examples=60, deadline=None)
@given(dags())
def test_perfect_means_that_all_pairs_of_parents_are_joined(dag):
    by_pairs = all(joined(dag, *pair) for parents in dag.parents for pair in combinations(parents, 2))
    assert is_perfect(dag) == by_pairs


@settings(max_examples=60, deadline=None)
@given(dags(), st.data())
def test_canonical_form_is_the_blanket_with_the_parents_of_the_class_joined(dag, data):
    target = data.draw(st.integers(0, dag.n_nodes - 1))
    form = canonical_form(dag, target)
    children = [child for parent, child in dag.edges if parent == target]
    blanket = {target, *dag.parents[target], *children, *(p for child in children for p in dag.parents[child])}
    inside = {(parent, child) for parent, child in dag.edges if {parent, child} <= blanket}
    added = set(form.edges) - inside
    assert inside <= set(form.edges)
    assert all({parent, child} <= set(dag.parents[target]) for parent, child in added)
    assert all(joined(form, *pair) for pair in combinations(dag.parents[target], 2))
    assert form.parents[target] == dag.parents[target]
    assert canonical_form(form, target) == form


CLASS = 4


@pytest.mark.parametrize(
    ("name", "dag"),
    [
        ("naive Bayes", Dag.augmented_naive_bayes([(), (), (), ()])),
        ("TAN", Dag.augmented_naive_bayes([(), (0,), (0,), (1,)])),
        ("only incoming arcs", Dag(((), (), (), (), (0, 1, 2, 3)))),
        ("class between parents and children", Dag(((), (), (0, 1, 4), (2, 4), (0, 1)))),
        ("nothing joined to the class", Dag(((), (0,), (), (0, 2), ()))),
    ],
)
def test_structures_of_the_paper_are_perfect_for_the_class(name, dag):
    assert is_perfect_for(dag, CLASS), name


def test_joining_the_parents_of_the_class_can_make_the_form_perfect():
    b1 = Dag(((), (), (0, 1)))  # X1 -> X0 <- X2 of figure 3, the class last
    assert not is_perfect(b1)
    assert is_perfect_for(b1, 2)
    assert canonical_form(b1, 2) == Dag(((), (0,), (0, 1)))


@pytest.mark.parametrize(
    "dag",
    [
        Dag(((), (0, 2), ())),  # X0 -> X2 <- X1 of figure 3 and theorem 4
        Dag.augmented_naive_bayes([(), (), (0, 1)]),  # two attribute parents that are not joined (B4 of figure 4)
    ],
)
def test_parents_of_a_child_of_the_class_that_stay_apart_are_not_perfect(dag):
    assert canonical_form(dag, dag.n_nodes - 1) == dag
    assert not is_perfect_for(dag, dag.n_nodes - 1)


def test_a_network_tells_its_canonical_form_by_name():
    dag = Dag(((), (), (0, 1), (2,)))  # a -> c <- b, c -> d
    columns = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in "abcd")
    tables = tuple(np.full(family.shape((2, 2, 2, 2)), 0.5) for family in dag.families)
    network = Network(columns, dag, tables)
    assert network.canonical("c") == {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("c",)}
    assert network.canonical("d") == {"a": (), "b": (), "c": (), "d": ("c",)}
    assert not network.is_perfect()
    assert network.is_perfect("c")
    assert not network.is_perfect("a")  # a and b have the child c and are not joined
