"""The order of summing out: running intersection, known cliques, and roots that cost nothing."""

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.network.inference.elimination_plan import EliminationPlan, min_fill_cliques
from tanager.structure.dag import Dag


@st.composite
def dags(draw, max_nodes=9):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, density = draw(st.integers(1, max_nodes)), draw(st.sampled_from([0.1, 0.3, 0.6]))
    order = rng.permutation(n).tolist()
    parents = [()] * n
    for place, node in enumerate(order):
        parents[node] = tuple(p for p in order[:place] if rng.random() < density)
    return Dag(tuple(parents)), tuple(rng.integers(1, 5, n).tolist())


def cliques(plan):
    return [{place, *plan.later[place]} for place in range(plan.n_open)]


@settings(max_examples=60, deadline=None)
@given(dags(), st.data())
def test_what_a_clique_leaves_behind_fits_into_the_next_one_of_its_nodes(task, data):
    dag, n_states = task
    query = data.draw(st.lists(st.sampled_from(range(dag.n_nodes)), max_size=2, unique=True))
    plan = EliminationPlan.of(dag, n_states, query, (), ())
    assert sorted(plan.nodes) == list(range(dag.n_nodes))
    assert plan.nodes[plan.n_summed :] == tuple(query)
    for place, later in enumerate(plan.later):
        assert all(place < other for other in later)
        assert not later or set(later) <= {later[0], *plan.later[later[0]]}
    for family in plan.families:
        assert set(family.places) <= {family.places[0], *plan.later[family.places[0]]}


@settings(max_examples=60, deadline=None)
@given(dags(), st.data())
def test_rooting_the_tree_at_one_query_makes_no_clique_larger(task, data):
    dag, n_states = task
    query = data.draw(st.sampled_from(range(dag.n_nodes)))

    def largest(plan):
        return max(prod(plan.n_states[p] for p in clique) for clique in cliques(plan))

    assert largest(EliminationPlan.of(dag, n_states, [query], (), ())) == largest(
        EliminationPlan.of(dag, n_states, [], (), ())
    )


def test_min_fill_gives_a_ring_of_n_nodes_n_minus_two_triangles():
    n = 7
    ring = {node: {(node - 1) % n, (node + 1) % n} for node in range(n)}
    sizes = [len(clique) for clique in min_fill_cliques(ring, [2] * n).values()]
    assert sizes == [3] * (n - 2) + [2, 1]


def test_a_tan_has_one_clique_for_every_attribute_with_its_parent_and_the_class():
    dag = Dag.augmented_naive_bayes([(), (0,), (0,), (1,)])
    plan = EliminationPlan.of(dag, [3] * 5, [4], (), ())
    found = {frozenset(plan.nodes[place] for place in clique) for clique in cliques(plan)}
    assert {frozenset({1, 0, 4}), frozenset({2, 0, 4}), frozenset({3, 1, 4})} <= found
    assert max(map(len, found)) == 3
