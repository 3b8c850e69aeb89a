"""ExpectedACLL: the tables of aCLL from expected counts, where cells are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tanager.counts.family import CountTable
from tanager.network.network import Network
from tanager.parameters.acll_optimal import ACLLOptimal
from tanager.parameters.em import EM
from tanager.parameters.gap_rows import GapRows
from tanager.parameters.protocol import ParameterTask


class ExpectedACLL(ACLLOptimal):
    """`ACLLOptimal`, a missing cell shared out over its states as `EM`'s tables of the same structure have it.

    `ACLLOptimal` counts for a family the rows of which it has every cell: right where cells are missing completely at
    random. Here N_jck are expected counts, E[N_jck | cells present], as in the last step of EM: right where a gap may
    depend on what is present, the class included. The paper leaves missing data to future work (aCLL 2013, section 6).
    Without gaps both are the same. The options are those of `ACLLOptimal`.
    """

    needs = "passes"

    def counts(self, task: ParameterTask) -> Sequence[CountTable]:
        rows = task.counts.rows
        if not rows.incomplete.any():
            return super().counts(task)
        described = cast(Network, EM().learn(task).network)
        expected, _ = GapRows(task.dag, [rows], task.counts.names).expect(described.tables)
        n_states = task.counts.n_states
        by_family = zip(expected, task.dag.families, strict=True)
        return [counted.reshape(family.class_shape(n_states)) for counted, family in by_family]
