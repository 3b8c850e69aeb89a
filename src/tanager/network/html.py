"""Networks as tables in HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.html_table import html_table

if TYPE_CHECKING:
    from tanager.network.network import Network
    from tanager.network.node_table import NodeTable


def network_html(network: Network) -> str:
    """A line per node: what it holds and its parents."""
    rows = [
        [column.name, f"{column.n_states:,}", ", ".join(network.parents[column.name])] for column in network.columns
    ]
    return html_table(repr(network), ["node", "states", "parents"], rows)


def table_html(table: NodeTable) -> str:
    """A line per configuration of the parents, as the text of the table has it."""
    head, *_ = str(table).split("\n", 1)
    rows = [[*map(str, parents), *(f"{p:.4f}" for p in row.values())] for parents, row in table.rows()]
    return html_table(head, [*table.parents, *map(str, table.states)], rows)
