"""The event: one class, how many of its cases are found and how many alarms about it are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from tanager.errors import OptionError
from tanager.table.schema import Category

MOST_MISSED = 3
"""Classes that are named where no class is the event."""


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
    def words(self) -> str:
        """As many of 100, "none of 0" where there are no rows."""
        return _of_hundred(self.part / self.whole) if self.whole else "none"

    @property
    def interval_words(self) -> str:
        """The interval, of 100."""
        low, high = self.interval
        return f"{100 * low:.0f} to {100 * high:.0f}"


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
            f"of 100 alarms {self.right.words} are right ({self.right.interval_words})"
            if self.right.whole
            else "it never raises an alarm"
        )
        why = ", the rarer class" if self.rarer else ""
        return (
            f"Finds {self.found.words} of 100 cases of {self.label} (95 % interval {self.found.interval_words}); "
            f"{alarms}; {self.cases.words} of 100 rows are cases. The event is {self.label}{why}."
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
    """The classes of which the smallest share is found, at most three, and that share."""
    shares = [(code, Share(int(row[code]), int(row.sum()))) for code, row in enumerate(confusion) if row.sum()]
    return sorted(shares, key=lambda each: each[1].part / each[1].whole)[:MOST_MISSED]
