"""Results -> tables of text: values, ranks, tests; and ours beside the published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.experiments.comparison import Comparison, Figures
from tanager.experiments.results import UNITS, Results
from tanager.experiments.statistics import Ranks, Wilcoxon, holm, mean_ranks, wilcoxon, win_tie_loss
from tanager.experiments.text_table import TextTable


def measure_table(results: Results, measure: str) -> TextTable:
    """A row per set, a column per classifier; mean and mean rank over the sets where all have a value."""
    unit, values = UNITS[measure], results.matrix(measure)
    rows = [[name, *map(unit.show, row)] for name, row in zip(results.sets, values, strict=True)]
    common = np.asarray(~np.isnan(values).any(axis=1))
    remarks = []
    if common.any():
        rows.append(["**mean**", *map(unit.show, values[common].mean(axis=0))])
        if has_ranks(results, measure):
            rows.append(["**mean rank**", *(f"{rank:.2f}" for rank in ranks_of(results, measure).mean)])
    if not common.all():
        remarks.append(
            f"Means and ranks over the {common.sum()} of {len(common)} sets where every classifier has a value."
        )
    return TextTable(unit.heading, ["set", *results.classifiers], rows, remarks)


def ranks_of(results: Results, measure: str) -> Ranks:
    """Mean ranks by one measure."""
    return mean_ranks(tuple(results.classifiers), results.matrix(measure), UNITS[measure].less_is_better)


def has_ranks(results: Results, measure: str) -> bool:
    """Whether there are two classifiers and a set on which all have a value."""
    values = results.matrix(measure)
    return values.shape[1] > 1 and bool((~np.isnan(values)).all(axis=1).any())


def rank_table(results: Results, measures: Sequence[str]) -> TextTable:
    """Mean rank and mean value of every classifier by several measures, best by the first measure on top."""
    ranks = [ranks_of(results, measure) for measure in measures]
    rows = []
    for place in ranks[0].order:
        cells = []
        for measure, rank in zip(measures, ranks, strict=True):
            values = results.matrix(measure)
            mean = values[~np.isnan(values).any(axis=1), place].mean()
            cells += [f"{rank.mean[place]:.2f}", UNITS[measure].show(mean)]
        rows.append([results.classifiers[place], *cells])
    header = ["classifier", *(text for measure in measures for text in ("mean rank", f"mean {UNITS[measure].heading}"))]
    remarks = [
        f"{UNITS[measure].heading}: {rank.n_sets} sets, critical difference {rank.critical_difference:.2f} "
        f"(Nemenyi, 5 %), Friedman p = {rank.p:.2g}."
        for measure, rank in zip(measures, ranks, strict=True)
    ]
    return TextTable("Mean ranks", header, rows, remarks)


def versus_table(results: Results, measure: str, reference: str) -> TextTable:
    """One classifier against each of the others: win/tie/loss, Wilcoxon's Z and p, p corrected by Holm."""
    less = UNITS[measure].less_is_better
    own = results.column(reference, measure)
    others = [name for name in results.classifiers if name != reference]
    columns = [results.column(name, measure) for name in others]
    tests = [wilcoxon(own, column, less) for column in columns]
    rows = []
    for name, column, test, corrected in zip(others, columns, tests, holm([test.p for test in tests]), strict=True):
        counts = "/".join(map(str, win_tie_loss(own, column, less)))
        rows.append([name, counts, f"{test.z:.2f}", show_p(test.p), show_p(corrected), test.arrow, str(test.n)])
    return TextTable(
        f"{reference} against the others: {UNITS[measure].heading}",
        ["against", "win/tie/loss", "Z", "p", "p (Holm)", "better", "sets"],
        rows,
        [
            f"Wilcoxon's signed-rank test, p one-sided. An arrow to the left: {reference} is better; up: the other is; "
            "double: p < 0.05."
        ],
    )


