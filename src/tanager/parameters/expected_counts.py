"""Expected counts of rows with missing cells, a part of them at a time, so that no memory grows with their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, reduce

import numpy as np
from scipy.special import xlogy

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.counts.engine import CountEngine, choose_engine, engine_for
from tanager.network.inference.junction_tree import JunctionTree
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch, Rows, add

Tables = Sequence[Array]

PART_ROWS = 1 << 15
USUAL_PASSES = 10  # iterations of a usual run
# A pass over so many rows of 30 attributes takes 0.2 s, and a fit some thirty of them.
MAX_ROWS_TO_INFER = 20_000


class IncompleteRows:
    """Complete rows are counted once; the others are inferred in every pass, equal ones of a part once.

    n_incomplete  how many rows have a missing cell, of the class or an attribute
    total_weight  of all rows
    observed      (n_nodes,) booleans: whether some row has a cell of the node
    """

    def __init__(self, dag: Dag, sources: Sequence[Rows], names: Sequence[str]) -> None:
        """`sources` are the rows with a class and those without."""
        kept = [rows.kept() for rows in sources]
        summaries = [_summarize(dag, rows) for rows in kept]
        has_incomplete = [n_incomplete > 0 for _, n_incomplete, *_ in summaries]
        self._complete, self.n_incomplete, self.total_weight, missing, observed = reduce(add, summaries)
        self.observed: Flags = observed > 0
        known = tuple(np.flatnonzero(missing == 0).tolist())
        make = partial(InferredRows, dag=dag, n_states=sources[0].n_states, known=known, names=tuple(names))
        self._inferred = [rows.prepare(make, "gaps") for rows, some in zip(kept, has_incomplete, strict=True) if some]

    def expect(self, tables: Tables) -> tuple[list[Array], float]:
        """Expected counts of every family, and the log likelihood of the observed cells."""
        counts = [complete.copy() for complete in self._complete]
        likelihood = sum(float(xlogy(n, p).sum()) for n, p in zip(self._complete, tables, strict=True))
        for rows in self._inferred:
            counts, likelihood = add((counts, likelihood), rows.sum(InferredRows.expect, tables))
        return counts, likelihood


Summary = tuple[list[Array], int, float, Ints, Ints]
"""Counts of the complete rows, (parent configurations, states) by node; rows with a missing cell; the weight of all
rows; and of each node, in how many pieces of the rows it may be missing and is observed."""


def _summarize(dag: Dag, rows: Rows) -> Summary:
    return rows.sum(partial(_summarize_block, dag=dag, engine=engine_for(choose_engine("auto"), rows.n_rows)), "gaps")


def _summarize_block(block: EncodedBatch, dag: Dag, engine: CountEngine) -> Summary:
    families, n_states = dag.families, block.n_states
    none = np.zeros(len(n_states), dtype=np.int64)
    total: Summary = ([np.zeros(family.shape(n_states)) for family in families], 0, 0.0, none, none.copy())
    for piece in _pieces(block):
        incomplete = _is_incomplete(piece)
        counts = engine.count(piece.take(~incomplete), [family.nodes for family in families])
        by_family = zip(counts, families, strict=True)
        summary: Summary = (
            [counted.reshape(family.shape(n_states)).astype(np.float64) for counted, family in by_family],
            int(incomplete.sum()),
            float(piece.row_weights.sum()),
            np.array([*piece.incomplete, (piece.class_codes == n_states[-1]).any()], dtype=np.int64),
            np.array([(piece.column(node) < n).any() for node, n in enumerate(n_states)], dtype=np.int64),
        )
        total = add(total, summary)
    return total


class InferredRows:
    """The rows with missing cells of one place.

    Where they are one part they are kept in the form that inference wants; more are taken anew in each pass.
    """

    def __init__(
        self, blocks: list[EncodedBatch], dag: Dag, n_states: Sequence[int], known: Sequence[int], names: Sequence[str]
    ) -> None:
        """`known` are the nodes that no row, here or elsewhere, lacks."""
        self._tree = JunctionTree.of(dag, n_states, known=known, names=names, passes=USUAL_PASSES)
        self._blocks = blocks
        self._kept = None
        if sum(int(_is_incomplete(block).sum()) for block in blocks) <= PART_ROWS:
            self._kept = [(self._tree.prepare(codes), weights) for codes, weights in self._parts()]

    def expect(self, tables: Tables) -> tuple[list[Array], float]:
        """Expected counts of every family, and the log likelihood of the observed cells."""
        counts, likelihood = [np.zeros_like(table) for table in tables], 0.0
        for rows, weights in self._parts() if self._kept is None else self._kept:
            expected = self._tree.expected_counts(tables, rows, weights)
            likelihood += float(weights @ expected.log_evidence)
            add(counts, list(expected.tables))
        return counts, likelihood

    def _parts(self) -> Iterator[tuple[Codes, Array]]:
        """Codes (n_rows, n_nodes), the class last, and weights; up to 1.5 `PART_ROWS` at a time."""
        codes: list[Codes] = []
        weights: list[Array] = []
        for piece in (piece for block in self._blocks for piece in _pieces(block)):
            inferred = piece.take(_is_incomplete(piece))
            codes.append(np.column_stack([inferred.codes, inferred.class_codes]))
            weights.append(inferred.row_weights)
            if sum(map(len, weights)) >= PART_ROWS // 2:
                yield np.concatenate(codes), np.concatenate(weights)
                codes.clear()
                weights.clear()
        if sum(map(len, weights)):
            yield np.concatenate(codes), np.concatenate(weights)


def _pieces(batch: EncodedBatch) -> Iterator[EncodedBatch]:
    """The batch cut into runs of rows, which are views of it."""
    for first in range(0, batch.n_rows, PART_ROWS):
        yield batch.take(slice(first, first + PART_ROWS))


def _is_incomplete(batch: EncodedBatch) -> Flags:
    """(n_rows,) whether a cell or the class is missing."""
    incomplete: Flags = batch.class_codes == batch.n_states[-1]
    for node in np.flatnonzero(batch.incomplete).tolist():
        incomplete |= batch.column(node) == batch.n_states[node]
    return incomplete
