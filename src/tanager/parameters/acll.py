"""Tables that maximise the approximate conditional log likelihood, in closed form."""

from __future__ import annotations

from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask
from tanager.scores.acll import ACLL


class ACLLOptimal(ParameterLearner):
    """p / sum_k p with p = max(w, pseudo_count), w_jck = alpha N_jck + beta (N_j*k - N_jck) (aCLL 2013, theorem 3.8).

    Rows of other classes with the same attribute value count against a class. The options are those of the score
    `ACLL`, which gives the weights w.
    """

    needs = "families"

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
        for family, counted in zip(families, task.counts.tables(families), strict=True):
            learnt = score.probabilities(counted, score.weights(counted, family, n_states))
            tables.append(learnt.reshape(family.shape(n_states)))
        return LearntNetwork(task.network(tables))
