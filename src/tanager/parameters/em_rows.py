"""GapRows: the rows EM learns from, a part of them at a time, so that no memory grows with their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tanager.counts.engine import choose_engine
from tanager.network.inference.evidence_rows import EvidenceRows
from tanager.network.inference.junction_tree import JunctionTree
from tanager.structure.dag import Dag
from tanager.table.batch import Codes, EncodedBatch

Array = NDArray[np.float64]
Tables = Sequence[Array]

PART_ROWS = 1 << 15
USUAL_PASSES = 10  # iterations of a usual run


@dataclass(frozen=True)
class GapRows:
    """Complete rows are counted once; rows with gaps are inferred in every iteration, equal ones of a part once.

    complete      the counts of the complete rows, (parent configurations, states) by node
    batches       where the rows are
    kept          the rows with gaps and their weights where all are one part; more are taken from the batches anew in
                  each iteration
    n_with_gaps   how many rows have gaps, of the class or another cell
    total_weight  of all rows
    """

    complete: tuple[Array, ...]
    tree: JunctionTree
    batches: tuple[EncodedBatch, ...]
    kept: tuple[tuple[EvidenceRows, Array], ...] | None
    n_with_gaps: int
    total_weight: float

    @classmethod
    def of(cls, dag: Dag, batches: Sequence[EncodedBatch], names: Sequence[str]) -> GapRows:
        n_states = batches[0].n_states
        complete = [np.zeros(family.shape(n_states)) for family in dag.families]
        n_with_gaps, total_weight = 0, 0.0
        unknown = np.zeros(len(n_states), dtype=bool)
        for piece in (piece for batch in batches for piece in _pieces(batch)):
            gaps = _gaps(piece)
            n_with_gaps += int(gaps.sum())
            total_weight += float(_weights(piece).sum())
            unknown |= [*piece.incomplete, (piece.class_codes == n_states[-1]).any()]
            if not gaps.all():
                whole = _take(piece, ~gaps)
                counted = choose_engine("auto").count(whole, [family.nodes for family in dag.families])
                for own, more in zip(complete, counted, strict=True):
                    own += more.reshape(own.shape)
        known = np.flatnonzero(~unknown).tolist()
        tree = JunctionTree.of(dag, n_states, known=known, names=names, passes=USUAL_PASSES)
        kept = None
        if n_with_gaps <= PART_ROWS:
            kept = tuple((tree.prepare(codes), weights) for codes, weights in _parts(batches))
        return cls(tuple(complete), tree, tuple(batches), kept, n_with_gaps, total_weight)

    def expect(self, tables: Tables) -> tuple[list[Array], float]:
        """Expected counts of every family, and the log likelihood of the cells present."""
        counts = [own.copy() for own in self.complete]
        likelihood = sum(float(xlogy(n, p).sum()) for n, p in zip(self.complete, tables, strict=True))
        for rows, weights in _parts(self.batches) if self.kept is None else self.kept:
            expected = self.tree.expected_counts(tables, rows, weights)
            likelihood += float(weights @ expected.log_evidence)
            for own, shared in zip(counts, expected.tables, strict=True):
                own += shared
        return counts, likelihood


def _parts(batches: Sequence[EncodedBatch]) -> Iterator[tuple[Codes, Array]]:
    """Codes (n_rows, n_nodes), the class last, and weights of the rows with gaps; up to 1.5 `PART_ROWS` at a time."""
    codes: list[Codes] = []
    weights: list[Array] = []
    for piece in (piece for batch in batches for piece in _pieces(batch)):
        own = _take(piece, _gaps(piece))
        codes.append(np.column_stack([own.codes, own.class_codes]))
        weights.append(_weights(own))
        if sum(map(len, weights)) >= PART_ROWS // 2:
            yield np.concatenate(codes), np.concatenate(weights)
            codes.clear()
            weights.clear()
    if sum(map(len, weights)):
        yield np.concatenate(codes), np.concatenate(weights)


def _pieces(batch: EncodedBatch) -> Iterator[EncodedBatch]:
    """The batch cut into runs of rows, which are views of it."""
    for first in range(0, batch.n_rows, PART_ROWS):
        yield _take(batch, slice(first, first + PART_ROWS))


def _take(batch: EncodedBatch, rows: slice | NDArray[np.bool_]) -> EncodedBatch:
    """Some of the rows; `incomplete` stays as it is for all."""
    weights = None if batch.weights is None else batch.weights[rows]
    return EncodedBatch(batch.codes[rows], batch.class_codes[rows], batch.n_states, batch.incomplete, weights)


def _gaps(batch: EncodedBatch) -> NDArray[np.bool_]:
    """(n_rows,) whether a cell or the class is missing."""
    gaps: NDArray[np.bool_] = batch.class_codes == batch.n_states[-1]
    for node in np.flatnonzero(batch.incomplete).tolist():
        gaps |= batch.column(node) == batch.n_states[node]
    return gaps


def _weights(batch: EncodedBatch) -> Array:
    return np.ones(batch.n_rows) if batch.weights is None else batch.weights
