"""Pictures: a value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.comparison import (
    MeanRanks,
    PairedValues,
    plot_calibration,
    plot_critical_difference,
    plot_scatter,
    plot_stability,
)
from tanager.plots.effects import plot_effect, plot_effects
from tanager.plots.heatmap import plot_table
from tanager.plots.network import plot_network
from tanager.plots.waterfall import plot_waterfall

__all__ = [
    "MeanRanks",
    "PairedValues",
    "plot_calibration",
    "plot_critical_difference",
    "plot_effect",
    "plot_effects",
    "plot_network",
    "plot_scatter",
    "plot_stability",
    "plot_table",
    "plot_waterfall",
]
