"""Overall: how strong the attributes and the edges of a network are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tanager.arrays import Array
from tanager.classifiers.base import edge_strength, term_strength
from tanager.explain.explanation import Model, network_of
from tanager.html_table import bars, html_table
from tanager.table.read_columns import make_frame

Measure = Literal["information", "effect"]
LINES_IN_TEXT = 40
NAMES_IN_TEXT = 10


@dataclass(frozen=True)
class Overall:
    """The strength of terms and edges, in nats.

    In a network of tables a term is an attribute. The strength of an edge is the information its two ends give of each
    other when the other parents of the child are known, I(child; parent | other parents), under the network's own
    distribution (`edge_information`). The strength of an attribute is that of its edge from or to the class:
    I(attribute; class | attribute parents) for a child of the class. An attribute without such an edge has 0.

    In an additive model the terms are the attributes, for their main effects, and then the pairs ("age & sex"). The
    strength of a term is the root mean square of what it adds to the log odds of a class against the others
    (`effect_strength`), that of an edge its term's: an edge from the class is a main effect, one between attributes a
    pair effect.

    target, attributes  the class and the attributes, by name
    measure             what strength is: "information" or "effect"
    terms               by name
    strength            (n_terms,)
    edges               (parent, child) pairs
    edge_strength       (n_edges,)
    """

    target: str
    attributes: tuple[str, ...]
    measure: Measure
    terms: tuple[str, ...]
    strength: Array
    edges: tuple[tuple[str, str], ...]
    edge_strength: Array

    @property
    def ranked(self) -> tuple[str, ...]:
        """The terms, the strongest first."""
        return tuple(self.terms[term] for term in np.argsort(-self.strength, kind="stable"))

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "target": self.target,
            "measure": self.measure,
            "attributes": pa.table(self._term_columns()).to_pylist(),
            "edges": pa.table(self._edge_columns()).to_pylist(),
        }

    def to_frame(self, library: str = "pandas") -> Any:
        """A frame of "pandas", "polars" or "pyarrow" with a line per term, the strongest first."""
        return make_frame(self._term_columns(), library)

    def __str__(self) -> str:
        names, strengths = self._term_columns().values()
        zero = [name for name, nats in zip(names, strengths, strict=True) if nats == 0.0 and self.measure == "effect"]
        n_shown = min(LINES_IN_TEXT, max(1, len(names) - len(zero)))
        width = max(map(len, names[:n_shown]))
        head = f"I({self.target})" if self.measure == "information" else "effect"
        lines = [f"{'':{width}}{head:>12}"]
        lines += [f"{name:{width}}{nats:>12.4f}" for name, nats in zip(names[:n_shown], strengths, strict=False)]
        left = len(names) - len(zero) - n_shown
        if left > 0:
            lines.append(f"... and {left:,} weaker")
        if zero:
            more = f" and {len(zero) - NAMES_IN_TEXT:,} more" if len(zero) > NAMES_IN_TEXT else ""
            lines.append(f"exactly zero: {', '.join(zero[:NAMES_IN_TEXT])}{more}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names, strengths = self._term_columns().values()
        drawn = bars(strengths, [f"{nats:.4f}" for nats in strengths])
        head = "information" if self.measure == "information" else "root mean square of log odds"
        rows = list(zip(names, drawn, strict=True))
        return html_table(f"Strength of attributes for {self.target}", ["attribute", head, ""], rows)

    def _term_columns(self) -> dict[str, list[Any]]:
        order = np.argsort(-self.strength, kind="stable")
        return {"attribute": list(self.ranked), "strength": self.strength[order].tolist()}

    def _edge_columns(self) -> dict[str, list[Any]]:
        order = np.argsort(-self.edge_strength, kind="stable")
        return {
            "parent": [self.edges[k][0] for k in order],
            "child": [self.edges[k][1] for k in order],
            "strength": self.edge_strength[order].tolist(),
        }


def explain_overall(model: Model) -> Overall:
    """See `tanager.explain.explain`."""
    network = network_of(model)
    measure: Measure = "effect" if network.kind == "effects" else "information"
    return Overall(
        network.nodes[-1],
        network.nodes[:-1],
        measure,
        tuple(map(network.term_name, network.terms)),
        term_strength(network),
        network.edges,
        edge_strength(network),
    )
