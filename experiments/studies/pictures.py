"""The pictures of a study: scatter plots, critical differences, calibration; PNG for pages, SVG for papers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.studies.plots import MeanRanks, PairedValues, plot_calibration, plot_critical_difference, plot_scatter
from experiments.studies.results import UNITS, Results
from experiments.studies.statistics import binomial_error
from experiments.studies.study import Study
from experiments.studies.tables import has_ranks, ranks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_SCATTERS = 4
MAX_CURVES = 7
FORMATS = ("png", "svg")
DOTS_PER_INCH = 150

Picture = tuple[str, Path]
"""What it shows, and its PNG file."""


def draw_pictures(study: Study, results: Results, folder: Path) -> list[Picture]:
    """Draw what the results allow, into a folder."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    # Figures are drawn into files, never on a screen; text stays text, so that an SVG can be searched.
    with mpl.rc_context({"backend": "Agg", "svg.fonttype": "none", "svg.hashsalt": "tanager"}):
        kinds = (_scatters(study, results), _ranks(study, results), _calibration(study, results))
        return [
            (caption, _save(ax, folder / f"{study.name}-{name}")) for caption, name, ax in chain.from_iterable(kinds)
        ]


def paired_values(results: Results, first: str, second: str, measure: str) -> PairedValues:
    """The second classifier across, the first upwards; where the measure is a share, bars of one binomial error."""
    unit = UNITS[measure]
    x, y = results.column(second, measure), results.column(first, measure)
    bars = [np.zeros(len(x)), np.zeros(len(y))]
    if measure in ("error", "accuracy"):
        bars = [binomial_error(share, results.test_rows()) for share in (x, y)]
    f = unit.factor
    return PairedValues(results.sets, f * x, f * y, f * bars[0], f * bars[1], second, first, unit.heading)


def _scatters(study: Study, results: Results) -> Iterator[tuple[str, str, Axes]]:
    measure = study.measures[0]
    for first, second in study.pairs(results)[:MAX_SCATTERS]:
        values = paired_values(results, first, second, measure)
        if not np.isnan(values.x + values.y).all():
            caption = f"{first} (upwards) against {second} (across): {UNITS[measure].heading}"
            yield caption, f"{first} against {second}", plot_scatter(values)


def _ranks(study: Study, results: Results) -> Iterator[tuple[str, str, Axes]]:
    for measure in study.measures[:2]:
        if len(results.classifiers) > 2 and has_ranks(results, measure):
            ranks = ranks_of(results, measure)
            value = MeanRanks(
                [ranks.names[place] for place in ranks.order],
                ranks.mean[ranks.order].tolist(),
                ranks.critical_difference,
                ranks.cliques(),
            )
            caption = (
                f"mean ranks by {UNITS[measure].heading}, {ranks.n_sets} sets; a bar joins those that do not differ"
            )
            yield caption, f"ranks {measure}", plot_critical_difference(value)


def _calibration(study: Study, results: Results) -> Iterator[tuple[str, str, Axes]]:
    """The best classifiers by log-loss."""
    if "log_loss" in study.measures and has_ranks(results, "log_loss"):
        best = [results.classifiers[place] for place in ranks_of(results, "log_loss").order[:MAX_CURVES]]
        curves = {name: results.calibration(name) for name in best}
        yield "calibration of the probabilities, all sets together", "calibration", plot_calibration(curves)


def _save(ax: Axes, stem: Path) -> Path:
    import matplotlib.pyplot as plt

    stem = stem.with_name(re.sub(r"[^\w.-]+", "-", stem.name))
    figure = ax.get_figure(root=True)
    assert figure is not None
    for suffix in FORMATS:
        figure.savefig(f"{stem}.{suffix}", dpi=DOTS_PER_INCH, metadata={"Date": None} if suffix == "svg" else None)
    plt.close(figure)
    return Path(f"{stem}.png")
