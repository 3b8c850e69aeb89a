"""Figures are drawn without a screen, and closed after each test."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def assert_apart(texts: Sequence[object], ax) -> None:
    """No two of the texts overlap once the figure is drawn."""
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
