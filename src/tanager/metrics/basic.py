"""Accuracy, log-loss, Brier score, area under the ROC curve and confusion matrix, with bootstrap intervals.

All take P(class | row), shape (n_rows, n_classes), and `class_codes` (n_rows,), the column of each row's true class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from tanager.arrays import ClassCodes
from tanager.errors import OptionError
from tanager.table.schema import Category

MOST_MISSED, HARDLY_MISSED = 3, 0.99
"""Classes that are named where no class is the event; a class of which this share is found is not."""
Probabilities = NDArray[np.float64]

FLOOR = 1e-15
"""The logarithm of a smaller probability is taken as that of this one: a loss of at most 34.5 nats per row."""
PERCENTILES = (2.5, 97.5)
MAX_DRAWS, MIN_DRAWS = 1000, 200
# About a second for the areas of all classes; an interval by 200 draws is good to a tenth of its width.
CELLS_IN_ALL_DRAWS = 20_000_000


@dataclass(frozen=True)
class Share:
    """`part` of `whole` rows."""

    part: int
    whole: int

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of a 95 % interval of the share (Wilson 1927); 0 to 1 of no rows."""
        if not self.whole:
            return 0.0, 1.0
        ends = binomtest(self.part, self.whole).proportion_ci(method="wilson")
        return float(ends.low), float(ends.high)

    @property
    def of(self) -> int:
        """What `words` are of: 100, or all rows if they are fewer."""
        return min(100, self.whole)

    @property
    def words(self) -> str:
        """As many of 100, or of all rows if they are fewer; "none" where there are no rows."""
        if not self.whole:
            return "none"
        return _of_hundred(self.part / self.whole) if self.whole >= 100 else f"{self.part}"

    @property
    def interval_words(self) -> str:
        """The interval, of 100."""
        low, high = self.interval
        return f"{100 * low:.0f} to {100 * high:.0f}{' of 100' if self.of < 100 else ''}"


