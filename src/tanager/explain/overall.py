"""Overall: how strong the attributes and the edges of a network are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tanager.arrays import Array
from tanager.classifiers.base import TableClassifier, edge_strength, term_strength
from tanager.classifiers.coded_table import add_hidden_codes, read_labelled
from tanager.errors import DataError, OptionError
from tanager.explain.explanation import Model, network_of
from tanager.html_table import bars, html_table
from tanager.table.read_columns import make_frame

Measure = Literal["information", "effect"]
LINES_IN_TEXT = 40
NAMES_IN_TEXT = 10
BLOCK_ROWS = 4_096  # averaging over missing values may need many imputations of each row


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
    removal             (n_terms,) what the mean of log P(class | row) over the rows loses when the attribute is
                        missing, or the effect is zero, in nats per row (negative: the mean is higher without); None
                        without rows
    """

    target: str
    attributes: tuple[str, ...]
    measure: Measure
    terms: tuple[str, ...]
    strength: Array
    edges: tuple[tuple[str, str], ...]
    edge_strength: Array
    removal: Array | None = None

    @property
    def ranked(self) -> tuple[str, ...]:
        """The terms, the strongest first."""
        return tuple(self.terms[term] for term in np.argsort(-self.strength, kind="stable"))

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "target": self.target,
            "measure": self.measure,
            "attributes": _lines(self._term_columns()),
            "edges": _lines(self._edge_columns()),
        }

    def to_frame(self, library: str = "pandas") -> Any:
        """A frame of "pandas", "polars" or "pyarrow" with a line per term, the strongest first."""
        return make_frame(self._term_columns(), library)

    def __str__(self) -> str:
        columns = self._term_columns()
        pairs = zip(self.terms, self.strength, strict=True) if self.measure == "effect" else ()
        zero = [term for term, strength in pairs if strength == 0.0]
        heads = {"strength": f"I({self.target})" if self.measure == "information" else "effect", "removal": "removal"}
        shown = _lines(columns)[: min(LINES_IN_TEXT, max(1, len(self.terms) - len(zero)))]
        width = max(len(str(line["attribute"])) for line in shown)
        lines = [" " * width + "".join(f"{head:>12}" for name, head in heads.items() if name in columns)]
        for line in shown:
            numbers = (line[name] for name in heads if name in columns)
            lines.append(f"{line['attribute']!s:{width}}" + "".join(f"{number:>12.4f}" for number in numbers))
        left = len(self.terms) - len(zero) - len(shown)
        if left > 0:
            lines.append(f"... and {left:,} weaker")
        if zero:
            more = f" and {len(zero) - NAMES_IN_TEXT:,} more" if len(zero) > NAMES_IN_TEXT else ""
            lines.append(f"exactly zero: {', '.join(zero[:NAMES_IN_TEXT])}{more}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = self._term_columns()
        strengths = self.strength[np.argsort(-self.strength, kind="stable")].tolist()
        drawn = bars(strengths, [f"{nats:.4f}" for nats in strengths])
        removals = [] if self.removal is None else [[f"{nats:.4f}" for nats in columns["removal"]]]
        head = ["information" if self.measure == "information" else "root mean square of log odds", ""]
        head += ["loss without it"] * len(removals)
        rows = [list(row) for row in zip(self.ranked, drawn, *removals, strict=True)]
        return html_table(f"Strength of attributes for {self.target}", ["attribute", *head], rows)

    def _term_columns(self) -> dict[str, list[object]]:
        order = np.argsort(-self.strength, kind="stable")
        columns: dict[str, list[object]] = {"attribute": list(self.ranked), "strength": self.strength[order].tolist()}
        if self.removal is not None:
            columns["removal"] = self.removal[order].tolist()
        return columns

    def _edge_columns(self) -> dict[str, list[object]]:
        order = np.argsort(-self.edge_strength, kind="stable")
        return {
            "parent": [self.edges[k][0] for k in order],
            "child": [self.edges[k][1] for k in order],
            "strength": self.edge_strength[order].tolist(),
        }


def explain_overall(
    model: Model, X: object = None, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Overall:
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
        None if y is None else removal(model, X, y, sample_weight),
    )


def _lines(columns: dict[str, list[object]]) -> list[dict[str, object]]:
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def removal(model: Model, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> Array:
    """(n_terms,) mean of log P(class | row) less the same without a term, for every term.

    Without an attribute means that it is missing in all rows; without an effect, that it is zero.
    """
    if not isinstance(model, TableClassifier):
        raise OptionError(
            "removal of attributes is measured for classifiers; got a network alone.", hint="leave X and y out."
        )
    if X is None:
        raise DataError("explain was given y without X.", hint="explain(model, X, y).")
    network = network_of(model)
    labelled = read_labelled(model, X, y, sample_weight)
    codes = add_hidden_codes(model.encoder_.encode(labelled.table), network.n_states)
    weights = np.ones(len(codes)) if labelled.weights is None else labelled.weights
    lost = np.zeros(len(network.terms))
    for first in range(0, len(codes), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        true_class = np.arange(len(codes[rows])), labelled.class_codes[rows]
        whole = model.missing_rule_.log_posterior(codes[rows])[true_class]
        for term, logs in enumerate(model.missing_rule_.without_each(codes[rows])):
            lost[term] += weights[rows] @ (whole - logs[true_class])
    return lost / weights.sum()
