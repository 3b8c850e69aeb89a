"""The picture of a network: names that never meet, edges that go from left to right."""

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import networks, random_network
from tanager.network.network import Network
from tanager.plots import plot_network
from tanager.plots.network import Layout
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

mpl.use("Agg")


@settings(max_examples=50, deadline=None)
@given(networks(max_nodes=7))
def test_no_two_names_meet_and_attributes_stand_right_of_their_attribute_parents(network):
    layout = Layout.of(network)
    boxes = [(x, x + len(network.nodes[node]), y) for node, (x, y) in layout.places.items()]
    assert len(boxes) == len(network.nodes)
    for k, (start, end, line) in enumerate(boxes):
        for other_start, other_end, other_line in boxes[:k]:
            assert abs(line - other_line) >= 1 or end < other_start or other_end < start
    target = len(network.nodes) - 1
    for parent, child in network.dag.edges:
        if target not in (parent, child):
            assert layout.places[parent][0] < layout.places[child][0]


def test_two_hundred_attributes_are_drawn_without_names_that_overlap_on_the_page():
    generator = np.random.default_rng(0)
    n = 200
    dag = Dag.augmented_naive_bayes([(int(generator.integers(i)),) if i else () for i in range(n)])
    columns = (*(ColumnSchema(f"attribute {i}", "categorical", (0, 1)) for i in range(n)),)
    tables = tuple(np.full(family.shape((*[2] * n, 2)), 0.5) for family in dag.families)
    network = Network((*columns, ColumnSchema("y", "categorical", (0, 1))), dag, tables, "y")
    ax = plot_network(network)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == n + 1
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 100))
def test_it_draws_on_the_axes_given(seed):
    import matplotlib.pyplot as plt

    network = random_network(seed, [2, 2, 2])
    figure, ax = plt.subplots()
    assert plot_network(network, ax) is ax
    assert {text.get_text() for text in ax.texts} - {""} == set(network.nodes)
    plt.close(figure)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
