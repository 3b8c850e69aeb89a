"""Network: a structure and a table per node; the distribution a classifier is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import Family
from tanager.errors import DataError, OptionError
from tanager.network.elimination import Factor, eliminate
from tanager.network.log_joint import LogJoint
from tanager.network.node_table import NodeTable
from tanager.network.sampling import sample_codes
from tanager.registry import nearest_first
from tanager.structure.dag import Dag
from tanager.table.encoder import encode_column
from tanager.table.read_columns import read_table
from tanager.table.schema import Category, ColumnSchema

Tables = tuple[NDArray[np.float64], ...]
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Network:
    """Nodes, parents and conditional probability tables, optionally with a class node, `target`.

    columns  what each node holds, the class (if there is one) last: names, states, and how to read them from data
    dag      parents by node number
    tables   one (parent configurations, states) array per node, rows summing to one; the configuration is a
             mixed-radix number over the ascending parents, the last one changing fastest (`Family`)

    >>> from tanager.structure.dag import Dag
    >>> from tanager.table.schema import ColumnSchema
    >>> rain = ColumnSchema("rain", "categorical", (False, True))
    >>> wet = ColumnSchema("wet", "categorical", (False, True))
    >>> network = Network((wet, rain), Dag(((1,), ())), (np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.7, 0.3]])))
    >>> round(network.query("rain", {"wet": True})[True], 4)
    0.7742
    """

    columns: tuple[ColumnSchema, ...]
    dag: Dag
    tables: Tables
    target: str | None = None

    def __post_init__(self) -> None:
        for family, table in zip(self.dag.families, self.tables, strict=True):
            name, shape = self.nodes[family.child], family.shape(self.n_states)
            if table.shape != shape:
                raise DataError(f"the table of {name!r} has shape {table.shape}; its parents and states need {shape}.")
            if not np.isfinite(table).all() or (table < 0).any():
                raise DataError(f"the table of {name!r} holds a probability that is negative or not a number.")
            if not np.allclose(table.sum(axis=1), 1.0, rtol=0, atol=TOLERANCE):
                raise DataError(f"a row of the table of {name!r} does not sum to one.")
        if self.target is not None and self.target != self.nodes[-1]:
            raise DataError(f"the class {self.target!r} must be the last node, which is {self.nodes[-1]!r}.")

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

    def table(self, node: str) -> NodeTable:
        """The table of a node with its labels."""
        child = self.number(node)
        parents = self.dag.parents[child]
        return NodeTable(
            node,
            self.states[node],
            tuple(self.nodes[parent] for parent in parents),
            tuple(self.columns[parent].states for parent in parents),
            self.tables[child],
        )

    def query(
        self, variables: str | Sequence[str], evidence: Mapping[str, Category] | None = None
    ) -> dict[object, float]:
        """P(variables | evidence): state -> probability, or tuple of states -> probability for several variables.

        Evidence on a numeric node may be a number or the label of a bin.
        """
        asked = [variables] if isinstance(variables, str) else list(variables)
        known = {self.number(node): self.code(node, value) for node, value in (evidence or {}).items()}
        numbers = [self.number(node) for node in asked]
        joint = eliminate(self.dag, self.tables, self.n_states, numbers, known)
        answer = self._normalized(joint, numbers, known)
        labels = [self.columns[node].states for node in numbers]
        cells = {tuple(labels[d][k] for d, k in enumerate(cell)): float(p) for cell, p in np.ndenumerate(answer)}
        return {states[0]: p for states, p in cells.items()} if isinstance(variables, str) else dict(cells)

    def code(self, node: str, value: Category) -> int:
        """The code of a state, given as its label or as a raw value."""
        column = self.columns[self.number(node)]
        if value in column.states:
            return column.states.index(value)
        if column.kind == "numeric" and isinstance(value, int | float) and not np.isnan(value):
            return int(np.searchsorted(column.cuts, value, side="right"))
        nearest = ", ".join(map(repr, nearest_first(str(value), map(str, column.states))[:5]))
        raise OptionError(f"node {node!r} has no state {value!r}; the nearest are {nearest}.")

    def family_probabilities(self, family: Family, n_states: Sequence[int]) -> NDArray[np.float64]:
        """P(parents, child), shaped `Family.class_shape`: what the score `BDe` asks of its prior network.

        Nodes are matched by number, so this network must have the table's columns in their order, the class last.
        """
        if tuple(n_states) != self.n_states:
            raise OptionError(f"the prior network has {self.n_states} states, node by node; the table has {n_states}.")
        joint = eliminate(self.dag, self.tables, self.n_states, family.nodes, {})
        cells = joint.values.transpose([joint.nodes.index(node) for node in family.nodes]) * np.exp(joint.log_scale)
        return cells.reshape(family.class_shape(n_states))

    def encode(self, X: object) -> NDArray[np.int64]:
        """Codes (n_rows, n_nodes) of a table whose columns are nodes; an absent column is a missing one."""
        table = read_table(X)
        codes = np.tile(np.array(self.n_states), (table.n_rows, 1))
        for column in table.columns:
            node = self.number(column.name)
            codes[:, node] = np.minimum(encode_column(column, self.columns[node]), self.n_states[node])
        return codes

    def log_likelihood(self, X: object) -> NDArray[np.float64]:
        """Log probability of the cells present in each row (natural logarithm), the others summed out."""
        rows, position = np.unique(self.encode(X), axis=0, return_inverse=True)
        return np.array([self._log_evidence(row) for row in rows])[position]

    def _log_evidence(self, row: NDArray[np.int64]) -> float:
        known = {node: int(code) for node, code in enumerate(row) if code < self.n_states[node]}
        found = eliminate(self.dag, self.tables, self.n_states, [], known)
        with np.errstate(divide="ignore"):
            return float(np.log(found.values)) + found.log_scale

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> dict[str, NDArray[np.generic]]:
        """Draw rows: one array of state labels per node, ready for any data frame."""
        codes = sample_codes(self.dag, self.tables, n, np.random.default_rng(random_state))
        return {name: np.array(self.states[name])[codes[:, node]] for node, name in enumerate(self.nodes)}

    @cached_property
    def log_joint(self) -> LogJoint:
        """log P(class, attributes) for all rows and classes at once."""
        if self.target is None:
            raise OptionError("the network has no class node, so there is no joint with it.")
        return LogJoint.of(self.dag, self.tables, self.n_states)

    def _normalized(self, joint: Factor, asked: Sequence[int], known: Mapping[int, int]) -> NDArray[np.float64]:
        """P(asked | known) with one axis per asked node, in the order asked; a known node is certain."""
        total = joint.values.sum()
        if total == 0.0:
            cells = ", ".join(f"{self.nodes[node]}={self.columns[node].states[code]!r}" for node, code in known.items())
            raise DataError(f"the evidence has probability zero under the network: {cells}.")
        result = np.zeros([self.n_states[node] for node in asked])
        free = [node for node in asked if node not in known]
        place = tuple(known.get(node, slice(None)) for node in asked)
        result[place] = joint.values.transpose([joint.nodes.index(node) for node in free]) / total
        return result
