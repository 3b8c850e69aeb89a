"""FittedLikelihood: the conditional log likelihood of a structure with the tables that make it highest."""

from __future__ import annotations

import warnings
from typing import cast

from tanager.counts.count_store import CountStore
from tanager.errors import SeparationWarning
from tanager.parameters.conditional.learner import Conditional
from tanager.parameters.conditional.trace import ConditionalTrace
from tanager.parameters.protocol import ParameterTask
from tanager.structure.dag import Dag

TOLERANCE = 1e-5


class FittedLikelihood:
    """max over the tables of sum_t w_t log P(c_t | x_t), by `Conditional(prior=None)`: a fit for each structure."""

    def __init__(self, counts: CountStore) -> None:
        self._counts = counts

    def __call__(self, dag: Dag) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)  # a search tries structures that fit the rows exactly
            learnt = Conditional(prior=None, tol=TOLERANCE).learn(ParameterTask(dag, self._counts))
        return -cast(ConditionalTrace, learnt.trace).objective[-1]
