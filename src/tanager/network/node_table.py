"""NodeTable: a conditional probability table with its labels, to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tanager.table.schema import Category


@dataclass(frozen=True)
class NodeTable:
    """P(node | parents). `probabilities` is (parent configurations, states), the last parent changing fastest."""

    node: str
    states: tuple[Category, ...]
    parents: tuple[str, ...]
    parent_states: tuple[tuple[Category, ...], ...]
    probabilities: NDArray[np.float64]

    def row(self, configuration: Mapping[str, Category] | None = None) -> dict[Category, float]:
        """P(node | configuration): state -> probability; the configuration names a state of every parent."""
        index = 0
        for parent, states in zip(self.parents, self.parent_states, strict=True):
            index = index * len(states) + states.index((configuration or {})[parent])
        return dict(zip(self.states, self.probabilities[index].tolist(), strict=True))

    def rows(self) -> list[tuple[tuple[Category, ...], dict[Category, float]]]:
        """Every parent configuration with its distribution, in table order."""
        return [
            (configuration, dict(zip(self.states, row.tolist(), strict=True)))
            for configuration, row in zip(product(*self.parent_states), self.probabilities, strict=True)
        ]

    def _repr_html_(self) -> str:
        from tanager.network.html import table_html

        return table_html(self)

    def __str__(self) -> str:
        given = f" | {', '.join(self.parents)}" if self.parents else ""
        head = [*self.parents, *map(str, self.states)]
        body = [[*map(str, parents), *(f"{p:.4f}" for p in row.values())] for parents, row in self.rows()]
        widths = [max(len(line[j]) for line in [head, *body]) for j in range(len(head))]
        lines = (
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in [head, *body]
        )
        return "\n".join([f"P({self.node}{given})", *lines])
