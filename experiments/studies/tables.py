"""Results -> tables of text, to print or to write as Markdown: values, ranks, tests, failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.studies.results import UNITS, Results
from experiments.studies.statistics import Ranks, Wilcoxon, holm, mean_ranks, wilcoxon, win_tie_loss


@dataclass(frozen=True)
class TextTable:
    """A title, a heading per column, rows of cells (the first cell names the row), and remarks below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()

    def markdown(self) -> str:
        """A heading, the table, the remarks."""
        cells = [[cell.replace("|", "\\|") for cell in row] for row in (self.header, *self.rows)]
        widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines = [f"### {self.title}", "", *(_line(row, widths) for row in (cells[0], rule, *cells[1:]))]
        if self.remarks:
            lines += ["", *self.remarks]
        return "\n".join(lines) + "\n"


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


def fold_table(results: Results, measure: str) -> TextTable:
    """The folds of a single set: a row per fold, a column per classifier; then mean and standard deviation."""
    unit, values = UNITS[measure], results.by_fold(measure)
    rows = [[f"fold {fold}", *map(unit.show, row)] for fold, row in enumerate(values, start=1)]
    rows.append(["**mean**", *map(unit.show, values.mean(axis=0))])
    if len(values) > 1:
        rows.append(["standard deviation", *map(unit.show, values.std(axis=0, ddof=1))])
    return TextTable(f"{results.sets[0]}: {unit.heading}", ["", *results.classifiers], rows)


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
    reference_values = results.column(reference, measure)
    others = [name for name in results.classifiers if name != reference]
    columns = [results.column(name, measure) for name in others]
    tests = [wilcoxon(reference_values, column, less) for column in columns]
    rows = []
    for name, column, test, corrected in zip(others, columns, tests, holm([test.p for test in tests]), strict=True):
        counts = "/".join(map(str, win_tie_loss(reference_values, column, less)))
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
        first_values = results.column(first, measure)
        tests = [wilcoxon(first_values, results.column(second, measure), less) for second in names[place + 1 :]]
        rows.append([first, *[""] * place, *map(show_test, tests)])
    return TextTable(f"Wilcoxon's signed-rank test: {UNITS[measure].heading}", ["", *names[1:]], rows)


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


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Padded, so that the text can be read as it is: the first column to the left, numbers to the right."""
    first, *others = zip(cells, widths, strict=True)
    return "| " + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"
