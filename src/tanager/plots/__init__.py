"""Layer 9: pictures. A value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.calibration_curve import plot_calibration
from tanager.plots.critical_difference import MeanRanks, plot_critical_difference
from tanager.plots.effect import plot_effect, plot_effects
from tanager.plots.network import plot_network
from tanager.plots.scatter import PairedValues, plot_scatter
from tanager.plots.stability import plot_stability
from tanager.plots.table_heatmap import plot_table
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
