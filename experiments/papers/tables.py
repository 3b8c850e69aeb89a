"""Ours beside what a paper published: figures, tests and claims as tables of text."""

from __future__ import annotations

import numpy as np

from experiments.papers.comparison import Comparison, Figures
from experiments.studies.results import UNITS, Results
from experiments.studies.statistics import wilcoxon
from experiments.studies.tables import TextTable, show_p


def claims_table(results: Results, comparison: Comparison) -> TextTable:
    """What ought to show, what kind of claim it is, whether it shows, and what was found."""
    rows = []
    for claim in comparison.claims:
        holds, found = claim.check(results)
        rows.append([claim.text, claim.kind, "yes" if holds else "**no**", found])
    return TextTable("What ought to show", ["claim", "kind", "shown", "found"], rows)


def published_table(results: Results, comparison: Comparison, measure: str) -> TextTable:
    """Ours and the published figure in one cell, for every cell that the paper gives."""
    unit, figures = UNITS[measure], comparison.figures[measure]
    columns = list(dict.fromkeys(column for row in figures.values() for column in row))
    values = {column: results.column(column, measure) for column in columns}
    margins = {column: results.margins(column, measure) for column in columns}
    rows = []
    for name in (name for name in results.sets if name in figures):
        cells = [name + ("*" if name in comparison.not_same else "")]
        for column in columns:
            place, figure = results.sets.index(name), figures[name].get(column)
            ours = unit.show(values[column][place]) or "-"
            if figure and figure[1] and np.isfinite(margins[column][place]) and ours != "-":
                ours += f"±{unit.factor * margins[column][place]:.{unit.digits}f}"  # of the mean, as the paper has it
            cells.append(f"{ours} / {_show_figure(figure, unit.digits)}")
        rows.append(cells)
    remarks = [f"\\* {name}: {why}." for name, why in comparison.not_same.items() if name in results.sets]
    means = [_means(results, figures, measure, column, comparison) for column in columns]
    rows.append(["**mean**", *(f"{_show(ours, unit.digits)} / {_show(theirs, unit.digits)}" for ours, theirs in means)])
    remarks.append("Means over the sets without a star where both have a figure.")
    return TextTable(f"{unit.heading}: ours / published", ["set", *columns], rows, remarks)


def signed_rank_table(results: Results, comparison: Comparison, measure: str) -> TextTable:
    """The paper's signed-rank tests, ours beside the published; p over all sets where the paper leaves some out."""
    less = UNITS[measure].less_is_better
    rows = []
    for test in comparison.tests:
        first, second = results.column(test.first, measure), results.column(test.second, measure)
        kept = [name not in test.without for name in results.sets]
        ours = wilcoxon(first[kept], second[kept], less)
        z = "-" if test.z is None else f"{test.z:.2f}"
        found = (f"{ours.z:.2f}", show_p(ours.p), ours.arrow) if ours.n else ("-", "-", "not run")
        of_all = f" (of all: p {show_p(wilcoxon(first, second, less).p)})" if test.without else ""
        sets = f"{ours.n}{of_all}"
        rows.append([f"{test.first} against {test.second}", found[0], z, found[1], test.p, found[2], sets])
    header = ["", "Z ours", "Z published", "p ours", "p published", "ours", "sets"]
    return TextTable(f"Signed-rank tests: {UNITS[measure].heading}", header, rows)


def mean_difference(results: Results, comparison: Comparison, measure: str, column: str) -> float:
    """Our mean minus the published one, over the sets that are the same data, in the paper's units."""
    ours, theirs = _means(results, comparison.figures[measure], measure, column, comparison)
    return ours - theirs


def _means(
    results: Results, figures: Figures, measure: str, column: str, comparison: Comparison
) -> tuple[float, float]:
    """Mean of ours and of theirs, in the paper's units, over the sets that are the same data."""
    own = results.column(column, measure) * UNITS[measure].factor
    pairs = [
        (own[place], figures[name][column][0])
        for place, name in enumerate(results.sets)
        if name not in comparison.not_same and column in figures.get(name, {}) and not np.isnan(own[place])
    ]
    ours, theirs = np.mean(pairs, axis=0) if pairs else (np.nan, np.nan)
    return float(ours), float(theirs)


def _show(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def _show_figure(figure: tuple[float, float] | None, digits: int) -> str:
    if figure is None:
        return "-"
    value, margin = figure
    return f"{value:.{digits}f}" + (f"±{margin:.{digits}f}" if margin else "")
