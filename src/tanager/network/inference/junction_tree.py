"""JunctionTree: exact inference for all rows of a table at once, compiled once per structure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Ints
from tanager.errors import MemoryLimitError, OptionError
from tanager.network.inference.elimination_plan import EliminationPlan
from tanager.network.inference.evidence_rows import EvidenceRows, PlaceCodes, RowCodes
from tanager.network.inference.row_elimination import RowElimination, log_sum
from tanager.runtime.resources import count_threads, map_threads, physical_memory
from tanager.structure.dag import Dag

if TYPE_CHECKING:
    from tanager.network.inference.compiled_elimination import CompiledElimination

Tables = Sequence[Array]
# Counts are summed over this many parts of the rows at most, fewer when the counts of all parts would be larger.
COUNT_PARTS = 32
COUNT_PARTS_CELLS = 1 << 23


@dataclass(frozen=True)
class JunctionTree:
    """Inference in a structure, whatever its tables. Nodes are numbered as in the DAG.

    Tables are those of a `Network`: (parent configurations, states), rows summing to one. Codes are (n_rows,
    n_nodes); the code of a missing cell is the node's number of states, and a hidden node is missing in every row.
    Everything is done in logarithms, so nothing underflows. Equal rows are computed once. Memory is that of a block
    of rows on each thread, besides the result.
    """

    dag: Dag
    n_states: tuple[int, ...]
    query: tuple[int, ...]
    plan: EliminationPlan
    names: tuple[str, ...]
    memory_limit: int
    passes: int = 1

    @classmethod
    def of(
        cls,
        dag: Dag,
        n_states: Sequence[int],
        query: Sequence[int] = (),
        *,
        known: Collection[int] = (),
        unknown: Collection[int] = (),
        names: Sequence[str] | None = None,
        memory_limit: int | None = None,
        passes: int = 1,
    ) -> JunctionTree:
        """Compile: moralise, triangulate by min-fill, and root the tree of cliques at the query.

        query         nodes whose joint distribution will be asked for
        known         nodes present in every row: they are looked up, and no clique holds them
        unknown       nodes present in no row: they are left out where nothing depends on them
        names         of the nodes, for messages
        memory_limit  bytes a thread may use for cliques; by default the threads share half of the machine's memory
        passes        about how often rows will be inferred from, with other tables each time: for many passes the
                      compiled kernels repay their start on fewer rows
        """
        plan = EliminationPlan.of(dag, n_states, query, known, unknown)
        labels = [f"node {node}" for node in range(dag.n_nodes)] if names is None else names
        limit = physical_memory() // (2 * count_threads()) if memory_limit is None else memory_limit
        return cls(dag, tuple(n_states), tuple(query), plan, tuple(labels), limit, passes)

    def prepare(self, codes: RowCodes) -> EvidenceRows:
        """The rows in the form inference wants them, for callers that ask again and again with other tables."""
        return EvidenceRows.of(self.plan, codes, len(self.query) <= 1, self.passes)

    def log_joint(self, tables: Tables, codes: RowCodes | EvidenceRows) -> Array:
        """log P(query, cells present): (n_rows, states of each query node), -infinity where it contradicts a cell."""
        rows, logs = self._rows(codes), _flat_logs(tables)
        compiled = self._compiled if rows.compiled else None

        def query_block(block: slice) -> Array:
            codes = rows.codes_of(block)
            return compiled.query(codes, logs) if compiled else self._eliminate(codes, logs).query()

        joint = np.concatenate(map_threads(query_block, rows.blocks)).reshape(
            -1, *(self.n_states[node] for node in self.query)
        )
        return rows.of_rows(joint)

    def log_evidence(self, tables: Tables, codes: RowCodes | EvidenceRows) -> Array:
        """log P(cells present) of each row; -infinity for a row that is impossible."""
        return log_sum(self.log_joint(tables, codes), self._query_axes)

    def posterior(self, tables: Tables, codes: RowCodes | EvidenceRows) -> Array:
        """P(query | cells present), shaped as `log_joint`; not a number in a row that is impossible."""
        joint = self.log_joint(tables, codes)
        with np.errstate(invalid="ignore"):
            joint -= np.expand_dims(log_sum(joint, self._query_axes), self._query_axes)
        return np.exp(joint, out=joint)

    def posteriors(self, tables: Tables, codes: RowCodes, nodes: Sequence[int]) -> list[Array]:
        """P(node | cells present) of distinct nodes, (n_rows, states) each; not a number in an impossible row."""
        rows = self.prepare(codes)
        weights = np.ones(len(rows.first))
        log_evidence, posteriors, _ = self._expect(rows, _flat_logs(tables), weights, nodes, n_counts=0)
        posteriors[log_evidence == -np.inf] = np.nan
        ends = [*accumulate((self.n_states[node] for node in nodes), initial=0)]
        return [posteriors[rows.kind, start:end] for start, end in pairwise(ends)]

    def expected_counts(
        self, tables: Tables, codes: RowCodes | EvidenceRows, weights: Array | None = None
    ) -> ExpectedCounts:
        """Counts of every family, each missing cell shared out as P(cell | cells present) has it.

        This is also the sum over rows of weight times the gradient of log P(cells present) by the logarithms of the
        tables, so weights (n_rows,) may be of any sign.
        """
        rows, logs = self._rows(codes), _flat_logs(tables)
        log_evidence, _, counts = self._expect(rows, logs, rows.total(weights), (), n_counts=len(logs))
        ends = np.cumsum([table.size for table in tables])
        parts = zip(np.split(counts, ends[:-1]), tables, strict=True)
        return ExpectedCounts(tuple(part.reshape(table.shape) for part, table in parts), rows.of_rows(log_evidence))

    def most_probable(self, tables: Tables, codes: RowCodes) -> tuple[Ints, Array]:
        """The most probable complete rows that hold the cells present, (n_rows, n_nodes), and their log probability.

        Of equally probable states the first, node by node. The states of a row that is impossible mean nothing.
        """
        self._check_complete()
        rows, logs = EvidenceRows.of(self.plan, codes, compilable=False), _flat_logs(tables)
        best = map_threads(lambda block: self._eliminate(rows.codes_of(block), logs, best=True).best(), rows.blocks)
        by_place = np.concatenate([states for states, _ in best])[rows.kind]
        states = np.empty(by_place.shape, dtype=np.int64)
        states[:, self.plan.nodes] = by_place
        return states, np.concatenate([log_probability for _, log_probability in best])[rows.kind]

    def _expect(
        self, rows: EvidenceRows, logs: Array, weights: Array, nodes: Sequence[int], n_counts: int
    ) -> tuple[Array, Array, Array]:
        """log P(cells present) and posteriors, side by side, of every kind of row; and counts of them all."""
        self._check_complete()
        places = [self.plan.nodes.index(node) for node in nodes]
        compiled = self._compiled if rows.compiled else None

        def expect_block(block: slice, counts: Array) -> tuple[Array, Array]:
            codes, block_weights = rows.codes_of(block), weights[block]
            if compiled:
                return compiled.expect(codes, logs, block_weights, places, counts)
            return self._eliminate(codes, logs, complete=True).expect(block_weights, places, counts)

        def expect_part(part: Sequence[slice]) -> tuple[Array, Array, Array]:
            counts = np.zeros(n_counts)
            log_evidence, posteriors = zip(*(expect_block(block, counts) for block in part), strict=True)
            return np.concatenate(log_evidence), np.concatenate(posteriors), counts

        # The parts, and so the order of the sums, depend on the table alone, not on the number of threads.
        n_parts = max(1, min(COUNT_PARTS, COUNT_PARTS_CELLS // max(1, n_counts)))
        length = -(-len(rows.blocks) // n_parts)
        parts = [rows.blocks[first : first + length] for first in range(0, len(rows.blocks), length)]
        log_evidence, posteriors, counts = zip(*map_threads(expect_part, parts), strict=True)
        return np.concatenate(log_evidence), np.concatenate(posteriors), np.sum(counts, axis=0)

    def _rows(self, codes: RowCodes | EvidenceRows) -> EvidenceRows:
        return codes if isinstance(codes, EvidenceRows) else self.prepare(codes)

    @property
    def _query_axes(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.query) + 1))

    def _eliminate(self, codes: PlaceCodes, logs: Array, best: bool = False, complete: bool = False) -> RowElimination:
        return RowElimination(self.plan, codes, logs, self._allow, best, complete)

    @cached_property
    def _compiled(self) -> CompiledElimination:
        from tanager.network.inference.compiled_elimination import CompiledElimination

        return CompiledElimination(self.plan, self._allow)

    def _check_complete(self) -> None:
        if self.query or len(self.plan.nodes) < self.dag.n_nodes:
            raise OptionError("this needs a tree of all nodes, compiled without a query and without unknown nodes.")

    def _allow(self, places: Sequence[int], n_bytes: int) -> None:
        """Refuse a clique before it is allocated; `n_bytes` with the cliques before it."""
        if n_bytes <= self.memory_limit:
            return
        nodes = [self.plan.nodes[place] for place in places]
        members = ", ".join(f"{self.names[node]!r} ({self.n_states[node]} states)" for node in nodes)
        raise MemoryLimitError(
            f"exact inference needs a table over {members}, in all {n_bytes / 2**30:.3g} GiB, more than the "
            f"{self.memory_limit / 2**30:.3g} GiB allowed.",
            hint="give more evidence, remove edges between these attributes, or group their states.",
        )


class ExpectedCounts(NamedTuple):
    """What EM and gradients need of the rows.

    tables        by node, (parent configurations, states): sum over rows of weight P(family's cell | cells present)
    log_evidence  (n_rows,) log P(cells present); where it is -infinity the row is impossible, and was not counted
    """

    tables: tuple[Array, ...]
    log_evidence: Array


def contradicting_nodes(dag: Dag, n_states: Sequence[int], tables: Tables, row: NDArray[np.integer]) -> tuple[int, ...]:
    """Observed nodes of a row of probability zero whose cells cannot occur together, none of which can be spared.

    The last of the shortest impossible beginning of the row is one of them, since without it the rest was possible.
    Keep it, look among the cells before it for the next one, and so on until those kept are impossible by themselves.
    """
    observed = [node for node, code in enumerate(row) if code < n_states[node]]
    kept: list[int] = []

    def impossible(length: int) -> bool:
        known = [*kept, *observed[:length]]
        cells = np.array([n_states])
        cells[0, known] = row[known]
        unknown = set(range(dag.n_nodes)).difference(known)
        tree = JunctionTree.of(dag, n_states, known=known, unknown=unknown)
        return bool(tree.log_evidence(tables, cells)[0] == -np.inf)

    while not impossible(0):
        shortest = bisect_left(range(len(observed)), True, key=impossible)
        kept.append(observed[shortest - 1])
        observed = observed[: shortest - 1]
    return tuple(sorted(kept))


def _flat_logs(tables: Tables) -> Array:
    """The logarithms of all tables, laid end to end."""
    with np.errstate(divide="ignore"):
        logs: Array = np.log(np.concatenate([table.reshape(-1) for table in tables]))
    return logs
