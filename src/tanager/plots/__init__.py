"""Pictures: a value and axes in, the axes out; needs the extra `plots` (matplotlib)."""

from __future__ import annotations

from tanager.plots.effect_plots import effects, plot_effect
from tanager.plots.heatmap import plot_table
from tanager.plots.network import plot_network
from tanager.plots.quality import plot_calibration, plot_stability
from tanager.plots.waterfall import plot_waterfall

__all__ = [
    "effects",
    "plot_calibration",
    "plot_effect",
    "plot_network",
    "plot_stability",
    "plot_table",
    "plot_waterfall",
]

# Names of earlier versions, and what to use instead.
_MOVED = {
    "plot_checkup": "use check(X, y).plot()",
    "plot_effects": "it is now tanager.plots.effects",
    "plot_learning_curve": "use sklearn.model_selection.LearningCurveDisplay",
    **dict.fromkeys(
        ("MeanRanks", "PairedValues", "plot_critical_difference", "plot_scatter"),
        "it is in experiments/studies of the repository",
    ),
}


def __getattr__(name: str) -> object:
    advice = f"; {_MOVED[name]}" if name in _MOVED else ""
    raise AttributeError(f"module 'tanager.plots' has no attribute {name!r}{advice}")
