"""Objectives on any network, with any cells missing and nodes hidden, and the fit of its tables.

Every objective is a loss, to be made small. With q_t the query's cells present in row t, e_t the other cells present,
p_t = P(q_t | e_t) and w_t the weight of the row (Zhou 2002, sections 3.2.2, 3.7, 3.8 and 5.2.1):

ll       - sum_t w_t log P(q_t, e_t)
cll      - sum_t w_t log p_t
error    sum_t w_t (1 - p_t)
squared  sum_t w_t (1 - p_t)^2
margin   sum_t w_t h(log p_t / (1 - p_t)), h a hinge (`objectives`)
mixed    - sum_t w_t [log p_t + alpha log P(e_t)] = (1 - alpha) cll + alpha ll, and mixed-margin alike

Tables are normalised, theta = softmax over the states of beta, and the gradient is by beta. For one row

d log p / d beta_{x|pi} = [P(x, pi | q, e) - theta P(pi | q, e)] - [P(x, pi | e) - theta P(pi | e)].
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from tanager.arrays import Array, Flags
from tanager.counts.count_store import CountStore
from tanager.network.inference.elimination_plan import relevant_nodes
from tanager.network.inference.evidence_rows import RowCodes, distinct_rows
from tanager.network.inference.junction_tree import ExpectedCounts, JunctionTree, Tables
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.descent import lbfgs, look_below
from tanager.parameters.conditional.objectives import MIXED, POWERS, Objective, losses_and_slopes
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.registry import check_option
from tanager.structure.dag import Dag, PartOfDag, requisite_nodes
from tanager.table.rows import EncodedBatch, Rows, gather

NETWORK_OBJECTIVES = ("ll", *POWERS)


class NetworkObjective:
    """Loss and gradient at tables (parent configurations, states), one for each node of the structure.

    codes are (n_rows, n_nodes), a missing cell the node's number of states; a hidden node is missing in every row. A
    row without any cell of the query says nothing and is left out. Only tables that some row depends on, those of
    `nodes`, are looked at, and equal rows are computed once. No row may be impossible under the tables.

    names are the nodes', for messages.
    """

    def __init__(
        self,
        dag: Dag,
        n_states: Sequence[int],
        codes: RowCodes,
        query: Sequence[int] = (),
        weights: Array | None = None,
        name: str = "cll",
        alpha: float = 0.0,
        names: Sequence[str] | None = None,
    ) -> None:
        check_option("objective", name, NETWORK_OBJECTIVES)
        self._power = POWERS.get(name, 0)
        # The loss of P(q | e) counts this share, minus log P(q, e) the rest.
        self._share = 0.0 if name == "ll" else 1.0 - alpha if name in MIXED else 1.0
        missing = codes == np.asarray(n_states)
        self.rows = np.flatnonzero(np.ones(len(codes), bool) if name == "ll" else ~missing[:, query].all(axis=1))
        if name in ("ll", *MIXED):
            needed = relevant_nodes(dag, np.flatnonzero(~missing.all(axis=0)).tolist())
        else:
            needed = _nodes_of_query(dag, query, missing[self.rows])
        # Where no row says anything, a root, whose table then has no slope either, keeps the tree from being empty.
        self.nodes = tuple(sorted(needed or dag.order[:1]))
        self._part = PartOfDag.of(dag, self.nodes)
        self._n_states = tuple(n_states[node] for node in self._part.nodes)
        observed = codes[self.rows][:, self._part.nodes]
        first, self._pattern = distinct_rows(observed, range(observed.shape[1]))
        row_weights = None if weights is None else weights[self.rows]
        self._weights = np.bincount(self._pattern, row_weights, minlength=len(first)).astype(np.float64)
        labels = None if names is None else [names[node] for node in self._part.nodes]
        with_query = observed[first]
        without = with_query.copy()
        for k, node in enumerate(self._part.nodes):
            if node in query:
                without[:, k] = self._n_states[k]
        self._with_query, self._without = self._inference(with_query, labels), self._inference(without, labels)
        self.n_passes = 0

    def _inference(self, codes: RowCodes, names: Sequence[str] | None) -> tuple[JunctionTree, RowCodes]:
        """Rows and the tree made for them."""
        known = np.flatnonzero((codes < np.asarray(self._n_states)).all(axis=0)).tolist()
        return JunctionTree.of(self._part.dag, self._n_states, known=known, names=names), codes

    def __call__(self, tables: Tables) -> tuple[float, tuple[Array, ...]]:
        """The loss, and its gradient by beta, a table for each node; zero for nodes that no row depends on."""
        self.n_passes += 1
        part, weights = self._part_tables(tables), self._weights
        if self._power == 0:
            joint, evidence = self._expect(part, weights, self._share * weights)
            value = -float(weights @ joint.log_evidence - self._share * (weights @ evidence.log_evidence))
        else:
            losses, slopes = losses_and_slopes(self._log_probability(part), self._power)
            slopes *= self._share * weights
            joint, evidence = self._expect(part, slopes + (1.0 - self._share) * weights, slopes)
            value = float(weights @ (self._share * losses - (1.0 - self._share) * joint.log_evidence))
        gradient = [np.zeros_like(table) for table in tables]
        for node, observed, expected in zip(self._part.nodes, joint.tables, evidence.tables, strict=True):
            if node in self._part.children:
                gradient[node] = to_beta(tables[node], expected - observed)
        return value, tuple(gradient)

    def log_probability(self, tables: Tables) -> Array:
        """log P(q | e) of each of `rows`, log P(q, e) for `ll`; not finite where the row is impossible."""
        return self._log_probability(self._part_tables(tables))[self._pattern]

    def losses(self, tables: Tables) -> Array:
        """What each of `rows` adds to the loss, as a row of weight one."""
        part = self._part_tables(tables)
        losses: Array = (self._share - 1.0) * _log_evidence(self._with_query, part)
        if self._share > 0.0:
            losses = losses + self._share * losses_and_slopes(self._log_probability(part), self._power)[0]
        return losses[self._pattern]

    def expected_counts(self, tables: Tables) -> dict[int, Array]:
        """Rows in every cell of the tables of `nodes`, missing cells shared out as the tables have it."""
        tree, codes = self._with_query
        expected = tree.expected_counts(self._part_tables(tables), codes, self._weights)
        by_node = zip(self._part.nodes, expected.tables, strict=True)
        return {node: counts for node, counts in by_node if node in self._part.children}

    def _log_probability(self, part: list[Array]) -> Array:
        result = _log_evidence(self._with_query, part)
        if self._share > 0.0:
            with np.errstate(invalid="ignore"):
                result = result - _log_evidence(self._without, part)
        return result

    def _expect(self, part: list[Array], with_query: Array, without: Array) -> tuple[ExpectedCounts, ExpectedCounts]:
        tree, codes = self._with_query
        joint = tree.expected_counts(part, codes, with_query)
        if self._share == 0.0:
            return joint, ExpectedCounts(tuple(np.zeros_like(table) for table in part), np.zeros(len(without)))
        tree, codes = self._without
        return joint, tree.expected_counts(part, codes, without)

    def _part_tables(self, tables: Tables) -> list[Array]:
        """Tables of the part. A node that lost its family is known wherever it matters, so any table does."""
        return [
            tables[node] if node in self._part.children else np.full((1, r), 1.0 / r)
            for node, r in zip(self._part.nodes, self._n_states, strict=True)
        ]


def _log_evidence(rows: tuple[JunctionTree, RowCodes], tables: list[Array]) -> Array:
    tree, codes = rows
    return tree.log_evidence(tables, codes)


def to_beta(table: Array, slopes: Array) -> Array:
    """The gradient by beta from that by log theta, G: G - theta sum_k G."""
    return slopes - table * slopes.sum(axis=1, keepdims=True)


def _nodes_of_query(dag: Dag, query: Sequence[int], missing: Flags) -> set[int]:
    """Nodes that P(query | evidence) depends on in some row; each pattern of missing cells is looked at once."""
    nodes: set[int] = set()
    first, _ = distinct_rows(missing.view(np.uint8), range(missing.shape[1]))
    for pattern in missing[first]:
        present = np.flatnonzero(~pattern).tolist()
        nodes |= requisite_nodes(dag, [node for node in query if not pattern[node]], set(present).difference(query))
        if len(nodes) == dag.n_nodes:
            break
    return nodes


class TableObjective(Protocol):
    """A loss at tables and its gradient by beta, theta = softmax beta; `nodes` are those whose tables it looks at."""

    nodes: tuple[int, ...]

    def __call__(self, tables: Tables) -> tuple[float, tuple[Array, ...]]: ...


class PulledTables:
    """objective - sum over cells of pseudo log(theta / centre) by a vector v, where beta = log centre + v scale.

    centre  tables where v = 0; a zero in them stays zero, and a node the objective does not depend on stays as it is
    pseudo  rows the prior adds to each cell of each table; zero where the centre is
    rows    in each cell of the tables the objective depends on, by node: the scale of a cell is (pseudo + rows)^-1/2,
            with a row at least
    """

    def __init__(
        self, objective: TableObjective, centre: Tables, pseudo: Sequence[Array], rows: dict[int, Array] | Tables
    ) -> None:
        self._objective = objective
        self._centre = tuple(centre)
        self._pseudo = pseudo
        with np.errstate(divide="ignore"):
            self._log_centre = [np.log(table) for table in centre]
        self._free = {node: centre[node] > 0 for node in objective.nodes}
        self._scale = {
            node: 1.0 / np.sqrt((pseudo[node] + np.maximum(rows[node], 1.0))[self._free[node]])
            for node in objective.nodes
        }
        self._ends = np.cumsum([len(scale) for scale in self._scale.values()])

    def tables(self, vector: Array) -> tuple[Array, ...]:
        """The tables of all nodes at v."""
        result = list(self._centre)
        for node, part in zip(self._free, np.split(vector, self._ends[:-1]), strict=True):
            beta = self._log_centre[node].copy()
            beta[self._free[node]] += part * self._scale[node]
            result[node] = softmax(beta, axis=1)
        return tuple(result)

    def vector(self, tables: Tables) -> Array:
        """A v at which the tables are these."""
        parts = []
        for node, free in self._free.items():
            change = np.log(tables[node][free]) - self._log_centre[node][free]
            parts.append(change / self._scale[node])
        return np.concatenate(parts)

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Value and gradient by v."""
        tables = self.tables(vector)
        value, gradient = self._objective(tables)
        parts = []
        for node, free in self._free.items():
            table, pseudo = tables[node], self._pseudo[node]
            with np.errstate(divide="ignore"):  # an entry that underflowed costs infinity, and is stepped back from
                value -= float(pseudo[free] @ (np.log(table[free]) - self._log_centre[node][free]))
            parts.append((gradient[node] - to_beta(table, pseudo))[free] * self._scale[node])
        return value, np.concatenate(parts)


