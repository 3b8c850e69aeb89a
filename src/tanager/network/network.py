"""Network: a structure and a table per node; the distribution a classifier is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Ints
from tanager.counts.family import Family, strides
from tanager.errors import DataError, MemoryLimitError, OptionError
from tanager.html_table import html_table
from tanager.network.columns import HasColumns, check_evidence
from tanager.network.inference.junction_tree import JunctionTree, contradicting_nodes
from tanager.network.log_joint import LogJoint
from tanager.registry import check_option
from tanager.structure.dag import Dag, are_separated, canonical_form, is_perfect, is_perfect_for, markov_blanket
from tanager.table.columns import encode_column
from tanager.table.read_columns import read_columns
from tanager.table.schema import Category, ColumnSchema

if TYPE_CHECKING:
    from tanager.network.document import Json

Tables = tuple[Array, ...]
TOLERANCE = 1e-6
# Bytes of the largest clique that `family_joints` sums exactly, and rows drawn where it is larger.
EXACT_BYTES = 1 << 25
ROWS_DRAWN = 100_000


@dataclass(frozen=True)
class Network(HasColumns):
    """Nodes, parents and conditional probability tables, optionally with a class node, `target`.

    Parameters
    ----------
    columns : tuple of ColumnSchema
        What each node holds, the class (if there is one) last: names, states, and how to read them from data.
    dag : Dag
        Parents by node number.
    tables : tuple of arrays (parent configurations, states)
        One for each node, rows summing to one; the configuration is a mixed-radix number over the ascending parents,
        the last one changing fastest (`Family`).
    target : str or None
        The class, which is then the last node.

    Examples
    --------
    >>> from tanager.structure.dag import Dag
    >>> from tanager.table.schema import ColumnSchema
    >>> rain = ColumnSchema("rain", "categorical", (False, True))
    >>> wet = ColumnSchema("wet", "categorical", (False, True))
    >>> network = Network((wet, rain), Dag(((1,), ())), (np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.7, 0.3]])))
    >>> round(network.query("rain", {"wet": True})[True], 4)
    0.7742
    """

    kind: ClassVar[Literal["tables"]] = "tables"

    columns: tuple[ColumnSchema, ...]
    dag: Dag
    tables: Tables
    target: str | None = None

    def __post_init__(self) -> None:
        for child, (parents, table) in enumerate(zip(self.dag.parents, self.tables, strict=True)):
            shape = Family(child, parents).shape(self.n_states)
            if table.shape != shape:
                name = self.nodes[child]
                raise DataError(f"the table of {name!r} has shape {table.shape}; its parents and states need {shape}.")
        for n_states in set(self.n_states):  # thousands of small tables are worth a step together
            nodes = [node for node, number in enumerate(self.n_states) if number == n_states]
            if _fault(np.concatenate([self.tables[node] for node in nodes])):
                node, fault = next((node, fault) for node in nodes if (fault := _fault(self.tables[node])))
                raise DataError(f"the table of {self.nodes[node]!r} {fault}.")
        if self.target is not None and self.target != self.nodes[-1]:
            raise DataError(f"the class {self.target!r} must be the last node, which is {self.nodes[-1]!r}.")

    def __repr__(self) -> str:
        """A line: the tables of a real network are pages."""
        return f"Network({len(self.nodes)} nodes, {len(self.dag.edges)} edges, target={self.target!r})"

    def _repr_html_(self) -> str:
        """A line per node: what it holds and its parents."""
        rows = [[column.name, f"{column.n_states:,}", ", ".join(self.parents[column.name])] for column in self.columns]
        return html_table(repr(self), ["node", "states", "parents"], rows)

    def canonical(self, target: str) -> dict[str, tuple[str, ...]]:
        """Parents of each node in the canonical form for classifying `target`: `tanager.structure.dag`."""
        form = canonical_form(self.dag, self.number(target))
        return {name: tuple(self.nodes[p] for p in form.parents[node]) for node, name in enumerate(self.nodes)}

    def is_perfect(self, target: str | None = None) -> bool:
        """Whether every two parents of a common child are joined; of the canonical form where a `target` is given."""
        return is_perfect(self.dag) if target is None else is_perfect_for(self.dag, self.number(target))

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """The parents of a node, its children and their parents: given these it is independent of all other nodes."""
        return tuple(self.nodes[other] for other in sorted(markov_blanket(self.dag, self.number(node))))

    def d_separated(self, a: str | Sequence[str], b: str | Sequence[str], given: str | Sequence[str] = ()) -> bool:
        """Whether the structure makes `a` and `b` independent given the nodes `given`, whatever the tables."""
        first, second, observed = (
            {self.number(node) for node in ([nodes] if isinstance(nodes, str) else nodes)} for nodes in (a, b, given)
        )
        if first & second or observed & (first | second):
            raise OptionError("d_separated needs three sets of nodes that have no node in common.")
        return are_separated(self.dag, first, second, observed)

    def to_dot(self) -> str:
        """The graph in the language of Graphviz, the class filled: `dot -Tsvg` draws it."""
        quoted = {name: '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in self.nodes}
        lines = [f"  {quoted[name]}{' [style=filled]' if name == self.target else ''};" for name in self.nodes]
        lines += [f"  {quoted[parent]} -> {quoted[child]};" for parent, child in self.edges]
        return "\n".join(["digraph {", *lines, "}"])

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
        numbers = [self.number(node) for node in asked]
        if len(set(numbers)) < len(numbers):
            raise OptionError(f"a variable is asked for twice: {', '.join(map(repr, asked))}.")
        codes = self._evidence_codes(evidence or {})
        answer = self._tree(codes, numbers).posterior(self.tables, codes)[0]
        if np.isnan(answer).any():
            raise DataError(f"the evidence has probability zero under the network: {self.contradiction(codes[0])}.")
        labels = [self.columns[node].states for node in numbers]
        cells = {tuple(labels[d][k] for d, k in enumerate(cell)): float(p) for cell, p in np.ndenumerate(answer)}
        return {states[0]: p for states, p in cells.items()} if isinstance(variables, str) else dict(cells)

    def map_state(self, evidence: Mapping[str, Category] | None = None) -> dict[str, Category]:
        """The joint most probable explanation (MPE): the most probable state of all nodes together, given the evidence.

        The first of equally probable ones; the most probable state of a node by itself (`query`) may be another.
        """
        codes = self._evidence_codes(evidence or {})
        states, log_probability = self._tree(codes, whole=True).most_probable(self.tables, codes)
        if log_probability[0] == -np.inf:
            raise DataError(f"the evidence has probability zero under the network: {self.contradiction(codes[0])}.")
        return {column.name: column.states[code] for column, code in zip(self.columns, states[0], strict=True)}

    def posterior(self, X: object, variables: str | Sequence[str], impossible: str = "raise") -> dict[str, Array]:
        """P(variable | cells present) of every row, (n_rows, states), for each variable, in the order of `states`.

        A cell of the variable itself is evidence as any other. `impossible` says what to do about a row of probability
        zero: "raise" an error that names the contradicting cells, or give "nan".
        """
        check_option("impossible", impossible, ["raise", "nan"])
        names = [variables] if isinstance(variables, str) else list(dict.fromkeys(variables))
        numbers = [self.number(name) for name in names]
        codes = self.encode(X)
        if len(numbers) == 1:
            posteriors = [self._tree(codes, numbers).posterior(self.tables, codes)]
        else:
            posteriors = self._tree(codes, whole=True).posteriors(self.tables, codes, numbers)
        wrong = np.flatnonzero(np.isnan(posteriors[0][:, 0])) if posteriors else np.empty(0)
        if len(wrong) and impossible == "raise":
            raise DataError(
                f"row {wrong[0]} has probability zero under the network: {self.contradiction(codes[wrong[0]])}.",
                hint="impossible='nan' gives such rows no number instead.",
            )
        return dict(zip(names, posteriors, strict=True))

    def family_probabilities(self, family: Family, n_states: Sequence[int]) -> Array:
        """P(parents, child), shaped `Family.class_shape`: what the score `BDe` asks of its prior network.

        Nodes are matched by number (`BDe.for_nodes` orders them by name before), the class last.
        """
        if tuple(n_states) != self.n_states:
            raise OptionError(f"the prior network has {self.n_states} states, node by node; the table has {n_states}.")
        nothing = self._evidence_codes({})
        joint = self._tree(nothing, family.nodes).posterior(self.tables, nothing)
        return joint.reshape(family.class_shape(n_states))

    def family_joints(self, exact: bool = False) -> Tables:
        """P(parents, child) of every family without evidence, (parent configurations, states) each.

        Where a clique would take more than 32 MiB, and unless `exact`, the distribution of the parents is estimated
        from 100,000 rows drawn from the network, always the same ones; the tables themselves are never estimated.
        """
        limit = None if exact else EXACT_BYTES
        tree = JunctionTree.of(self.dag, self.n_states, names=self.nodes, memory_limit=limit)
        try:
            return tree.expected_counts(self.tables, np.array([self.n_states])).tables
        except MemoryLimitError:
            if exact:
                raise
        codes = sample_codes(self.dag, self.tables, ROWS_DRAWN, np.random.default_rng(0))
        joints = []
        for family, table in zip(self.dag.families, self.tables, strict=True):
            steps = np.array(strides(family.parents, self.n_states), dtype=np.int64)
            shares = np.bincount(codes[:, family.parents] @ steps, minlength=len(table)) / ROWS_DRAWN
            joints.append(shares[:, np.newaxis] * table)
        return tuple(joints)

    @property
    def edge_information(self) -> Array:
        """I(child; parent | other parents) of each edge of the DAG, in nats, without evidence."""
        information = []
        for family, table in zip(self.dag.families, self.family_joints(), strict=True):
            joint = table.reshape([self.n_states[node] for node in family.nodes])
            information += [conditional_information(joint, axis) for axis in range(len(family.parents))]
        return np.array(information, dtype=np.float64)

    def encode(self, X: object) -> Ints:
        """Codes (n_rows, n_nodes) of a table whose columns are nodes; an absent column is a missing one."""
        table = read_columns(X)
        codes = np.tile(np.array(self.n_states), (table.n_rows, 1))
        for column in table.columns:
            node = self.number(column.name)
            codes[:, node] = np.minimum(encode_column(column, self.columns[node]), self.n_states[node])
        return codes

    def log_likelihood(self, X: object) -> Array:
        """Log probability of the cells present in each row (natural logarithm), the others summed out."""
        return self.log_probability(self.encode(X))

    def log_probability(self, codes: Ints) -> Array:
        """(n_rows,) log probability of the cells present in (n_rows, n_nodes) codes."""
        return self._tree(codes).log_evidence(self.tables, codes)

    def log_evidence(self, evidence: Mapping[str, Category]) -> float:
        """log P(evidence), all other nodes summed out."""
        return float(self.log_probability(self._evidence_codes(evidence))[0])

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> dict[str, NDArray[np.generic]]:
        """Draw rows: one array of state labels per node, ready for any data frame."""
        codes = sample_codes(self.dag, self.tables, n, np.random.default_rng(random_state))
        return {name: np.array(self.states[name])[codes[:, node]] for node, name in enumerate(self.nodes)}

    def reordered(self, order: Sequence[int]) -> Network:
        """The same network with its nodes in another order: node k of the new one is node order[k] of this one."""
        if list(order) == list(range(len(self.columns))):
            return self
        place = np.argsort(np.asarray(order, dtype=np.intp)).tolist()
        tables = []
        for node in order:
            old = self.dag.parents[node]
            axes = sorted(range(len(old)), key=lambda axis: place[old[axis]])
            cells = self.tables[node].reshape(*(self.n_states[parent] for parent in old), -1)
            tables.append(cells.transpose(*axes, len(old)).reshape(self.tables[node].shape))
        columns = tuple(self.columns[node] for node in order)
        return Network(columns, self.dag.renumbered(place), tuple(tables), self.target)

    def to_dict(self) -> dict[str, Json]:
        """Everything the network is, ready for JSON: `tanager.network.document` says what is where."""
        # Imported here: it makes networks, and so needs this file.
        from tanager.network.document import DocumentError, network_to_document

        try:
            return network_to_document(self)
        except DocumentError as error:
            raise DataError(f"the network cannot be written: {error}.") from None

    @classmethod
    def from_dict(cls, document: Mapping[str, Json]) -> Network:
        """The network that `to_dict` has written; an error says what is wrong with a document and where."""
        from tanager.network.document import DocumentError, network_from_document

        try:
            return network_from_document(dict(document))
        except DocumentError as error:
            raise DataError(f"the document is no network: {error}.") from None

    @cached_property
    def log_joint(self) -> LogJoint:
        """log P(class, attributes) for all rows and classes at once."""
        if self.target is None:
            raise OptionError("the network has no class node, so there is no joint with it.")
        return LogJoint.of(self.dag, self.tables, self.n_states)

    def look_ups(self, codes: Codes) -> tuple[LogJoint, Codes]:
        """The look-ups that give `log_joint` of complete rows, and the codes to look up."""
        return self.log_joint, codes

    def refine(self, coarse: Codes) -> Codes:
        """The codes of each attribute from those of its coarse granularity."""
        return coarse

    @cached_property
    def class_tree(self) -> JunctionTree:
        """log P(class, cells present), with any cells missing."""
        return JunctionTree.of(self.dag, self.n_states, [len(self.nodes) - 1], names=self.nodes)

    def _tree(self, codes: Ints, query: Sequence[int] = (), whole: bool = False) -> JunctionTree:
        """Made for these rows: nodes present in all of them, or in none, cost less; `whole` keeps every node."""
        missing = codes == self.n_states
        known = np.flatnonzero(~missing.any(axis=0)).tolist()
        unknown = [] if whole else np.flatnonzero(missing.all(axis=0)).tolist()
        return JunctionTree.of(self.dag, self.n_states, query, known=known, unknown=unknown, names=self.nodes)

    def _evidence_codes(self, evidence: Mapping[str, Category]) -> Ints:
        """One row (1, n_nodes) with the evidence present."""
        check_evidence(evidence)
        codes = np.array([self.n_states])
        for node, value in evidence.items():
            codes[0, self.number(node)] = self.code(node, value)
        return codes

    def contradiction(self, row: NDArray[np.integer]) -> str:
        """The cells of a row of probability zero, (n_nodes,) codes, that cannot occur together, in words."""
        nodes = contradicting_nodes(self.dag, self.n_states, self.tables, row)
        cells = ", ".join(f"{self.nodes[node]}={self.columns[node].states[row[node]]!r}" for node in nodes)
        return f"{cells} cannot occur{' together' if len(nodes) > 1 else ''}"


@dataclass(frozen=True)
class NodeTable:
    """P(node | parents). `probabilities` is (parent configurations, states), the last parent changing fastest."""

    node: str
    states: tuple[Category, ...]
    parents: tuple[str, ...]
    parent_states: tuple[tuple[Category, ...], ...]
    probabilities: Array

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
        return html_table(self._title, self._head, self._body)

    def __str__(self) -> str:
        lines = [self._head, *self._body]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = ("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join([self._title, *texts])

    @property
    def _title(self) -> str:
        return f"P({self.node} | {', '.join(self.parents)})" if self.parents else f"P({self.node})"

    @property
    def _head(self) -> list[str]:
        return [*self.parents, *map(str, self.states)]

    @property
    def _body(self) -> list[list[str]]:
        """A line per configuration of the parents."""
        return [[*map(str, parents), *(f"{p:.4f}" for p in row.values())] for parents, row in self.rows()]


def sample_codes(dag: Dag, tables: Sequence[Array], n: int, generator: np.random.Generator) -> Ints:
    """Codes (n, n_nodes): one uniform number per cell, looked up in the cumulative table of its configuration."""
    codes = np.empty((n, dag.n_nodes), dtype=np.int64)
    for node in dag.order:
        configuration = np.zeros(n, dtype=np.int64)
        for parent in dag.parents[node]:
            configuration = configuration * tables[parent].shape[1] + codes[:, parent]
        cumulative = np.cumsum(tables[node], axis=1)[:, :-1]
        codes[:, node] = (generator.random(n)[:, np.newaxis] >= cumulative[configuration]).sum(axis=1)
    return codes


def conditional_information(joint: Array, axis: int) -> float:
    r"""I(A; B | rest) = sum p log(p p(rest) / (p(A, rest) p(B, rest))), A on `axis` and B on the last, in nats."""
    with_a = joint.sum(axis=-1, keepdims=True)
    with_b = joint.sum(axis=axis, keepdims=True)
    rest = with_a.sum(axis=axis, keepdims=True)
    seen = joint > 0
    top, bottom = (joint * rest)[seen], (with_a * with_b)[seen]
    return max(0.0, float((joint[seen] * np.log(top / bottom)).sum()))


def _fault(rows: Array) -> str:
    """What keeps rows from being distributions, or nothing."""
    if not np.isfinite(rows).all() or (rows < 0).any():
        return "holds a probability that is negative or not a number"
    if (np.abs(rows.sum(axis=1) - 1.0) > TOLERANCE).any():
        return "has a row that does not sum to one"
    return ""
