"""Layer 9: pictures. A value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.network import plot_network
from tanager.plots.table_heatmap import plot_table
from tanager.plots.waterfall import plot_waterfall

__all__ = ["plot_network", "plot_table", "plot_waterfall"]
