"""Quality: how good P(class | row) is on rows that were not learnt from, beside what the base rate alone gives."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import ClassCodes
from tanager.metrics.basic import (
    EventQuality,
    Measures,
    Probabilities,
    confusion_matrix,
    event_code,
    measure,
    measure_intervals,
    most_missed,
    percent,
)
from tanager.metrics.calibration import measure_calibration
from tanager.table.schema import Category

MAX_ROWS_KEPT = 10_000
"""Predictions that a model file keeps; of more, so many drawn at random."""
WIDTH = 80
LONGEST_NAME = 20
MAX_MISTAKES = 10
NAMES = {"accuracy": "accuracy", "log_loss": "log-loss", "brier": "Brier score", "auc": "area under ROC"}
"""What people call the measures."""
LEGEND = """\
sensitivity: how many rows of the class are predicted as the class
specificity: how many other rows are not predicted as the class
PPV: how many rows predicted as the class are of the class
NPV: how many of the other predictions are right"""


@dataclass(frozen=True)
class Predictions:
    """What a model said of rows it had not seen, and what was true; no attribute is here.

    probabilities  (n, n_classes) P(class | row)
    class_codes    (n,) the column of each row's true class
    folds          (n,) the number of the model, each of which was fitted without the rows it judges
    """

    probabilities: Probabilities
    class_codes: ClassCodes
    folds: NDArray[np.integer]

    def sample(self, most: int = MAX_ROWS_KEPT) -> Predictions:
        """At most so many of them, drawn at random, in their order."""
        n_rows = len(self.class_codes)
        if n_rows <= most:
            return self
        kept = sampled_rows(n_rows, most)
        return Predictions(self.probabilities[kept], self.class_codes[kept], self.folds[kept])


@dataclass(frozen=True)
class Quality:
    """How good a model is on rows that it has not seen.

    classes            (n_classes,) the labels
    base_rate          (n_classes,) share of each class among the rows learnt from
    split              how rows were held out, in words
    measures           accuracy, log-loss, Brier score, area under the ROC curve
    low, high          of the measures, the ends of a 95 % interval: bootstrap over rows, or over groups of them
    base               the measures of a model that gives every row the base rate
    confusion          (n_classes, n_classes) rows of each true class, by the class predicted
    confidence         mean probability of the class predicted; accuracy is how often it is right
    calibration_error  over the rows, how far the probability of the class predicted is from how often it is right
    predictions        what all this was measured on, or a part of it
    digest             of the table learnt from, as the model codes it; empty where there is none
    event              the class that matters; None is the rarer of two, and none of more
    """

    classes: NDArray[np.generic]
    base_rate: NDArray[np.float64]
    split: str
    measures: Measures
    low: Measures
    high: Measures
    base: Measures
    confusion: NDArray[np.intp]
    confidence: float
    calibration_error: float
    predictions: Predictions
    digest: str = ""
    event: Category | None = None

    @classmethod
    def of(
        cls,
        predictions: Predictions,
        classes: NDArray[np.generic],
        base_rate: NDArray[np.float64],
        split: str,
        units: NDArray[np.generic] | None = None,
        digest: str = "",
    ) -> Self:
        """Measure predictions; `units` (n,) are what a bootstrap draws, each prediction by itself if None."""
        probabilities, class_codes = predictions.probabilities, predictions.class_codes
        drawn = np.arange(len(class_codes)) if units is None else units
        low, high = measure_intervals(probabilities, class_codes, drawn)
        return cls(
            classes,
            base_rate,
            split,
            measure(probabilities, class_codes),
            low,
            high,
            measure(np.broadcast_to(base_rate, probabilities.shape), class_codes),
            confusion_matrix(probabilities, class_codes),
            float(probabilities.max(axis=1).mean()),
            measure_calibration(probabilities, class_codes, classes).expected_error,
            predictions,
            digest,
        )

    @property
    def n_rows(self) -> int:
        """Rows judged; one that was judged in several repeats counts as often."""
        return int(self.confusion.sum())

    @property
    def event_code(self) -> int | None:
        """The number of the class that is the event."""
        return event_code(self.event, self.classes.tolist(), self.base_rate.tolist())

    def of_event(self) -> EventQuality | None:
        """What is predicted about the event; None where no class is."""
        code = self.event_code
        if code is None:
            return None
        return EventQuality.of(self.confusion, code, self.classes.tolist()[code], self.event is None)

    def by_fold(self) -> list[Measures]:
        """The measures of the predictions of each model."""
        kept = self.predictions
        chosen = (kept.folds == fold for fold in np.unique(kept.folds))
        return [measure(kept.probabilities[rows], kept.class_codes[rows]) for rows in chosen]

    def by_class(self) -> list[dict[str, float | None]]:
        """Of each class against the rest, None where nothing is divided by.

        sensitivity                share of the rows of the class that are predicted to be
        specificity                share of the other rows that are predicted not to be
        positive_predictive_value  share of the rows predicted to be of the class that are
        negative_predictive_value  share of the rows predicted not to be that are not
        """
        right = np.diag(self.confusion)
        rows, said = self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        neither = self.n_rows - rows - said + right
        shares = {
            "sensitivity": (right, rows),
            "specificity": (neither, self.n_rows - rows),
            "positive_predictive_value": (right, said),
            "negative_predictive_value": (neither, self.n_rows - said),
        }
        return [{name: _share(part[k], whole[k]) for name, (part, whole) in shares.items()} for k in range(len(rows))]

    def to_dict(self) -> dict[str, object]:
        """Plain lists and numbers, ready for JSON when the labels are; what is not a number is None."""
        rows = self.confusion.sum(axis=1).tolist()
        described = zip(self.classes.tolist(), rows, self.base_rate.tolist(), self.by_class(), strict=True)
        folds, event = self.by_fold(), self.of_event()
        document: dict[str, object] = {
            "split": self.split,
            "rows_judged": self.n_rows,
            "event": None if event is None else event.to_dict(),
            "classes": [{"class": label, "rows": n, "base_rate": rate, **by} for label, n, rate, by in described],
        }
        for name in Measures._fields:
            parts = {"value": self.measures, "low": self.low, "high": self.high, "base_rate": self.base}
            document[name] = {
                **{key: finite(getattr(part, name)) for key, part in parts.items()},
                "folds": [finite(getattr(fold, name)) for fold in folds],
            }
        document["confusion"] = self.confusion.tolist()
        document["calibration"] = {"mean_probability": self.confidence, "error": self.calibration_error}
        return document

    def __str__(self) -> str:
        return describe(self)

    __repr__ = __str__


def sampled_rows(n_rows: int, most: int = MAX_ROWS_KEPT) -> NDArray[np.intp]:
    """The numbers of the rows that `Predictions.sample` keeps: the same every time."""
    return np.sort(np.random.default_rng(0).choice(n_rows, min(n_rows, most), replace=False))


def finite(value: float) -> float | None:
    """The number, or None for one that JSON has no word for."""
    return value if np.isfinite(value) else None


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def describe(quality: Quality) -> str:
    """A Quality in words and tables of 80 columns."""
    names = [short(label) for label in quality.classes.tolist()]
    event = event_line(quality)
    by_name = zip(names, quality.confusion.sum(axis=1), quality.base_rate, quality.by_class(), strict=True)
    classes, shares = [], []
    for name, n_rows, rate, by_class in by_name:
        classes.append([name, f"{n_rows:,}", f"{100 * rate:.1f} %"])
        shares.append([name, *("-" if share is None else f"{100 * share:.1f} %" for share in by_class.values())])
    return "\n\n".join(
        [
            *([textwrap.fill(event, WIDTH)] if event else []),
            text_table(["class", "rows", "base rate"], classes),
            text_table(["", "value", "95 % interval", "base rate alone"], measure_rows(quality)),
            _confusion(quality, names),
            text_table(["class", "sensitivity", "specificity", "PPV", "NPV"], shares) + f"\n{LEGEND}",
            calibration_line(quality),
        ]
    )


def headline(quality: Quality) -> str:
    """The quality in a few lines, the event first."""
    parts = [
        f"{NAMES[name]} {show(name, getattr(quality.measures, name))} (base rate {show(name, base)})"
        for name, base in (("accuracy", quality.base.accuracy), ("log_loss", quality.base.log_loss))
    ]
    where = f"On rows the model had not seen ({quality.split}): "
    lines = (event_line(quality), f"{where}{', '.join(parts)}.")
    return "\n".join(textwrap.fill(line, WIDTH) for line in lines if line)


def event_line(quality: Quality) -> str:
    """How many cases of the event are found and how many alarms are right; of many classes those missed most."""
    event = quality.of_event()
    if event is not None:
        return str(event)
    found = [
        f"{short(quality.classes[code])} (finds {share.words} of {share.of}, 95 % interval {share.interval_words})"
        for code, share in most_missed(quality.confusion)
    ]
    return f"Missed most often: {', '.join(found)}." if found else ""


def calibration_line(quality: Quality) -> str:
    """Whether probabilities can be taken at their word."""
    return textwrap.fill(
        f"Calibration: the predicted class has a mean probability of {100 * quality.confidence:.1f} % and is right in "
        f"{100 * quality.measures.accuracy:.1f} % of the rows. In bins of the probability, the two differ by "
        f"{100 * quality.calibration_error:.1f} % on average.",
        WIDTH,
    )


def show(name: str, value: float) -> str:
    """A measure as people read it: accuracy in percent; none reads as 0 or 1 unless it is."""
    if not np.isfinite(value):
        return "-"
    if name == "accuracy":
        return percent(value)
    if 0 < value < 0.0005:
        return "< 0.001"
    return "> 0.999" if 0.9995 < value < 1 else f"{value:.3f}"


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


def _confusion(quality: Quality, names: Sequence[str]) -> str:
    """The matrix, or where it would not fit the most frequent mistakes."""
    counts = [[f"{n:,}" for n in row] for row in quality.confusion]
    rows = [[name, *cells] for name, cells in zip(names, counts, strict=True)]
    matrix = text_table(["true class", *(f"predicted {name}" for name in names)], rows)
    if max(map(len, matrix.splitlines())) <= WIDTH:
        return matrix
    wrong = quality.confusion * ~np.eye(len(names), dtype=bool)
    most = np.argsort(-wrong, axis=None, kind="stable")[:MAX_MISTAKES]
    places = [divmod(int(place), len(names)) for place in most if wrong.flat[place]]
    mistakes = [[names[true], names[said], f"{wrong[true, said]:,}"] for true, said in places]
    return text_table(["true class", "predicted", "rows"], mistakes) if mistakes else "No row is predicted wrongly."


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
