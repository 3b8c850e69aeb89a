"""A checkup as HTML for a notebook: nothing but text and styles, in light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tanager.check.finding import percent

if TYPE_CHECKING:
    from tanager.check.checkup import Checkup

COLOURS = {"high": "#c0392b", "medium": "#b8860b", "low": "#7f8c8d"}
"""Of the severities; each can be read on white and on black."""


def checkup_html(checkup: Checkup, title: str) -> str:
    """The findings, then the columns folded away."""
    findings = "".join(
        _row(
            f'<b style="color:{COLOURS[each.severity]}">{each.severity}</b>',
            escape(str(each)),
            "" if each.row is None else f"row {each.row}: {escape(each.example)}",
            escape(each.option),
        )
        for each in checkup.findings
    )
    columns = "".join(
        _row(
            escape(each.name),
            each.kind,
            f"{each.n_distinct:,}",
            percent(each.gap_share) if each.gap_share else "-",
            escape(each.why),
        )
        for each in checkup.columns
    )
    heads = (
        _row("", "finding", "example", "what to do", cell="th"),
        _row("column", "is", "distinct", "missing", "why", cell="th"),
    )
    return (
        f"<div><p>{escape(title)}</p><table>{heads[0]}{findings}</table>"
        f"<details><summary>columns</summary><table>{heads[1]}{columns}</table></details></div>"
    )


def _row(*cells: str, cell: str = "td") -> str:
    style = 'style="text-align:left;color:inherit;background:none"'
    return f"<tr>{''.join(f'<{cell} {style}>{text}</{cell}>' for text in cells)}</tr>"
