"""Where the nodes of the page's graph stand: boxes that never meet, children below their parents."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import networks
from tanager.report.model_section import HEIGHT, box_widths, place_boxes
from tanager.structure.dag import Dag


@st.composite
def structures(draw) -> Dag:
    """Augmented naive Bayes networks of up to 30 attributes, or others of up to 7 nodes."""
    if draw(st.booleans()):
        return draw(networks(max_nodes=7)).dag
    n = draw(st.integers(1, 30))
    return Dag.augmented_naive_bayes(
        [draw(st.sets(st.integers(0, k - 1), max_size=2)) if k else set() for k in range(n)]
    )


def assert_apart(names: list[str], places: list[tuple[float, float]]) -> None:
    assert len(places) == len(names)
    assert min(x for x, _ in places) >= -1e-9
    boxes = [(x, x + width, y) for (x, y), width in zip(places, box_widths(names), strict=True)]
    for (left, right, y), (other_left, other_right, other_y) in combinations(boxes, 2):
        assert right <= other_left or other_right <= left or abs(y - other_y) >= HEIGHT


@settings(max_examples=60, deadline=None)
@given(structures(), st.data())
def test_boxes_in_layers_never_meet_and_edges_go_down(dag, data):
    names = [data.draw(st.text(max_size=40)) for _ in range(dag.n_nodes)]
    places = place_boxes(names, dag)
    assert_apart(names, places)
    for parent, child in dag.edges:
        assert places[parent][1] + HEIGHT < places[child][1]


def test_a_chain_longer_than_python_recurses_has_a_place():
    n = 1_200
    places = place_boxes(["a"] * (n + 1), Dag.augmented_naive_bayes([{k - 1} if k else () for k in range(n)]))
    assert len({y for _, y in places}) == n + 1
