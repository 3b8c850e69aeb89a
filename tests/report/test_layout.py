"""Where nodes stand: boxes that never meet, children to the right of their parents."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import networks
from tanager.report.layout import HEIGHT, place_nodes
from tanager.structure.dag import Dag


@st.composite
def structures(draw) -> Dag:
    """Augmented naive Bayes networks of up to 30 attributes: leaves right under the class go into a grid."""
    n = draw(st.integers(1, 30))
    parents = [draw(st.sets(st.integers(0, k - 1), max_size=2)) if k else set() for k in range(n)]
    return Dag.augmented_naive_bayes(parents)


def check(names: list[str], dag: Dag) -> None:
    boxes = place_nodes(names, dag)
    assert len(boxes) == dag.n_nodes
    for k, box in enumerate(boxes):
        for other in boxes[:k]:
            beside = box.x + box.width <= other.x or other.x + other.width <= box.x
            assert beside or abs(box.y - other.y) >= HEIGHT
    for parent, child in dag.edges:
        assert boxes[parent].x + boxes[parent].width < boxes[child].x


@settings(max_examples=60, deadline=None)
@given(structures(), st.data())
def test_boxes_of_augmented_naive_bayes_never_meet_and_edges_go_right(dag, data):
    check([data.draw(st.text(max_size=40)) for _ in range(dag.n_nodes)], dag)


@settings(max_examples=60, deadline=None)
@given(networks(max_nodes=7))
def test_boxes_of_any_network_never_meet_and_edges_go_right(network):
    check(list(network.nodes), network.dag)


def test_a_chain_longer_than_python_recurses_has_a_place():
    n = 1_200
    boxes = place_nodes(["a"] * (n + 1), Dag.augmented_naive_bayes([{k - 1} if k else () for k in range(n)]))
    assert len({box.y for box in boxes[:-1]}) == 1
