"""A scorecard as one HTML page to print: a scale of points for each attribute, two-way tables for pairs."""

from __future__ import annotations

from html import escape
from math import log2
from typing import TYPE_CHECKING

from tanager.export.header import MARK
from tanager.version import __version__

if TYPE_CHECKING:
    from tanager.export.scorecard import Part, Scorecard

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
