"""Tables that maximise the approximate conditional log likelihood, in closed form: of counts or expected counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from tanager.counts.family import CountTable
from tanager.network.network import Network
from tanager.parameters.em import EM
from tanager.parameters.expected_counts import IncompleteRows
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask
from tanager.scores.acll import ACLL
from tanager.table.rows import Needs


class ACLLOptimal(ParameterLearner):
    """p / sum_k p with p = max(w, pseudo_count), w_jck = alpha N_jck + beta (N_j*k - N_jck) (aCLL 2013, theorem 3.8).

    Rows of other classes with the same attribute value count against a class. The options are those of the score
    `ACLL`, which gives the weights w.
    """

    needs: ClassVar[Needs] = "families"

    def __init__(
        self,
        assumption: str = "uniform",
        *,
        a: float = 1.0,
        b: float | None = None,
        pseudo_count: float | None = None,
        beta: float | None = None,
        alpha: float | None = None,
    ) -> None:
        self.assumption = assumption
        self.a = a
        self.b = b
        self.pseudo_count = pseudo_count
        self.beta = beta
        self.alpha = alpha

    def learn(self, task: ParameterTask) -> LearntNetwork:
        families, n_states = task.dag.families, task.counts.n_states
        score = ACLL(**self.get_params(), at="optimum")
        score.check_options()
        tables = []
        for family, counted in zip(families, self.counts(task), strict=True):
            learnt = score.probabilities(counted, score.weights(counted, family, n_states))
            tables.append(learnt.reshape(family.shape(n_states)))
        return LearntNetwork(task.network(tables))

    def counts(self, task: ParameterTask) -> Sequence[CountTable]:
        """The table of each family, (attribute-parent configurations, classes, states)."""
        return task.counts.tables(task.dag.families)


class ExpectedACLL(ACLLOptimal):
    """`ACLLOptimal`, a missing cell shared out over its states as `EM`'s tables of the same structure have it.

    `ACLLOptimal` counts for a family the rows of which it has every cell: right where cells are missing completely at
    random. Here N_jck are expected counts, E[N_jck | observed cells], as in the last step of EM: right where it may
    depend on the observed cells, the class included, whether a cell is missing. The paper leaves missing data to future
    work (aCLL 2013, section 6). Without missing cells both are the same. The options are those of `ACLLOptimal`.
    """

    needs = "passes"

    def counts(self, task: ParameterTask) -> Sequence[CountTable]:
        rows = task.counts.rows
        if not rows.incomplete.any():
            return super().counts(task)
        described = cast(Network, EM().learn(task).network)
        expected, _ = IncompleteRows(task.dag, [rows], task.counts.names).expect(described.tables)
        n_states = task.counts.n_states
        by_family = zip(expected, task.dag.families, strict=True)
        return [counted.reshape(family.class_shape(n_states)) for counted, family in by_family]
