"""Where the attributes of a network of pairs stand: boxes that never meet, linked ones near each other."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.report.layout import HEIGHT
from tanager.report.ring_layout import place_ring, ring_order

WEIGHTS = st.lists(st.floats(0, 5), min_size=1, max_size=45)


@settings(max_examples=60)
@given(WEIGHTS, st.data())
def test_boxes_never_meet_and_the_class_is_in_the_middle(weights, data):
    n = len(weights)
    names = [*data.draw(st.lists(st.text(max_size=30), min_size=n, max_size=n)), "the class"]
    boxes = place_ring(names, ring_order(weights, {}))
    assert len(boxes) == n + 1
    for one, other in combinations(boxes, 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert beside or abs(one.y - other.y) >= HEIGHT
    heights = [box.y for box in boxes[:-1]]
    assert min(heights) <= boxes[-1].y <= max(heights)
    assert min(box.x for box in boxes) == 0


@settings(max_examples=60)
@given(WEIGHTS, st.data())
def test_every_attribute_has_one_place_and_the_heaviest_is_first(weights, data):
    nodes = st.integers(0, len(weights) - 1)
    pairs = data.draw(st.dictionaries(st.tuples(nodes, nodes).filter(lambda pair: pair[0] < pair[1]), st.floats(0, 1)))
    order = ring_order(weights, pairs)
    assert sorted(order) == list(range(len(weights)))
    assert weights[order[0]] == max(weights)


def test_a_chain_of_pairs_stays_a_chain():
    chain = [3, 0, 4, 1, 2]
    links = {(min(a, b), max(a, b)): 1.0 for a, b in pairwise(chain)}
    assert ring_order([0, 0, 0, 9, 0], links) == chain


def test_of_two_links_the_stronger_one_leads_on():
    assert ring_order([9, 0, 0], {(0, 1): 1.0, (0, 2): 2.0}) == [0, 2, 1]