def wilcoxon_table(results: Results, measure: str) -> TextTable:
    """Every pair as the papers print it: Z, p and an arrow towards the better one, row against column."""
    less, names = UNITS[measure].less_is_better, results.classifiers
    rows = []
    for place, first in enumerate(names[:-1]):
        own = results.column(first, measure)
        tests = [wilcoxon(own, results.column(second, measure), less) for second in names[place + 1 :]]
        rows.append([first, *[""] * place, *map(show_test, tests)])
    return TextTable(f"Wilcoxon's signed-rank test: {UNITS[measure].heading}", ["", *names[1:]], rows)


def published_table(results: Results, comparison: Comparison, measure: str) -> TextTable:
    """Ours and the published figure in one cell, for every cell that the paper gives."""
    unit, figures = UNITS[measure], comparison.figures[measure]
    columns = list(dict.fromkeys(column for row in figures.values() for column in row))
    values = {column: results.column(column, measure) for column in columns}
    rows = []
    for name in (name for name in results.sets if name in figures):
        cells = [name + ("*" if name in comparison.not_same else "")]
        for column in columns:
            ours = unit.show(values[column][results.sets.index(name)]) or "-"
            cells.append(f"{ours} / {_show_figure(figures[name].get(column), unit.digits)}")
        rows.append(cells)
    remarks = [f"\\* {name}: {why}." for name, why in comparison.not_same.items() if name in results.sets]
    means = [_means(results, figures, measure, column, comparison) for column in columns]
    rows.append(["**mean**", *(f"{_show(ours, unit.digits)} / {_show(theirs, unit.digits)}" for ours, theirs in means)])
    remarks.append("Means over the sets without a star where both have a figure.")
    return TextTable(f"{unit.heading}: ours / published", ["set", *columns], rows, remarks)


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


def mean_difference(results: Results, comparison: Comparison, measure: str, column: str) -> float:
    """Our mean minus the published one, over the sets that are the same data, in the paper's units."""
    ours, theirs = _means(results, comparison.figures[measure], measure, column, comparison)
    return ours - theirs


def signed_rank_table(results: Results, comparison: Comparison, measure: str) -> TextTable:
    """The paper's signed-rank tests, ours beside the published."""
    less = UNITS[measure].less_is_better
    rows = []
    for test in comparison.tests:
        ours = wilcoxon(results.column(test.first, measure), results.column(test.second, measure), less)
        z = "-" if test.z is None else f"{test.z:.2f}"
        found = (f"{ours.z:.2f}", show_p(ours.p), ours.arrow) if ours.n else ("-", "-", "not run")
        rows.append([f"{test.first} against {test.second}", found[0], z, found[1], test.p, found[2], str(ours.n)])
    header = ["", "Z ours", "Z published", "p ours", "p published", "ours", "sets"]
    return TextTable(f"Signed-rank tests: {UNITS[measure].heading}", header, rows)


def claims_table(results: Results, comparison: Comparison) -> TextTable:
    """What ought to show, whether it does, and what was found."""
    rows = []
    for claim in comparison.claims:
        holds, found = claim.check(results)
        rows.append([claim.text, "yes" if holds else "**no**", found])
    return TextTable("What ought to show", ["claim", "shown", "found"], rows)


def failures_table(results: Results) -> TextTable:
    """Pairs that could not be measured, each with the reason."""
    seen: dict[tuple[str, str, str], int] = {}
    for record in results.failures:
        key = (record["set"], record["classifier"], record["failure"])
        seen[key] = seen.get(key, 0) + 1
    rows = [[name, classifier, str(folds), why] for (name, classifier, why), folds in seen.items()]
    return TextTable("Failures", ["set", "classifier", "folds", "why"], rows)


def show_p(p: float) -> str:
    """Two digits, or a power of ten where two digits would be zero."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def show_test(test: Wilcoxon) -> str:
    """Z, p and arrow in one cell."""
    return f"{test.z:.2f} ({show_p(test.p)}) {test.arrow}"


def _show(value: float, digits: int) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def _show_figure(figure: tuple[float, float] | None, digits: int) -> str:
    if figure is None:
        return "-"
    value, margin = figure
    return f"{value:.{digits}f}" + (f"±{margin:.{digits}f}" if margin else "")
