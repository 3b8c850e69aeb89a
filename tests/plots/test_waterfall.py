"""The waterfall: bars that follow one another from zero to the log odds, labels that never meet."""

import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from plots.conftest import assert_apart
from tanager import NaiveBayesClassifier, OptionError, explain
from tanager.explain.explanation import Contribution, RowExplanation
from tanager.plots import plot_waterfall


def row_of(addends: list[float], base_rate: float = 0.5, name: str = "attribute") -> RowExplanation:
    contributions = tuple(
        Contribution(f"{name} {k}", "v", "v", (), "present", addend) for k, addend in enumerate(addends)
    )
    probabilities, log_odds = {"yes": 0.6, "no": 0.4}, base_rate + sum(addends)
    return RowExplanation(0, "y", "yes", "no", probabilities, base_rate, 0.0, "table of y", contributions, log_odds)


def bars(ax) -> list[tuple[float, float]]:
    """Start and end of each bar from top to bottom."""
    found = sorted(ax.patches, key=lambda bar: bar.get_y())
    return [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in found]


def labels(ax) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def assert_no_overlap(ax) -> None:
    texts = [*ax.get_yticklabels(), *ax.texts]
    assert_apart(texts, ax)
    for box in (text.get_window_extent() for text in texts):
        assert 0 <= box.x0 <= box.x1 <= ax.figure.bbox.x1


def test_each_bar_begins_where_the_one_above_ends_and_the_last_is_the_sum():
    drawn = bars(plot_waterfall(row_of([0.1, -2.0, 0.7])))
    assert drawn[0] == pytest.approx((0.0, 0.5))
    for before, after in pairwise(drawn[:-1]):
        assert after[0] == pytest.approx(before[1])
    assert [end - start for start, end in drawn[1:-1]] == pytest.approx([-2.0, 0.7, 0.1])
    assert drawn[-1] == pytest.approx((0.0, -0.7))


def test_small_contributions_are_gathered_and_nothing_is_lost():
    row = row_of([0.1 * k for k in range(-10, 30)])
    ax = plot_waterfall(row, max_attributes=5)
    assert labels(ax)[0] == "base rate of y"
    assert labels(ax)[-2:] == ["35 other attributes", "log odds"]
    assert len(bars(ax)) == 1 + 5 + 1 + 1
    assert bars(ax)[-2][1] == pytest.approx(row.log_odds)


def test_one_attribute_is_never_gathered_alone():
    assert labels(plot_waterfall(row_of([1.0, 2.0, 3.0]), max_attributes=2))[1:-1] == [
        f"attribute {k} = v" for k in (2, 1, 0)
    ]


def test_labels_do_not_overlap_on_breast_cancer():
    table = load_breast_cancer(as_frame=True)
    clf = NaiveBayesClassifier().fit(table.data, table.target)
    found = explain(clf, table.data)
    for k in (0, int(np.abs(found.log_odds).argmin()), 568):
        assert_no_overlap(plot_waterfall(found[k]))
        assert_no_overlap(plot_waterfall(found[k], max_attributes=30))


def test_labels_do_not_overlap_on_small_axes():
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(4, 2.4), layout="constrained")[1]
    assert plot_waterfall(row_of([(-1) ** k * k for k in range(20)]), ax) is ax
    assert_no_overlap(ax)


def test_an_infinite_contribution_reaches_beyond_the_others():
    ax = plot_waterfall(row_of([math.inf, -1.0]))
    widths = [abs(end - start) for start, end in bars(ax)]
    assert np.isfinite(widths).all()
    assert widths[1] > widths[0] + widths[2]
    assert [text.get_text() for text in ax.texts] == ["+0.5000", "+inf", "-1.0000", "+inf"]


def test_strange_names_are_drawn_as_they_are():
    ax = plot_waterfall(row_of([1.0], name="$\\frac{"))
    ax.figure.canvas.draw()
    assert labels(ax)[1] == "$\\frac{ 0 = v"
    long = labels(plot_waterfall(row_of([1.0], name="n" * 300)))[1]
    assert len(long) == 60


def test_nothing_to_draw_is_refused():
    with pytest.raises(OptionError, match="max_attributes=0"):
        plot_waterfall(row_of([1.0]), max_attributes=0)
