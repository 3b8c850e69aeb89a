"""Overall: how strong the attributes and the edges of a network are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.gaps import log_joint_with_gaps
from tanager.errors import DataError, OptionError
from tanager.explain.cells import Model, network_of
from tanager.explain.edge_information import Floats, edge_information
from tanager.explain.frame import make_frame
from tanager.network.network import Network
from tanager.table.batch import Codes


@dataclass(frozen=True)
class Overall:
    """The strength of attributes and edges, in nats.

    The strength of an edge is the information its two ends give of each other when the other parents of the child are
    known, I(child; parent | other parents), under the network's own distribution (`edge_information`). The strength of
    an attribute is that of its edge from or to the class: I(attribute; class | attribute parents) for a child of the
    class. An attribute without such an edge has 0: it speaks through others alone.

    target, attributes  the class and the attributes, by name
    strength            (n_attributes,)
    edges               (parent, child) pairs
    edge_strength       (n_edges,)
    removal             (n_attributes,) what the mean of log P(class | row) over the rows given loses when the
                        attribute is summed out, in nats per row (negative: the rows do better without); None
                        without rows
    """

    target: str
    attributes: tuple[str, ...]
    strength: Floats
    edges: tuple[tuple[str, str], ...]
    edge_strength: Floats
    removal: Floats | None = None

    @property
    def ranked(self) -> tuple[str, ...]:
        """The attributes, the strongest first."""
        return tuple(self.attributes[node] for node in np.argsort(-self.strength, kind="stable"))

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "target": self.target,
            "attributes": _lines(self._attribute_columns()),
            "edges": _lines(self._edge_columns()),
        }

    def to_frame(self, library: str = "pandas") -> Any:
        """A frame of "pandas", "polars" or "pyarrow" with a line per attribute, the strongest first."""
        return make_frame(self._attribute_columns(), library)

    def edges_to_frame(self, library: str = "pandas") -> Any:
        """A frame of "pandas", "polars" or "pyarrow" with a line per edge, the strongest first."""
        return make_frame(self._edge_columns(), library)

    def __str__(self) -> str:
        columns = self._attribute_columns()
        heads = {"strength": f"I({self.target})", "removal": "removal"}
        width = max(len(name) for name in self.attributes)
        lines = [" " * width + "".join(f"{head:>12}" for name, head in heads.items() if name in columns)]
        for line in _lines(columns):
            numbers = (line[name] for name in heads if name in columns)
            lines.append(f"{line['attribute']!s:{width}}" + "".join(f"{number:>12.4f}" for number in numbers))
        return "\n".join(lines)

    def _attribute_columns(self) -> dict[str, list[object]]:
        order = np.argsort(-self.strength, kind="stable")
        columns: dict[str, list[object]] = {
            "attribute": [self.attributes[node] for node in order],
            "strength": self.strength[order].tolist(),
        }
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
    target = len(network.nodes) - 1
    edge_strength = edge_information(network)
    strength = np.zeros(target)
    for edge, nats in zip(network.dag.edges, edge_strength, strict=True):
        if target in edge:
            strength[min(edge)] = nats  # the class has the largest number
    return Overall(
        network.nodes[-1],
        network.nodes[:-1],
        strength,
        network.edges,
        edge_strength,
        None if y is None else _removal(model, X, y, sample_weight),
    )


def _removal(model: Model, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> Floats:
    """Mean of log P(class | row) less the same with one attribute summed out, for every attribute."""
    if isinstance(model, Network):
        raise OptionError(
            "removal of attributes is measured for classifiers; got a Network.", hint="leave X and y out."
        )
    if X is None:
        raise DataError("explain was given y without X.", hint="explain(model, X, y).")
    network = model.network_
    batch = model.count(X, y, sample_weight).batch
    rows = np.arange(batch.n_rows)

    def mean_log(codes: Codes) -> float:
        logs = log_joint_with_gaps(network, codes, normalized=True)
        return float(np.average(logs[rows, batch.class_codes], weights=batch.weights))

    codes = batch.codes.copy()
    whole = mean_log(codes)
    lost = np.empty(batch.n_attributes)
    for node in range(batch.n_attributes):
        column = codes[:, node].copy()
        codes[:, node] = network.n_states[node]
        lost[node] = whole - mean_log(codes)
        codes[:, node] = column
    return lost


def _lines(columns: dict[str, list[object]]) -> list[dict[str, object]]:
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
