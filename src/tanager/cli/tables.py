"""Tables for people: drawn by rich, coloured on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def new_table(words: Sequence[str], figures: Sequence[str]) -> Table:
    """A table with columns of words, which are folded where they are long, then columns of figures."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(header_style="cyan")
    for heading in words:
        table.add_column(escape(heading), overflow="fold")
    for heading in figures:
        table.add_column(escape(heading), justify="right")
    return table


def print_table(title: str, table: Table) -> None:
    """The title on a line of its own: as part of the table it would be broken to the table's width."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(Text(title, style="bold"))
    console.print(table)
