"""Pictures: a value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.charts import plot_table, plot_waterfall
from tanager.plots.effect_plots import effects, plot_effect
from tanager.plots.network import plot_network

__all__ = ["effects", "plot_effect", "plot_network", "plot_table", "plot_waterfall"]

_GONE = {
    "plot_calibration": "sklearn.calibration.CalibrationDisplay",
    "plot_stability": "the lines of stability(clf, X, y).to_frame()",
}


def __getattr__(name: str) -> object:
    if name in _GONE:
        raise ImportError(f"tanager.plots.{name} is gone; use {_GONE[name]}.")
    raise AttributeError(f"module 'tanager.plots' has no attribute {name!r}")
