"""The heat map of a table: its numbers where there is room, labels that never meet."""

import numpy as np
import pytest

from plots.conftest import assert_apart
from tanager.network.network import NodeTable
from tanager.plots import plot_table


def table_of(n_states: int, n_parent_states: list[int], letters: int = 3) -> NodeTable:
    generator = np.random.default_rng(0)
    rows = int(np.prod(n_parent_states))

    def labels(n: int) -> tuple[str, ...]:
        return tuple(f"{k}".rjust(letters, "s") for k in range(n))

    return NodeTable(
        "node",
        labels(n_states),
        tuple(f"parent {k}" for k in range(len(n_parent_states))),
        tuple(labels(n) for n in n_parent_states),
        generator.dirichlet(np.ones(n_states), rows),
    )


def tick_labels(ax) -> tuple[list[str], list[str]]:
    return tuple([label.get_text() for label in axis.get_ticklabels()] for axis in (ax.xaxis, ax.yaxis))


def assert_no_overlap(ax) -> None:
    for axis in (ax.xaxis, ax.yaxis):
        assert_apart(axis.get_ticklabels(), ax)
    numbers = [text.get_window_extent() for text in ax.texts]
    for k, box in enumerate(numbers):
        assert not any(box.overlaps(other) for other in numbers[max(0, k - 20) : k])


def test_it_shows_the_probabilities_in_order():
    table = table_of(3, [2, 2])
    ax = plot_table(table)
    np.testing.assert_array_equal(ax.images[0].get_array(), table.probabilities)
    assert [text.get_text() for text in ax.texts] == [f"{p:.2f}" for p in table.probabilities.ravel()]
    states, given = tick_labels(ax)
    assert states == list(table.states)
    assert given == [", ".join(parents) for parents, _ in table.rows()]
    assert ax.get_title(loc="left") == "P(node | parent 0, parent 1)"


@pytest.mark.parametrize(
    ("n_states", "parents", "letters"),
    [(2, [], 3), (4, [3, 2], 12), (12, [5, 4], 20), (3, [30, 20], 8), (200, [2], 4), (2, [4, 4, 4, 4], 200)],
)
def test_labels_never_overlap(n_states, parents, letters):
    ax = plot_table(table_of(n_states, parents, letters))
    assert_no_overlap(ax)
    assert max(ax.figure.get_size_inches()) < 22
    ends = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert min(box.x0 for box in ends) >= 0


def test_labels_are_thinned_on_small_axes():
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(3, 2))[1]
    assert plot_table(table_of(3, [10, 10]), ax) is ax
    assert_no_overlap(ax)
    states, given = tick_labels(ax)
    assert len(states) == 3
    assert 2 <= len(given) < 20
    assert given[0] == "ss0, ss0"
    assert not ax.texts


def test_strange_names_are_drawn_as_they_are():
    table = NodeTable("$x_{", ("$a^{", "<b>"), (), (), np.array([[0.5, 0.5]]))
    ax = plot_table(table)
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left") == "P($x_{)"
    assert tick_labels(ax)[0] == ["$a^{", "<b>"]
