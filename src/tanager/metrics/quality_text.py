"""A Quality in words and tables of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tanager.metrics.basic import Measures

if TYPE_CHECKING:
    from tanager.metrics.quality import Quality

WIDTH = 80
LONGEST_NAME = 20
MAX_MISTAKES = 10
NAMES = {"accuracy": "accuracy", "log_loss": "log-loss", "brier": "Brier score", "auc": "area under ROC"}
"""What people call the measures."""
LEGEND = """\
sensitivity: of the rows of the class, the share that is said to be of it;
specificity: of the other rows, the share that is not; PPV and NPV: of the rows
said to be of the class, and of those said not to be, the share that is right."""


def describe(quality: Quality) -> str:
    """Classes, measures, confusion matrix, the measures of each class, calibration."""
    names = [short(label) for label in quality.classes.tolist()]
    return "\n\n".join(
        [
            text_table(["class", "rows", "base rate"], _class_rows(quality, names)),
            text_table(["", "value", "95 % interval", "base rate alone"], measure_rows(quality)),
            _confusion(quality, names),
            text_table(["class", "sensitivity", "specificity", "PPV", "NPV"], _share_rows(quality, names))
            + f"\n{LEGEND}",
            calibration_line(quality),
        ]
    )


def headline(quality: Quality) -> str:
    """The quality in a line."""
    parts = [
        f"{NAMES[name]} {show(name, getattr(quality.measures, name))} (base rate {show(name, base)})"
        for name, base in (("accuracy", quality.base.accuracy), ("log_loss", quality.base.log_loss))
    ]
    return textwrap.fill(f"On rows the model had not seen ({quality.split}): {', '.join(parts)}.", WIDTH)


def calibration_line(quality: Quality) -> str:
    """Whether probabilities can be taken at their word."""
    return textwrap.fill(
        f"Calibration: the class predicted has a probability of {100 * quality.confidence:.1f} % on average and is "
        f"right in {100 * quality.measures.accuracy:.1f} % of the rows; in bins of the probability the two differ by "
        f"{100 * quality.calibration_error:.1f} %.",
        WIDTH,
    )


def show(name: str, value: float) -> str:
    """A measure as people read it: accuracy in percent, the others as they are."""
    if not np.isfinite(value):
        return "-"
    return f"{100 * value:.1f} %" if name == "accuracy" else f"{value:.3f}"


def measure_rows(quality: Quality) -> list[list[str]]:
    """Of each measure its name, value, interval, and the base rate's."""
    rows = []
    for name in Measures._fields:
        value, low, high, base = (
            getattr(each, name) for each in (quality.measures, quality.low, quality.high, quality.base)
        )
        interval = f"{show(name, low).removesuffix(' %')} to {show(name, high)}" if np.isfinite(low) else "-"
        rows.append([NAMES[name], show(name, value), interval, show(name, base)])
    return rows


def _class_rows(quality: Quality, names: Sequence[str]) -> list[list[str]]:
    counts = quality.confusion.sum(axis=1)
    return [
        [name, f"{n:,}", f"{100 * rate:.1f} %"] for name, n, rate in zip(names, counts, quality.base_rate, strict=True)
    ]


def _share_rows(quality: Quality, names: Sequence[str]) -> list[list[str]]:
    return [
        [name, *("-" if share is None else f"{100 * share:.1f} %" for share in shares.values())]
        for name, shares in zip(names, quality.by_class(), strict=True)
    ]


def _confusion(quality: Quality, names: Sequence[str]) -> str:
    """The matrix, or where it would not fit the most frequent mistakes."""
    counts = [[f"{n:,}" for n in row] for row in quality.confusion]
    rows = [[name, *cells] for name, cells in zip(names, counts, strict=True)]
    found = text_table(["true class", *(f"said {name}" for name in names)], rows)
    if max(map(len, found.splitlines())) <= WIDTH:
        return found
    wrong = quality.confusion * ~np.eye(len(names), dtype=bool)
    most = np.argsort(-wrong, axis=None, kind="stable")[:MAX_MISTAKES]
    places = [divmod(int(place), len(names)) for place in most if wrong.flat[place]]
    mistakes = [[names[true], names[said], f"{wrong[true, said]:,}"] for true, said in places]
    return (
        text_table(["true class", "taken for", "rows"], mistakes) if mistakes else "No row is taken for another class."
    )


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in (header, *rows)
    )


def short(label: object) -> str:
    """A name that leaves room for others."""
    name = " ".join(str(label).split()) or repr(label)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
