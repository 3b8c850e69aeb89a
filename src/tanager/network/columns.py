"""HasColumns: nodes by name and number, and the states they are in; what every kind of network shares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tanager.arrays import Codes
from tanager.errors import OptionError
from tanager.registry import nearest_first
from tanager.runtime import PicklesFields
from tanager.structure.dag import Dag
from tanager.table.schema import Category, ColumnSchema

Term = tuple[int, ...]
"""The attributes an addend of the log odds is put down to: one, or two for the effect of a pair."""


def check_evidence(evidence: object) -> None:
    """Refuse evidence that is no mapping."""
    if evidence is not None and not isinstance(evidence, Mapping):
        raise OptionError(f"evidence={evidence!r:.80} is not valid; expected a mapping from names to values.")


class HasColumns(PicklesFields):
    """Nodes are columns of a table with a structure over them.

    columns  what each node holds: names, states, and how to read them from data
    dag      parents by node number
    """

    columns: tuple[ColumnSchema, ...]
    dag: Dag

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def n_states(self) -> tuple[int, ...]:
        return tuple(column.n_states for column in self.columns)

    @cached_property
    def states(self) -> dict[str, tuple[Category, ...]]:
        """The labels of each node's states: categories, or bins in words."""
        return {column.name: column.states for column in self.columns}

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(self.nodes[parent] for parent in self.dag.parents[node]) for node, name in enumerate(self.nodes)
        }

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) pairs."""
        return tuple((self.nodes[parent], self.nodes[child]) for parent, child in self.dag.edges)

    @property
    def terms(self) -> tuple[Term, ...]:
        """What the log odds of the class add up from: a term for every attribute."""
        return tuple((attribute,) for attribute in range(len(self.columns) - 1))

    def coarsen(self, codes: Codes) -> Codes:
        """The codes of each attribute at its coarse granularity: tables have one granularity only."""
        return codes

    def attribute_parents(self, attribute: int) -> tuple[int, ...]:
        """The attributes that the term of an attribute depends on in every network: its attribute parents."""
        return tuple(parent for parent in self.dag.parents[attribute] if parent != len(self.nodes) - 1)

    def term_name(self, term: Term) -> str:
        """ "age", or "age & sex"."""
        return " & ".join(self.nodes[attribute] for attribute in term)

    def number(self, node: str) -> int:
        """The number of a node; an error lists the nearest names."""
        try:
            return self._numbers[node]
        except KeyError:
            nearest = ", ".join(map(repr, nearest_first(str(node), self.nodes)[:5]))
            raise OptionError(f"the network has no node {node!r}; the nearest are {nearest}.") from None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: node for node, name in enumerate(self.nodes)}

    def code(self, node: str, value: Category) -> int:
        """The code of a state, given as its label or as a raw value."""
        column = self.columns[self.number(node)]
        if value in column.states:
            return column.states.index(value)
        if column.kind == "numeric" and isinstance(value, int | float | np.number) and not np.isnan(value):
            return int(np.searchsorted(column.cuts, value, side="right"))
        nearest = ", ".join(map(repr, nearest_first(str(value), map(str, column.states))[:5]))
        raise OptionError(f"node {node!r} has no state {value!r}; the nearest are {nearest}.")
