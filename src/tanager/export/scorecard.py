"""A program of two classes as a scorecard: whole points for every range and category, as CSV.

score = base + sum of points; log odds = (score - even) log 2 / double, but for the rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, inf, isfinite, log

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.export.document import MARK, refuse_tables
from tanager.export.program import Program, Term
from tanager.files.write_table import escape_formula, write_lines
from tanager.table.read_columns import as_written
from tanager.version import __version__


def write_scorecard(program: Program, double: float = 20.0, even: float = 500.0) -> str:
    """A row of points for every state; the first lines say how to read them.

    The points of a term may all be shifted, and the base shifted back. They are shifted so that the greatest error of
    rounding is least: so rows that differ by more than twice the sum of these errors keep their order.
    """
    _check(program, double, even)
    unit = double / log(2)
    base, error = even + unit * float(program.intercept[1] - program.intercept[0]), 0.0
    rows: list[list[object]] = []
    for term in program.terms:
        points, shift, worst = round_together(unit * (term.table[..., 1] - term.table[..., 0]))
        base, error = base - shift, error + worst
        rows += _rows(program, term, points)
    against, favoured = program.labels
    error += abs(base - round(base))
    head: list[list[object]] = [
        ["attribute", "state", "second attribute", "second state", "points"],
        [f"{MARK} {__version__}: points add up to a score", "", "", "", ""],
        [f"even odds of {favoured} against {against}", "", "", "", even],
        ["points that double the odds", "", "", "", double],
        ["rounding moves a score by at most", "", "", "", ceil(100 * error) / 100],
        ["base score", "", "", "", round(base)],
    ]
    head += [[f"missing in {name}: {cells}", "", "", "", ""] for name, cells in _missing_cells(program)]
    return write_lines(
        [escape_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in (*head, *rows)
    )


def _missing_cells(program: Program) -> Iterator[tuple[str, str]]:
    """By column, the cells that the preprocessing takes as missing."""
    for column in program.asked:
        if cells := program.missing_cells.get(column.name):
            yield column.name, ", ".join(str(as_written(cell)) for cell in cells)


def round_together(exact: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, float]:
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


def _rows(program: Program, term: Term, points: NDArray[np.int64]) -> Iterator[list[object]]:
    """The points of each state of an attribute, or of each pair of states of two."""
    columns = [program.columns[attribute] for attribute in term.attributes]
    columns = [column.coarse for column in columns] if len(columns) > 1 else columns
    missing = ("missing or unseen",) if program.missing_rule == "looked up" else ()
    labels = [[*map(str, column.states), *missing] for column in columns]
    for cell in product(*(range(len(states)) for states in labels)):
        about = [
            text for column, states, k in zip(columns, labels, cell, strict=True) for text in (column.name, states[k])
        ]
        yield [*about, *[""] * (4 - len(about)), int(points[cell])]


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
