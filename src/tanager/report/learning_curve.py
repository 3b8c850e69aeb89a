"""Would more rows help, as the page draws it."""

from __future__ import annotations

import numpy as np

from tanager.refits.curve import LEVEL, LearningCurve
from tanager.report.json_page import Json, number

MORE = np.array([1.0, 1.5, 2.0, 3.0, 4.0])
"""Of the rows of the largest fit: how many the loss is expected of."""


def describe_curve(curve: LearningCurve) -> dict[str, Json]:
    """[rows, log-loss] of each size measured; [rows, log-loss, lower, upper] expected of more; and a line in words."""
    sizes = MORE * curve.n_rows[-1]
    expected = curve.at(sizes.tolist())
    measured = zip(curve.n_rows.tolist(), curve.log_loss.tolist(), strict=True)
    ends = (part.tolist() for part in (sizes, expected.median, expected.lower, expected.upper))
    return {
        "level": LEVEL,
        "headline": curve.headline,
        "n_judged": curve.n_judged,
        "measured": [[number(value) for value in point] for point in measured],
        "expected": [[number(value) for value in point] for point in zip(*ends, strict=True)],
    }
