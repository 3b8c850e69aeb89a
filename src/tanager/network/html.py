"""Networks as tables in HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.html_table import bars, html_table
from tanager.network.effect_strength import effect_strength

if TYPE_CHECKING:
    from tanager.network.additive import AdditiveNetwork
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


def effects_html(network: AdditiveNetwork) -> str:
    """A line per effect, the strongest first."""
    strength = effect_strength(network)
    order = sorted(range(len(strength)), key=lambda term: -strength[term])
    shown = [term for term in order if strength[term] > 0.0]
    drawn = bars([strength[term] for term in shown], [f"{strength[term]:.4f}" for term in shown])
    rows = [(network.term_name(network.terms[term]), bar) for term, bar in zip(shown, drawn, strict=True)]
    n_zero = len(order) - len(shown)
    note = f"{n_zero:,} effects are exactly zero" if n_zero else ""
    return html_table(repr(network), ["effect", "root mean square of log odds", ""], rows, note)
