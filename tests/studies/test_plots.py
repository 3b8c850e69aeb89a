"""The pictures of experiments show the numbers they are given."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from experiments.studies.plots import MeanRanks, PairedValues, plot_critical_difference, plot_scatter
from tanager.metrics import ReliabilityCurve
from tanager.plots import plot_calibration

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def pairs(n=30, seed=0):
    random = np.random.default_rng(seed)
    x, y = random.random(n), random.random(n)
    names = [f"set {k}" for k in range(n)]
    return PairedValues(names, x, y, np.full(n, 0.01), np.full(n, 0.02), "left", "right", "error")


def test_a_scatter_has_a_point_and_a_cross_per_set_and_the_diagonal():
    values = pairs()
    ax = plot_scatter(values)
    diagonal, points = ax.lines[0], ax.lines[-1]
    np.testing.assert_array_equal(*diagonal.get_data())
    np.testing.assert_array_equal(points.get_xydata(), np.column_stack([values.x, values.y]))
    bars = [segment for collection in ax.collections for segment in collection.get_segments()]
    lengths = sorted({tuple(np.round(np.ptp(bar, axis=0), 6)) for bar in bars})
    assert lengths == [(0.0, 0.04), (0.02, 0.0)]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("left", "right")
    assert ax.get_xlim() == ax.get_ylim()


def test_a_critical_difference_diagram_names_every_rank_without_overlap():
    names = [f"classifier {k}" for k in range(15)]
    ranks = np.sort(np.random.default_rng(0).uniform(1, 15, 15)).tolist()
    ax = plot_critical_difference(MeanRanks(names, ranks, 3.0, [(0, 5), (3, 9)]))
    ax.figure.canvas.draw()
    shown = {text.get_text().strip() for text in ax.texts}
    for name, rank in zip(names, ranks, strict=True):
        assert {f"{name}  {rank:.2f}", f"{rank:.2f}  {name}"} & shown
    boxes = [text.get_window_extent() for text in ax.texts]
    figure = ax.figure.bbox
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert figure.x0 <= box.x0
        assert box.x1 <= figure.x1
    bars = [line for line in ax.lines if line.get_linewidth() == 3]
    assert [line.get_xdata()[0] < ranks[start] for line, start in zip(bars, (0, 3), strict=True)] == [True, True]
    assert [line.get_xdata()[1] > ranks[end] for line, end in zip(bars, (5, 9), strict=True)] == [True, True]


def test_a_calibration_curve_goes_through_mean_confidence_and_share_right():
    ours = ReliabilityCurve((0.55, 0.8, 0.95), (0.5, 0.8, 0.75), (100, 5, 200), (0.5, 0.7, 0.9, 1.0))
    ax = plot_calibration({"ours": ours, "nothing": ReliabilityCurve((), (), (), (0.0, 1.0))})
    np.testing.assert_allclose(ax.lines[1].get_xydata(), [[0.55, 0.5], [0.95, 0.75]])
    assert len(ax.lines) == 2