def percent(share: float) -> str:
    """With one decimal; a share that is neither none nor all does not read as either."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 < share < 1 else f"{100 * share:.1f} %"


def _of_hundred(share: float) -> str:
    """A whole number, unless it would read as none or as all of them."""
    text = f"{100 * share:.0f}"
    return text if (text not in ("0", "100") or share in (0.0, 1.0)) else f"{100 * share:.1f}"


@dataclass(frozen=True)
class EventQuality:
    """What is predicted about one class, on rows judged.

    label   the class
    rarer   whether it was taken because it is the rarer of two
    found   of its rows (the cases), those that are predicted to be of it
    right   of the rows predicted to be of it (the alarms), those that are
    cases   of all rows, those that are of it
    """

    label: Category
    rarer: bool
    found: Share
    right: Share
    cases: Share

    @classmethod
    def of(cls, confusion: NDArray[np.integer], code: int, label: Category, rarer: bool = False) -> EventQuality:
        """From the rows of each true class by the class predicted; more columns than classes predict none."""
        found, cases, alarms = int(confusion[code, code]), int(confusion[code].sum()), int(confusion[:, code].sum())
        return cls(label, rarer, Share(found, cases), Share(found, alarms), Share(cases, int(confusion.sum())))

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        shares = {"found": self.found, "right": self.right, "cases": self.cases}
        return {"class": self.label, "rarer": self.rarer} | {
            name: {"rows": each.part, "of": each.whole, "low": each.interval[0], "high": each.interval[1]}
            for name, each in shares.items()
        }

    def __str__(self) -> str:
        alarms = (
            f"of {self.right.of} alarms {self.right.words} are right ({self.right.interval_words})"
            if self.right.whole
            else "it never raises an alarm"
        )
        why = ", the rarer class" if self.rarer else ""
        return (
            f"Finds {self.found.words} of {self.found.of} cases of {self.label} (95 % interval "
            f"{self.found.interval_words}); {alarms}; {self.cases.words} of {self.cases.of} rows are cases. "
            f"The event is {self.label}{why}."
        )


def event_code(event: Category | None, classes: Sequence[Category], counts: Sequence[float]) -> int | None:
    """The number of the class that is the event: the one named, else the rarer of two; None of more classes.

    Of two classes that are equally frequent it is the second.
    """
    if event is not None:
        if event not in classes:
            names = ", ".join(repr(str(label)) for label in classes[:10])
            raise OptionError(f"the event {str(event)!r} is no class of the model; its classes are {names}.")
        return list(classes).index(event)
    return (0 if counts[0] < counts[1] else 1) if len(classes) == 2 else None


def most_missed(confusion: NDArray[np.integer]) -> list[tuple[int, Share]]:
    """The classes of which the smallest share is found, at most three that are missed at all, and that share."""
    shares = [(code, Share(int(row[code]), int(row.sum()))) for code, row in enumerate(confusion)]
    missed = [each for each in shares if each[1].part < HARDLY_MISSED * each[1].whole]
    return sorted(missed, key=lambda each: each[1].part / each[1].whole)[:MOST_MISSED]


class Measures(NamedTuple):
    """How good probabilities are; `auc` is the mean over the classes, NaN where no class can be told from the rest."""

    accuracy: float
    log_loss: float
    brier: float
    auc: float


def measure(probabilities: Probabilities, class_codes: ClassCodes) -> Measures:
    """The four measures at once."""
    return Measures(
        accuracy(probabilities, class_codes),
        log_loss(probabilities, class_codes),
        brier(probabilities, class_codes),
        mean_area(areas_under_roc(probabilities, class_codes)),
    )


def accuracy(probabilities: Probabilities, class_codes: ClassCodes) -> float:
    """Share of rows whose most probable class is the true one."""
    return float((probabilities.argmax(axis=1) == class_codes).mean())


def log_true(probabilities: Probabilities, class_codes: ClassCodes) -> Probabilities:
    """(n_rows,) log P(true class), in nats, P not below `FLOOR`; their sum is the conditional log likelihood."""
    return np.log(np.maximum(probabilities[np.arange(len(class_codes)), class_codes], FLOOR))


def log_loss(probabilities: Probabilities, class_codes: ClassCodes) -> float:
    """Mean of -log P(true class), in nats, P not below `FLOOR`."""
    return -float(log_true(probabilities, class_codes).mean())


def brier(probabilities: Probabilities, class_codes: ClassCodes) -> float:
    """Mean over rows of sum_c (P(c) - [c is true])^2: 0 at best, 2 at worst (Brier 1950)."""
    return float(squared_errors(probabilities, class_codes).mean())


def squared_errors(probabilities: Probabilities, class_codes: ClassCodes) -> Probabilities:
    """(n_rows,) sum_c (P(c) - [c is true])^2."""
    errors: Probabilities = ((probabilities - one_hot(class_codes, probabilities.shape[1])) ** 2).sum(axis=1)
    return errors


def areas_under_roc(probabilities: Probabilities, class_codes: ClassCodes) -> NDArray[np.float64]:
    """(n_classes,) area under the ROC curve of each class against the rest; NaN where all rows are of it or none is."""
    truth = one_hot(class_codes, probabilities.shape[1])
    ones = np.ones(len(class_codes))
    return np.array([ClassArea(p, is_class)(ones) for p, is_class in zip(probabilities.T, truth.T, strict=True)])


class ClassArea:
    """The area under the ROC curve of one class, for any weights of the rows: they are put in order once.

    It is the share of pairs of a row of the class and another in which the former has the larger probability, ties
    counted half.
    """

    def __init__(self, probabilities: Probabilities, is_class: NDArray[np.bool_]) -> None:
        self._order = np.argsort(probabilities, kind="stable")
        ascending = probabilities[self._order]
        self._ties = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
        self._is_class = is_class[self._order]

    def __call__(self, weights: NDArray[np.float64]) -> float:
        ordered = weights[self._order]
        inside = np.add.reduceat(ordered * self._is_class, self._ties)
        outside = np.add.reduceat(ordered * ~self._is_class, self._ties)
        pairs = inside.sum() * outside.sum()
        below = np.cumsum(outside) - outside / 2
        return float(inside @ below / pairs) if pairs > 0 else float("nan")


def mean_area(areas: NDArray[np.float64]) -> float:
    """Over the classes that have one; NaN if none has."""
    known = areas[~np.isnan(areas)]
    return float(known.mean()) if len(known) else float("nan")


def confusion_matrix(probabilities: Probabilities, class_codes: ClassCodes) -> NDArray[np.intp]:
    """(n_classes, n_classes) rows of each true class, by their most probable class."""
    n_classes = probabilities.shape[1]
    cells = class_codes.astype(np.intp) * n_classes + probabilities.argmax(axis=1)
    return np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)


def one_hot(class_codes: ClassCodes, n_classes: int) -> NDArray[np.bool_]:
    """(n_rows, n_classes) whether the row is of the class."""
    return class_codes[:, np.newaxis] == np.arange(n_classes)


def measure_intervals(
    probabilities: Probabilities, class_codes: ClassCodes, units: NDArray[np.generic], random_state: int = 0
) -> tuple[Measures, Measures]:
    """The ends of a 95 % interval of each measure, by the percentiles of a bootstrap.

    Every draw takes as many units as there are, with replacement. A unit is a row, or all the rows of a group. The
    accuracy of rows that are all right, or all wrong, has Wilson's interval.
    """
    n_classes = probabilities.shape[1]
    distinct, unit = np.unique(units, return_inverse=True)
    right = probabilities.argmax(axis=1) == class_codes
    by_row = np.column_stack([right, -log_true(probabilities, class_codes), squared_errors(probabilities, class_codes)])
    truth = one_hot(class_codes, n_classes)
    areas = [ClassArea(p, is_class) for p, is_class in zip(probabilities.T, truth.T, strict=True)]
    rows = []
    for times in bootstrap(len(distinct), probabilities.size, random_state):
        weights = times[unit].astype(np.float64)
        area = mean_area(np.array([area(weights) for area in areas]))
        rows.append([*(weights @ by_row / weights.sum()), area])
    draws = np.array(rows)
    low, high = (_percentiles(draws, percentile) for percentile in PERCENTILES)
    if right.all() or not right.any():  # no draw differs, and the interval of a share still has a width
        ends = Share(int(right[0]) * len(distinct), len(distinct)).interval
        return low._replace(accuracy=ends[0]), high._replace(accuracy=ends[1])
    return low, high


def bootstrap(n_units: int, n_cells: int, random_state: int = 0) -> Iterator[NDArray[np.intp]]:
    """Draws of as many units as there are, with replacement: (n_units,) how often each is in. Few of many cells."""
    generator = np.random.default_rng(random_state)
    for _ in range(int(np.clip(CELLS_IN_ALL_DRAWS // n_cells, MIN_DRAWS, MAX_DRAWS))):
        yield np.bincount(generator.integers(n_units, size=n_units), minlength=n_units)


def _percentiles(draws: NDArray[np.float64], percentile: float) -> Measures:
    """Of each measure over the draws that have it; NaN if none has."""
    columns = (column[~np.isnan(column)] for column in draws.T)
    return Measures(*(float(np.percentile(each, percentile)) if len(each) else float("nan") for each in columns))
