"""The picture of a network: boxes that never meet, children below their parents, the strongest part of a large one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from plots.conftest import assert_apart
from random_networks import networks, random_network
from tanager import NaiveBayesClassifier, OptionError, TANClassifier, explain
from tanager.network.network import Network
from tanager.plots import plot_network
from tanager.plots.charts import shorten
from tanager.plots.network import BOX_HEIGHT, CLASS_COLOUR, Layout
from tanager.report.model_section import place_boxes
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


def large_network(n: int, seed: int = 0) -> Network:
    """A random tree whose attributes tell more or less of the class."""
    generator = np.random.default_rng(seed)
    dag = Dag.augmented_naive_bayes([(int(generator.integers(i)),) if i else () for i in range(n)])
    columns = (*(ColumnSchema(f"attribute {i}", "categorical", (0, 1)) for i in range(n)),)
    tables = []
    for family in dag.families[:-1]:
        told = 0.4 * family.child / n
        one = np.tile([0.5 - told, 0.5 + told], family.shape((2,) * (n + 1))[0] // 2)
        tables.append(np.column_stack([1 - one, one]))
    tables.append(np.array([[0.5, 0.5]]))
    return Network((*columns, ColumnSchema("y", "categorical", (0, 1))), dag, tuple(tables), "y")


def names(ax) -> list[str]:
    """The texts of the boxes, without the note below them."""
    return [text.get_text() for text in ax.texts[:-1]]


def assert_no_overlap(ax) -> None:
    assert_apart(ax.texts, ax)
    page = ax.figure.bbox
    for box in (text.get_window_extent() for text in ax.texts):
        assert page.x0 <= box.x0 <= box.x1 <= page.x1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1


@settings(max_examples=50, deadline=None)
@given(networks(max_nodes=8), st.floats(0.5, 6.0), st.booleans())
def test_no_two_boxes_meet_and_children_stand_below_their_parents(network, page, on_top):
    top = len(network.nodes) - 1 if on_top else None
    if on_top and network.dag.parents[top]:
        top = None
    widths = {node: 0.3 + 0.4 * (node % 3) for node in range(len(network.nodes))}
    layout = Layout.of(network.dag, range(len(network.nodes)), top, widths, page)
    places = list(layout.places.items())
    assert len(places) == len(network.nodes)
    for k, (node, (x, y)) in enumerate(places):
        assert abs(x) + widths[node] / 2 <= layout.width / 2 + 1e-9
        assert -layout.height + BOX_HEIGHT - 1e-9 <= y <= 0
        for other, (other_x, other_y) in places[:k]:
            apart = abs(x - other_x) >= (widths[node] + widths[other]) / 2 + 0.1
            assert apart or abs(y - other_y) > BOX_HEIGHT
    for parent, child in network.dag.edges:
        assert layout.places[child][1] < layout.places[parent][1]
    if top is not None:
        assert all(y < layout.places[top][1] for node, (_, y) in places if node != top)


def test_a_layer_is_no_wider_than_the_page():
    widths = dict.fromkeys(range(41), 1.0)
    layout = Layout.of(Dag.augmented_naive_bayes([()] * 40), range(41), 40, widths, 10.0)
    assert layout.width <= 10.0
    rows = {y for x, y in layout.places.values()}
    assert len(rows) == 1 + 5


def test_a_chain_longer_than_python_recurses_has_a_place_on_the_page():
    n = 1_200
    places = place_boxes(["a"] * (n + 1), Dag.augmented_naive_bayes([{k - 1} if k else () for k in range(n)]))
    assert len({y for _, y in places}) == n + 1
    assert min(x for x, _ in places) >= -1e-9


def test_in_a_broken_layer_the_nodes_with_children_stand_lowest():
    # 40 attributes under the class, every fifth of which has a child: eight of them fit in one row of ten.
    parents = [(), *([()] * 39), *[(5 * k,) for k in range(8)]]
    layout = Layout.of(Dag.augmented_naive_bayes(parents), range(49), 48, dict.fromkeys(range(49), 1.0), 12.0)
    heights = [layout.places[node][1] for node in range(40)]
    assert len(set(heights)) == 4
    assert {heights[5 * k] for k in range(8)} == {min(heights)}


@pytest.mark.parametrize("structure", [NaiveBayesClassifier, TANClassifier])
def test_thirty_long_names_do_not_overlap_on_the_page(structure):
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True)
    ax = plot_network(structure().fit(table.data, table.target).network_)
    assert sorted(names(ax)) == sorted([*table.data.columns, "target"])
    assert_no_overlap(ax)


def test_of_two_hundred_attributes_the_strongest_are_drawn_without_overlap():
    network = large_network(200)
    ax = plot_network(network)
    ranked = explain(network).ranked
    assert set(names(ax)) == {"y", *ranked[:60]}
    assert ax.texts[-1].get_text().startswith("the 60 strongest of 200 attributes; ")
    assert_no_overlap(ax)
    assert set(names(plot_network(network, max_attributes=3))) == {"y", *ranked[:3]}


def test_names_shrink_to_fit_small_axes():
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(4, 3))[1]
    plot_network(large_network(30), ax)
    assert ax.texts[0].get_fontsize() < 6
    assert_no_overlap(ax)


def test_the_widest_edge_is_the_strongest():
    network = random_network(4, [3, 3, 3, 3, 2], density=1.0)
    ax = plot_network(network)
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    drawn = sorted(arrow.get_linewidth() for arrow in arrows)
    strength = network.edge_information
    assert len(drawn) <= len(strength)
    assert drawn[-1] == pytest.approx(3.6)
    kept = np.sort(0.6 + 3.0 * strength / strength.max())
    assert all(np.isclose(kept, width).any() for width in drawn)


def test_boxes_are_outlined_in_the_colour_of_the_class_where_they_are_its_children():
    columns = tuple(ColumnSchema(name, "categorical", (0, 1)) for name in ("child", "other", "y"))
    flat = np.full((2, 2), 0.5)
    network = Network(columns, Dag(((2,), (0,), ())), (flat, flat, flat[:1]), "y")
    boxes = [patch for patch in plot_network(network).patches if isinstance(patch, FancyBboxPatch)]
    colours = dict(zip(names(plot_network(network)), [to_hex(box.get_edgecolor()) for box in boxes], strict=True))
    assert colours["child"] == colours["y"] == CLASS_COLOUR
    assert colours["other"] != CLASS_COLOUR


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 100))
def test_it_draws_on_the_axes_given(seed):
    import matplotlib.pyplot as plt

    network = random_network(seed, [2, 2, 2])
    figure, ax = plt.subplots()
    assert plot_network(network, ax) is ax
    assert set(names(ax)) == set(network.nodes)
    plt.close(figure)


def test_a_network_without_a_class_is_drawn_by_its_edges():
    network = random_network(0, [2, 2, 2, 2], density=1.0)
    plain = Network(network.columns, network.dag, network.tables)
    ax = plot_network(plain, max_attributes=2)
    assert len(names(ax)) == 2
    assert ax.texts[-1].get_text() == "the 2 strongest of 4 attributes; wider edge: more information between its ends"


def test_strange_names_are_drawn_as_they_are():
    columns = (
        ColumnSchema("$x^{ & <b>", "categorical", (0, 1)),
        ColumnSchema("a" * 200, "categorical", (0, 1)),
        ColumnSchema("", "categorical", (0, 1)),
        ColumnSchema("line\nbreak", "categorical", (0, 1)),
    )
    flat = np.full((2, 2), 0.5)
    network = Network(columns, Dag(((3,), (3,), (3,), ())), (flat, flat, flat, flat[:1]), "line\nbreak")
    ax = plot_network(network)
    ax.figure.canvas.draw()
    assert set(names(ax)) == {"$x^{ & <b>", shorten("a" * 200, 28), "", "line break"}


def test_shortening_keeps_both_ends():
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 6) == "abc…jk"
    assert len(shorten("x" * 50, 28)) == 28


def test_nothing_to_draw_is_refused():
    with pytest.raises(OptionError, match="max_attributes=0"):
        plot_network(random_network(0, [2, 2]), max_attributes=0)
