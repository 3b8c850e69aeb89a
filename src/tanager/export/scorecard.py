"""A program of two classes as a scorecard: whole points for every range and category, as CSV or a page to print."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from html import escape
from itertools import product
from math import inf, isfinite, log, log2

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.export.document import MARK, refuse_tables
from tanager.export.program import Program, Term
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
    missing = ("missing or unseen",) if program.missing_rule == "looked up" else ()
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
            hint="--no-decision leaves it out (in Python clf.decision_ = None); excel can express it.",
        )
    if not 0 < double < inf or not isfinite(even):
        raise OptionError(f"double={double!r}, even={even!r}: expected numbers of points, and above zero to double.")
    refuse_tables(program, "a scorecard")


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


STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 60em; color: #222; }
h1 { font-size: 1.4em; } h2 { font-size: 1em; margin: 1.2em 0 0.2em; }
table { border-collapse: collapse; } td, th { border: 1px solid #ccc; padding: 0.15em 0.5em; text-align: right; }
th { background: #f4f4f4; font-weight: 500; } section { break-inside: avoid; } svg text { font-size: 10px; }
"""
WIDTH, MARGIN = 800, 20
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


def write_page(card: Scorecard) -> str:
    """Nothing on it is loaded from elsewhere; names and states are escaped."""
    title = f"Scorecard for {escape(card.favoured)}"
    lowest = min(int(part.points.min()) for part in card.parts) if card.parts else 0
    highest = max(int(part.points.max()) for part in card.parts) if card.parts else 0
    scales = "".join(_scale(part, lowest, highest) for part in card.parts if len(part.names) == 1)
    pairs = "".join(_pair(part) for part in card.parts if len(part.names) == 2)
    return (
        f"<!doctype html>\n<!-- {MARK} {__version__} -->\n"
        f'<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>\n'
        f"<h1>{title} against {escape(card.against)}</h1>\n"
        f"<p>Begin with {card.base} points. Add the points of each attribute. Even odds are {card.even:g} points; "
        f"{card.double:g} points double the odds. Rounding moves a score by at most {card.error:.3g} points, so scores "
        f"that differ by more than {2 * card.error:.3g} keep the order that the model gives them.</p>\n"
        f"{scales}{pairs}{_shares(card)}</html>\n"
    )


def _scale(part: Part, lowest: int, highest: int) -> str:
    """The states on a line at their points, each label on the first level where it does not cover another."""
    span = max(1, highest - lowest)
    ends: list[float] = []
    marks = []
    for state, points in sorted(zip(part.states[0], part.points.tolist(), strict=True), key=lambda pair: pair[1]):
        x = MARGIN + (WIDTH - 2 * MARGIN) * (points - lowest) / span
        text = f"{state} ({points:+d})"
        level = next((level for level, end in enumerate(ends) if end < x), len(ends))
        ends[level : level + 1] = [x + 6 * len(text)]
        y = 24 + 14 * level
        marks.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{y - 4}" stroke="#bbb"/>')
        marks.append(f'<text x="{x + 2:.1f}" y="{y}">{escape(text)}</text>')
    height = 24 + 14 * len(ends)
    line = f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="10" y2="10" stroke="#444"/>'
    picture = f'<svg width="100%" viewBox="0 0 {WIDTH} {height}" role="img">{line}{"".join(marks)}</svg>'
    return f"<section><h2>{escape(part.names[0])}</h2>{picture}</section>\n"


def _pair(part: Part) -> str:
    heads = "".join(f"<th>{escape(state)}</th>" for state in part.states[1])
    rows = "".join(
        f"<tr><th>{escape(state)}</th>{''.join(f'<td>{points:+d}</td>' for points in row)}</tr>\n"
        for state, row in zip(part.states[0], part.points.tolist(), strict=True)
    )
    title = f"{escape(part.names[0])} (down) and {escape(part.names[1])} (across)"
    return f"<section><h2>{title}</h2><table><tr><th></th>{heads}</tr>\n{rows}</table></section>\n"


def _shares(card: Scorecard) -> str:
    """The score from which the probability is at least so much."""
    lines = []
    for share in SHARES:
        score = card.even + card.double * log2(share / (1 - share))
        if card.reach[0] <= score <= card.reach[1]:
            lines.append(f"<tr><td>{score:.0f}</td><td>{100 * share:g} %</td></tr>\n")
    head = f"<tr><th>score</th><th>P({escape(card.favoured)})</th></tr>"
    return f"<section><h2>From score to probability</h2><table>{head}\n{''.join(lines)}</table></section>\n"
