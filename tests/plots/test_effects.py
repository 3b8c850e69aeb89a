"""Pictures of effects: steps over bins of their own width, bands of two spreads, labels that do not meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.container import BarContainer
from matplotlib.patches import FancyArrowPatch, StepPatch
from sklearn.datasets import load_iris

from explain.effect_networks import effect_network
from plots.conftest import assert_apart
from tanager import AdditiveClassifier, NaiveBayesClassifier, OptionError
from tanager.additive.importance import class_odds, effect_strength
from tanager.additive.model import AdditiveModel
from tanager.plots import effects, plot_effect, plot_network
from tanager.plots.effect_plots import bin_edges
from tanager.table.schema import ColumnSchema

IRIS = load_iris(as_frame=True)


def steps(ax) -> list[StepPatch]:
    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def assert_no_overlap(ax) -> None:
    ax.figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        assert_apart([label for label in axis.get_ticklabels() if label.get_text()], ax)


def one_column(column: ColumnSchema, n_classes: int = 2) -> AdditiveModel:
    """A network of one attribute, its density flat."""
    effect = np.random.default_rng(0).normal(size=(column.n_states + 1, n_classes))
    target = ColumnSchema("y", "categorical", tuple(f"c{k}" for k in range(n_classes)))
    density = np.full(column.n_states, 1 / column.n_states)
    return AdditiveModel((column, target), np.zeros(n_classes), (effect,), (), (), (density,))


def test_the_curve_has_a_step_for_each_bin_between_its_cuts():
    network = effect_network(0)
    ax = plot_effect(network, "size")
    (curve,) = steps(ax)
    values, edges, _ = curve.get_data()
    np.testing.assert_allclose(edges[1:-1], [1.0, 2.0, 4.0, 8.0])
    assert edges[[0, -1]] == pytest.approx([1.0 - 7 / 12, 8.0 + 7 / 12])
    main = network.main("size")
    np.testing.assert_allclose(values, main[:, 1] - main[:, 0])
    assert ax.get_ylabel() == "log odds of c1"
    assert ax.get_title(loc="left") == "size"


def test_the_density_below_has_an_area_for_the_share_of_the_rows():
    network = effect_network(3)
    (strip,) = plot_effect(network, "size").child_axes
    heights, edges, _ = steps(strip)[0].get_data()
    areas = heights * np.diff(edges)
    kept = heights < heights.max()
    shares = network.densities[0]
    np.testing.assert_allclose(areas[kept], shares[kept])
    assert (areas <= shares + 1e-12).all()


def test_the_band_and_the_whiskers_reach_two_spreads():
    network = effect_network(0, spreads=True)
    band = plot_effect(network, "size").collections[0].get_paths()[0].vertices
    main, spread = network.main("size"), network.spreads[0]
    odds = main[:, 1] - main[:, 0]
    # Effects of two classes that sum to zero have twice the spread in their difference.
    assert band[:, 1].max() == pytest.approx((odds + 4 * spread[:, 1]).max())
    assert band[:, 1].min() == pytest.approx((odds - 4 * spread[:, 1]).min())
    whiskers = plot_effect(network, "on").collections[0].get_segments()
    assert sorted(np.ptp(segment[:, 0]) for segment in whiskers) == pytest.approx(sorted(8 * network.spreads[2][:, 1]))
    assert not plot_effect(effect_network(0), "size").collections


def test_categories_are_bars_the_largest_first_and_a_gap_state_is_one_of_them():
    network = effect_network(2)
    ax = plot_effect(network, "colour")
    odds = network.main("colour")[:, 1] - network.main("colour")[:, 0]
    order = np.argsort(-odds)
    assert [label.get_text() for label in ax.get_yticklabels()] == [("red", "green", "blue")[k] for k in order]
    (bars,) = [each for each in ax.containers if isinstance(each, BarContainer)]
    np.testing.assert_allclose([bar.get_width() for bar in bars], odds[order])
    (strip,) = ax.child_axes
    np.testing.assert_allclose([bar.get_width() for bar in strip.containers[0]], network.densities[1][order])


def test_the_gap_state_of_a_number_is_a_line_of_its_own():
    ax = plot_effect(effect_network(2), "age")
    assert len(steps(ax)[0].get_data().values) == 3
    assert [text.get_text() for text in ax.texts] == ["(missing)"]


def test_of_more_classes_the_one_with_the_strongest_effect_is_drawn_or_the_one_named():
    network = effect_network(1, n_classes=4)
    odds = class_odds(network.main("size"))
    strongest = int(np.argmax(network.densities[0] @ odds**2))
    for options, code in ({}, strongest), ({"of": "c2"}, 2):
        ax = plot_effect(network, "size", **options)
        np.testing.assert_allclose(steps(ax)[0].get_data().values, odds[:, code])
        assert ax.get_ylabel() == f"log odds of c{code}"


def test_a_pair_is_a_heat_map_of_its_log_odds_either_way_round():
    network = effect_network(1)
    ax = plot_effect(network, "size", "colour")
    effect = network.pair("size", "colour")
    np.testing.assert_allclose(ax.images[0].get_array(), effect[..., 1] - effect[..., 0])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["< 2", "[2, 8)", ">= 8"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["red", "green", "blue"]
    turned = plot_effect(network, "colour", "size")
    np.testing.assert_allclose(turned.images[0].get_array(), ax.images[0].get_array().T)
    with pytest.raises(OptionError, match="no effect of the pair"):
        plot_effect(replace(network, pairs=(), tables=()), "size", "colour")


@pytest.mark.parametrize(
    "column",
    [
        ColumnSchema("one cut", "numeric", cuts=(0.0,)),
        ColumnSchema("negative", "numeric", cuts=(-8.0, -1.0)),
        ColumnSchema("wide", "numeric", cuts=(1.0, 10.0, 1e5)),
        ColumnSchema("huge", "numeric", cuts=(1e9, 1e9 + 1, 1e9 + 5)),
        ColumnSchema("day", "numeric", cuts=(1.5e15, 1.6e15, 1.7e15), unit="date"),
        ColumnSchema("moment", "numeric", cuts=(1.5e15, 1.5e15 + 1e9), unit="datetime"),
        ColumnSchema("wait", "numeric", cuts=(1e6, 6e7, 6e8), unit="duration"),
        ColumnSchema("constant", "numeric"),
        ColumnSchema("$\\frac{ <b>" + "n" * 100, "categorical", ("$x^{", "y" * 200)),
        ColumnSchema("many", "categorical", tuple(f"state {k}" for k in range(60))),
    ],
    ids=lambda column: column.name[:8],
)
def test_strange_columns_are_drawn_with_labels_apart(column):
    network = one_column(column, 3)
    assert_no_overlap(plot_effect(network, column.name))
    effects(network)[0].figure.canvas.draw()


def test_edges_increase_and_stay_on_their_side_of_zero():
    for cuts in ((0.0,), (5.0,), (-8.0, -1.0), (0.1, 3.0), (-1.0, 2.0)):
        edges = bin_edges(ColumnSchema("x", "numeric", cuts=cuts))
        assert (np.diff(edges) > 0).all()
        assert cuts[0] <= 0 or edges[0] >= 0
        assert cuts[-1] >= 0 or edges[-1] <= 0


def test_the_strongest_effects_come_first():
    network = effect_network(1, n_classes=3)
    axes = effects(network, max_effects=5)
    strength = np.sort(effect_strength(network))[::-1]
    assert [ax.get_title("right") for ax in axes] == [f"{each:.2f}" for each in strength[:5]]
    assert len(effects(network, max_effects=99)) == len(strength)
    with pytest.raises(OptionError, match="max_effects=0"):
        effects(network, max_effects=0)


def test_effects_are_drawn_of_a_classifier_and_tables_are_refused():
    clf = AdditiveClassifier().fit(IRIS.data, IRIS.target)
    for ax in effects(clf):
        assert_no_overlap(ax)
    with pytest.raises(OptionError, match="tables, not effects"):
        plot_effect(NaiveBayesClassifier().fit(IRIS.data, IRIS.target), IRIS.data.columns[0])


def test_it_draws_on_the_axes_given():
    import matplotlib.pyplot as plt

    network = effect_network(1)
    for names in (("size",), ("colour",), ("size", "colour")):
        ax = plt.subplots()[1]
        assert plot_effect(network, *names, ax=ax) is ax


def many_pairs(n: int) -> AdditiveModel:
    """All pairs of n switches, each stronger than the one before."""
    columns = tuple(ColumnSchema(f"s{k}", "categorical", (0, 1)) for k in range(n))
    pairs = tuple((i, j) for i in range(n) for j in range(i + 1, n))
    sign = np.zeros((3, 3, 2))
    sign[:2, :2, 1] = [[1.0, -1.0], [-1.0, 1.0]]
    main = np.array([[0.0, -1.0], [0.0, 1.0], [0.0, 0.0]])
    return AdditiveModel(
        (*columns, ColumnSchema("y", "categorical", (0, 1))),
        np.zeros(2),
        (main,) * n,
        pairs,
        tuple((k + 1) * sign / 100 for k in range(len(pairs))),
        (np.array([0.5, 0.5]),) * n,
    )


def test_of_many_pairs_the_strongest_are_drawn_the_widest_edge_the_strongest():
    network = many_pairs(15)
    ax = plot_network(network)
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    between = [arrow for arrow in arrows if arrow.get_alpha() == 0.8]
    assert len(between) == 15
    assert "the 15 strongest of 105 pairs" in ax.texts[-1].get_text()
    expected = [0.6 + 3.0 * (105 - k) / 105 for k in range(15)]
    assert sorted((arrow.get_linewidth() for arrow in between), reverse=True) == pytest.approx(expected)
