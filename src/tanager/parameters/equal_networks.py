"""Of all networks that classify as learnt tables do, the one that makes the training rows most likely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import CountTable
from tanager.network.network import Network
from tanager.network.normalize import most_likely_tables
from tanager.parameters.conditional.gap_objective import MAX_ROWS_TO_INFER
from tanager.parameters.frequency import Frequency
from tanager.parameters.gap_rows import GapRows
from tanager.parameters.protocol import ParameterTask
from tanager.structure.dag import is_perfect_for

PSEUDO_ROWS = 1.0


def choose_equal_network(task: ParameterTask, log_tables: Sequence[Array]) -> tuple[Network, float | None]:
    """A network with the P(class | attributes) of `log_tables`: the most likely one if the canonical form is perfect.

    With it comes the largest difference of a family's class-free marginal from that of the rows. If the form is not
    perfect, `log_tables` must be those of tables that sum to one; these are kept, and the difference is None.
    """
    if not is_perfect_for(task.dag, task.dag.n_nodes - 1):
        return task.network([np.exp(table) for table in log_tables]), None
    found = most_likely_tables(task.dag, log_tables, task.counts.n_states, smoothed_counts(task))
    return task.network(found.tables), found.difference


def smoothed_counts(task: ParameterTask) -> list[Array]:
    """Counts of every family plus one row spread evenly over its cells, (parent configurations, states) by node.

    Pseudo-rows of one distribution keep the counts of two families in agreement on the attributes they share.

    A missing cell is shared out over its states, given the cells present, as the frequencies of the same structure
    have it: a fitted network knows of P(class | attributes) only. Friedman's smoothing spares the states' marginals.
    Where too many rows have gaps, a family counts those of which it has every cell.
    """
    families, n_states, rows = task.dag.families, task.counts.n_states, task.counts.rows
    counts: Sequence[CountTable] = task.counts.tables(families)
    if rows.incomplete.any():
        completed = GapRows(task.dag, [rows], task.counts.names)
        if completed.n_with_gaps <= MAX_ROWS_TO_INFER:
            counts, _ = completed.expect(Frequency("friedman").tables(task))
    return [
        counted.reshape(family.shape(n_states)).astype(np.float64) + PSEUDO_ROWS / family.size(n_states)
        for counted, family in zip(counts, families, strict=True)
    ]
