"""Pictures: a value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.charts import plot_calibration, plot_stability, plot_table, plot_waterfall
from tanager.plots.effect_plots import effects, plot_effect
from tanager.plots.network import plot_network

__all__ = [
    "effects",
    "plot_calibration",
    "plot_effect",
    "plot_network",
    "plot_stability",
    "plot_table",
    "plot_waterfall",
]