def fit_tables(
    problem: PulledTables, start: Tables, max_iter: int, tol: float, what: str, leave_saddle: bool = False
) -> tuple[tuple[Array, ...], list[float]]:
    """Descend from tables until half the squared norm of the scaled gradient is at most `tol` times the loss.

    The tables of all nodes at the end, and the penalised loss at the start and after each step. `what` is fitted, for
    the warning that the iterations were too few. With `leave_saddle` a start without slope is left along its most
    negative curvature, if it has one (Roos et al. 2005, theorem 4).
    """
    first, values, settled = problem.vector(start), [], False
    vector = first
    for point, value, gradient in lbfgs(problem, first, max_iter):
        vector = point
        values.append(value)
        settled = 0.5 * float(gradient @ gradient) <= tol * abs(value)
        if settled:
            break
    if settled and leave_saddle and len(values) == 1:
        lower = look_below(problem, first)[1]
        if lower is not None:
            return fit_tables(problem, problem.tables(lower), max_iter, tol, what)
    if not settled and len(values) > max_iter:
        warnings.warn(
            f"{what} stopped after {max_iter} iterations, before the tables had settled; the loss fell from "
            f"{values[0]:.6g} to {values[-1]:.6g}, by {values[-2] - values[-1]:.2g} in the last one.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return problem.tables(vector), values


class MissingObjective(Objective):
    """The normalised `Objective` of a row's observed cells: p_t = P(c_t | cells observed in row t) (CLGD, Zhou 2002).

    Where the missing cells of a row lie in attributes that are no parent and have none but the class, leaving out their
    families sums them out, and the pass of `Objective` will do; the other rows go through the junction tree. Families
    without the class keep the frequencies of the training rows.
    """

    def __init__(self, cells: ClassCells, task: ParameterTask, name: str = "cll", alpha: float = 0.0) -> None:
        """The rows to infer, few enough, come into memory; the others stay where they are."""
        rows, names, engine = task.counts.rows, task.counts.names, task.counts.engine
        easy = rows.map(partial(_take_rows, dag=task.dag, infer=False), "easy").kept()
        counts = None
        if alpha > 0.0:
            counts = cells.pack(CountStore(easy, engine, names).tables(task.dag.families))
        super().__init__(cells, easy, name, True, alpha, counts)
        hard = gather(rows.map(partial(_take_rows, dag=task.dag, infer=True), "hard"))
        codes, target = np.column_stack([hard.codes, hard.class_codes]), rows.n_attributes
        self._inferred = NetworkObjective(task.dag, rows.n_states, codes, [target], hard.weights, name, alpha, names)
        self._others = Frequency().tables(task)

    def __call__(self, beta: Array) -> tuple[float, Array]:
        value, gradient = super().__call__(beta)
        inferred, slopes = self._inferred(self._cells.unpack(np.exp(self._cells.log_normalize(beta)), self._others))
        return value + inferred, gradient + self._cells.pack(slopes)


def count_rows_to_infer(dag: Dag, rows: Rows) -> int:
    """How many rows have a missing cell that leaving out families does not sum out."""
    if not _linked(dag).intersection(np.flatnonzero(rows.incomplete).tolist()):
        return 0
    return rows.sum(partial(_count_rows, dag=dag), "gaps")


def rows_to_infer(dag: Dag, batch: EncodedBatch) -> Flags:
    """Rows with a missing cell in an attribute that is a parent, or has an attribute as parent."""
    result = np.zeros(batch.n_rows, dtype=bool)
    for node in _linked(dag).intersection(np.flatnonzero(batch.incomplete).tolist()):
        result |= batch.column(node) == batch.n_states[node]
    return result


def _linked(dag: Dag) -> set[int]:
    target = dag.n_nodes - 1
    return {node for edge in dag.edges if edge[0] != target for node in edge} - {target}


def _take_rows(batch: EncodedBatch, dag: Dag, infer: bool) -> EncodedBatch:
    return batch.take(rows_to_infer(dag, batch) == infer)


def _count_rows(batch: EncodedBatch, dag: Dag) -> int:
    return int(rows_to_infer(dag, batch).sum())
