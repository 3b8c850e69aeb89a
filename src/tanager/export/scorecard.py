"""A program of two classes as a scorecard: whole points for every range and category, which add up to a score."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import product
from math import inf, isfinite, log

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.export.header import MARK
from tanager.export.program import Program, Term
from tanager.export.refuse import refuse_order, refuse_zeros
from tanager.export.scorecard_page import write_page
from tanager.registry import check_option
from tanager.version import __version__

Points = NDArray[np.int64]
FORMS = ("csv", "html")


@dataclass(frozen=True)
class Part:
    """The points of an attribute's states, or of the states of two: (states ...,)."""

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    points: Points


@dataclass(frozen=True)
class Scorecard:
    """score = base + sum of points; the odds of the class `favoured` double every `double` points.

    log odds = (score - even) log 2 / double, but for the rounding: the score is off by at most `error`.
    """

    favoured: str
    against: str
    base: int
    even: float
    double: float
    error: float
    parts: tuple[Part, ...]

    def probability(self, score: float) -> float:
        return float(1 / (1 + 2 ** ((self.even - score) / self.double)))

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the greatest score."""
        return (
            self.base + sum(int(part.points.min()) for part in self.parts),
            self.base + sum(int(part.points.max()) for part in self.parts),
        )


def write_scorecard(program: Program, double: float = 20.0, even: float = 500.0, form: str = "csv") -> str:
    """As CSV, or as one page to print, with a scale for each attribute."""
    check_option("form", form, FORMS)
    card = make_scorecard(program, double, even)
    return write_page(card) if form == "html" else _csv(card)


def make_scorecard(program: Program, double: float = 20.0, even: float = 500.0) -> Scorecard:
    """The points of the second class against the first, `even` of them at even odds.

    The points of a part may all be shifted, and the base shifted back. They are shifted so that the greatest error of
    rounding is least: so rows that differ by more than twice the sum of these errors keep their order.
    """
    _check(program, double, even)
    unit = double / log(2)
    base, error = even + unit * float(program.intercept[1] - program.intercept[0]), 0.0
    parts = []
    for term in program.terms:
        exact = unit * (term.table[..., 1] - term.table[..., 0])
        points, shift, worst = round_together(exact)
        base, error = base - shift, error + worst
        parts.append(_part(program, term, points))
    label = [str(each) for each in program.labels]
    return Scorecard(label[1], label[0], round(base), even, double, error + abs(base - round(base)), tuple(parts))


def round_together(exact: NDArray[np.float64]) -> tuple[Points, float, float]:
    """Whole numbers near `exact` plus a shift, the shift, and the greatest error: the least that a shift can give.

    The fractions lie on a circle. The arc that holds all of them is what the widest gap leaves; its middle goes to 0.
    """
    fractions = np.unique(exact % 1.0)
    gaps = np.diff(np.append(fractions, fractions[0] + 1.0))
    widest = int(gaps.argmax())
    middle = fractions[(widest + 1) % len(fractions)] + (1.0 - gaps[widest]) / 2
    shift = round(float(middle)) - float(middle)
    points = np.round(exact + shift)
    return points.astype(np.int64), shift, float(np.abs(points - exact - shift).max())


def _part(program: Program, term: Term, points: Points) -> Part:
    columns = [program.columns[attribute] for attribute in term.attributes]
    columns = [column.coarse for column in columns] if len(columns) > 1 else columns
    missing = ("missing or unseen",) if program.gaps == "looked up" else ()
    states = tuple((*map(str, column.states), *missing) for column in columns)
    return Part(tuple(column.name for column in columns), states, points)


def _check(program: Program, double: float, even: float) -> None:
    if program.n_classes != 2:
        raise OptionError(
            f"a scorecard is for two classes; the model has {program.n_classes}.", hint="excel takes any number."
        )
    if program.decision is not None:
        raise OptionError(
            f"the model decides by {program.decision}, and a scorecard gives points and probabilities.",
            hint="--no-decision leaves it out (in Python clf.decision_ = None); excel can say it.",
        )
    if not 0 < double < inf or not isfinite(even):
        raise OptionError(f"double={double!r}, even={even!r}: expected numbers of points, and above zero to double.")
    refuse_order(program, "a scorecard")
    refuse_zeros(program, "a scorecard")


def _csv(card: Scorecard) -> str:
    """A row of points for every state; the first lines say how to read them."""
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(["attribute", "state", "second attribute", "second state", "points"])
    rows.writerow([f"{MARK} {__version__}: points add up to a score", "", "", "", ""])
    rows.writerow([f"even odds of {card.favoured} against {card.against}", "", "", "", card.even])
    rows.writerow(["points that double the odds", "", "", "", card.double])
    rows.writerow(["rounding moves a score by at most", "", "", "", f"{card.error:.3g}"])
    rows.writerow(["base score", "", "", "", card.base])
    for part in card.parts:
        for cell in product(*(range(len(states)) for states in part.states)):
            about = []
            for name, states, number in zip(part.names, part.states, cell, strict=True):
                about += [name, states[number]]
            rows.writerow([*about, *[""] * (4 - len(about)), int(part.points[cell])])
    return stream.getvalue()
