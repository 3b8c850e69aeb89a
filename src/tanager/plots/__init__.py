"""Layer 9: pictures. A value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.network import plot_network

__all__ = ["plot_network"]
