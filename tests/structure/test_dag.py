"""Structures: their order, separations, and canonical and perfect forms against the definitions (Roos et al. 2005)."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import dags, joint, random_network
from tanager import tune
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.network.network import Network
from tanager.structure.dag import Dag, canonical_form, is_perfect, is_perfect_for, perfect_form
from tanager.table.schema import ColumnSchema

NETWORKS = st.builds(
    random_network,
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(2, 3), min_size=2, max_size=5),
    st.sampled_from([0.2, 0.5, 0.8]),
)


@given(dags())
@settings(max_examples=50)
def test_every_parent_comes_before_its_children_in_the_order(dag):
    place = {node: position for position, node in enumerate(dag.order)}
    assert sorted(dag.order) == list(range(dag.n_nodes))
    assert all(place[parent] < place[child] for parent, child in dag.edges)


@given(dags())
@settings(max_examples=50)
def test_an_edge_that_leads_back_closes_a_cycle_and_is_refused(dag):
    parents = list(map(list, dag.parents))
    for earlier, later in pairwise(dag.order):
        parents[later].append(earlier)
    parents[dag.order[0]].append(dag.order[-1])
    with pytest.raises(OptionError, match="cycle"):
        Dag(tuple(map(tuple, parents)))


def test_edges_and_families_say_the_same_as_the_parents():
    dag = Dag(((2,), (0, 2), ()))
    assert dag.edges == ((2, 0), (0, 1), (2, 1))
    assert dag.families == (Family(0, (2,)), Family(1, (0, 2)), Family(2, ()))


def test_a_parent_that_is_no_node_is_refused():
    with pytest.raises(OptionError, match="names parent 3"):
        Dag(((), (3,)))


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


@settings(max_examples=60, deadline=None)
@given(dags())
def test_the_perfect_form_is_perfect_keeps_every_arrow_and_changes_no_perfect_structure(dag):
    form = perfect_form(dag)
    assert is_perfect(form)
    assert set(dag.edges) <= set(form.edges)
    assert all(is_perfect_for(form, target) for target in range(dag.n_nodes))
    assert (form == dag) == is_perfect(dag)


def test_of_all_structures_of_four_nodes_the_perfect_form_for_a_class_adds_the_fewest_arrows_that_are_enough():
    pairs = list(combinations(range(4), 2))
    structures = {}
    for choice in product((-1, 0, 1), repeat=len(pairs)):
        edges = [pair[::turn] for pair, turn in zip(pairs, choice, strict=True) if turn]
        with suppress(OptionError):  # a cycle
            dag = Dag(tuple(tuple(parent for parent, child in edges if child == node) for node in range(4)))
            structures[dag] = set(edges)
    perfect = [edges for dag, edges in structures.items() if is_perfect_for(dag, 3)]
    assert (len(structures), len(perfect)) == (543, 420)
    for dag, edges in structures.items():
        form = perfect_form(dag, 3)
        assert is_perfect_for(form, 3)
        assert edges <= set(form.edges)
        assert len(form.edges) == min(len(larger) for larger in perfect if edges <= larger)


def test_the_conditional_optimum_of_a_perfect_form_is_the_same_from_every_start():
    """Theorem 4: the class and x1 are parents of x2 and not joined; the class is x1 but for a few rows."""
    rows = list(product((0, 1), repeat=3))
    weights = np.array([5.0 + (x1 == c) * (60.0 if x2 else 30.0) for x1, x2, c in rows])
    table = pd.DataFrame(rows, columns=["x1", "x2", "c"])
    columns = tuple(ColumnSchema(name, "categorical", (0, 1)) for name in table)
    cells, by_class = list(zip(weights, rows, strict=True)), weights.reshape(4, 2)
    highest = float((by_class * np.log(by_class / by_class.sum(axis=1, keepdims=True))).sum())

    def tuned(dag, seed):
        """sum_t log P(c_t | x_t) at the tables found from random ones."""
        random = np.random.default_rng(seed)
        tables = tuple(random.dirichlet([0.5, 0.5], size=family.shape((2, 2, 2))[0]) for family in dag.families)
        network = tune(Network(columns, dag, tables), table, "c", strength=1e-4, cv=2, sample_weight=weights).network
        return sum(w * np.log(network.query("c", {"x1": x1, "x2": x2})[c]) for w, (x1, x2, c) in cells)

    apart = Dag(((), (0, 2), ()))
    assert np.ptp([tuned(apart, seed) for seed in (0, 1, 5)]) > 10.0
    assert [tuned(perfect_form(apart), seed) for seed in (0, 1, 5)] == pytest.approx([highest] * 3, rel=1e-4)


@settings(max_examples=30, deadline=None)
@given(NETWORKS, st.data())
def test_d_separated_nodes_are_independent_in_the_joint_and_others_are_not(network, data):
    nodes = range(len(network.nodes))
    one, other = data.draw(st.lists(st.sampled_from(nodes), min_size=2, max_size=2, unique=True))
    seen = sorted(data.draw(st.sets(st.sampled_from(nodes))) - {one, other})
    axes = tuple(node for node in nodes if node not in (one, other, *seen))
    cells = np.array(list(joint(network).values())).reshape(network.n_states).sum(axis=axes, keepdims=True)
    rest = cells.sum(axis=(one, other), keepdims=True)
    apart = cells * rest - cells.sum(axis=one, keepdims=True) * cells.sum(axis=other, keepdims=True)
    separated = network.d_separated(network.nodes[one], network.nodes[other], [network.nodes[node] for node in seen])
    assert separated == (np.abs(apart).max() < 1e-15)


@settings(max_examples=30, deadline=None)
@given(NETWORKS, st.data())
def test_the_markov_blanket_is_the_smallest_set_that_separates_a_node_from_all_others(network, data):
    node = data.draw(st.sampled_from(network.nodes))
    blanket = network.markov_blanket(node)
    others = [name for name in network.nodes if name not in (node, *blanket)]
    assert not others or network.d_separated(node, others, blanket)
    for name in blanket:
        assert not network.d_separated(node, name, [other for other in blanket if other != name])


def test_d_separation_needs_sets_that_have_nothing_in_common():
    columns = tuple(ColumnSchema(name, "categorical", (0, 1)) for name in "ab")
    network = Network(columns, Dag(((), ())), (np.full((1, 2), 0.5),) * 2)
    assert network.d_separated("a", "b")
    with pytest.raises(OptionError, match="no node in common"):
        network.d_separated("a", ["a", "b"])


def test_dot_has_every_node_and_edge_and_quotes_their_names():
    names = ('a "b"', "c\\d", "e")
    columns = tuple(ColumnSchema(name, "categorical", (0, 1)) for name in names)
    dag = Dag(((2,), (0, 2), ()))
    tables = tuple(np.full(family.shape((2, 2, 2)), 0.5) for family in dag.families)
    first, *lines, last = Network(columns, dag, tables, "e").to_dot().splitlines()
    assert (first, last) == ("digraph {", "}")
    assert lines[:3] == [r'  "a \"b\"";', r'  "c\\d";', '  "e" [style=filled];']
    assert sorted(lines[3:]) == [r'  "a \"b\"" -> "c\\d";', r'  "e" -> "a \"b\"";', r'  "e" -> "c\\d";']
