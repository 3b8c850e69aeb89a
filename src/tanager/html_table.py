"""Tables in HTML for notebooks: one element without scripts or links, readable on dark and on light ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

MAX_ROWS_SHOWN = 40

# The text has the colour of the notebook; lines and bars are visible on black and on white.
TABLE = "border-collapse: collapse; color: inherit; background: none; font-size: 90%"
CAPTION = "text-align: left; font-weight: bold; color: inherit; padding: 4px 0"
CELL = "padding: 2px 8px; border-bottom: 1px solid rgba(128, 128, 128, 0.35); background: none; color: inherit"
UP, DOWN = "#c9622f", "#4a86c5"


@dataclass(frozen=True)
class Bar:
    """A number, and a bar for it whose length is a `share` of the longest, from -1 to 1."""

    text: str
    share: float


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str | Bar]], note: str = "") -> str:
    """A table with a caption; every text is escaped. Of many rows the first are shown, and how many follow."""
    shown, left = rows[:MAX_ROWS_SHOWN], len(rows) - MAX_ROWS_SHOWN
    head = "".join(f'<th style="{CELL}; text-align: left">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    notes = [*([f"... and {left:,} more"] if left > 0 else []), *([note] if note else [])]
    foot = "".join(f'<div style="color: inherit; font-size: 90%">{escape(line)}</div>' for line in notes)
    return (
        f'<div><table style="{TABLE}"><caption style="{CAPTION}">{escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"
    )


def bars(values: Sequence[float], texts: Sequence[str]) -> list[Bar]:
    """Each value with a bar, the longest being that of the largest."""
    longest = max(map(abs, values), default=0.0) or 1.0
    return [Bar(text, value / longest) for value, text in zip(values, texts, strict=True)]


def _cell(cell: str | Bar) -> str:
    if isinstance(cell, str):
        return f'<td style="{CELL}; text-align: left">{escape(cell)}</td>'
    width, colour = round(100 * min(1.0, abs(cell.share))), UP if cell.share > 0 else DOWN
    bar = f'<div style="width: {width}px; height: 0.7em; background: {colour}"></div>'
    return (
        f'<td style="{CELL}; text-align: right">{escape(cell.text)}</td>'
        f'<td style="{CELL}; text-align: left; min-width: 104px">{bar}</td>'
    )
