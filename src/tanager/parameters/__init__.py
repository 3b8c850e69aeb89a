"""Parameter learners: a structure, counts and rows -> a network. A new one is a file and a line in `PARAMETERS`."""

from __future__ import annotations

from collections.abc import Callable

from tanager.parameters.conditional.learner import Conditional
from tanager.parameters.dfe import DFE
from tanager.parameters.em import EM, LikelihoodGradient
from tanager.parameters.frequency import ACLLOptimal, Frequency
from tanager.parameters.hierarchical import Hierarchical
from tanager.parameters.naive_bayes import Pruned, Weighted
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace

__all__ = [
    "DFE",
    "EM",
    "PARAMETERS",
    "ACLLOptimal",
    "Conditional",
    "Frequency",
    "Hierarchical",
    "LearntNetwork",
    "LikelihoodGradient",
    "ParameterLearner",
    "ParameterTask",
    "ParameterTrace",
    "Pruned",
    "Weighted",
]

PARAMETERS: dict[str, Callable[[], ParameterLearner]] = {
    "frequency": Frequency,
    "hierarchical": Hierarchical,
    "acll": ACLLOptimal,
    "conditional": Conditional,
    "em": EM,
    "likelihood-gradient": LikelihoodGradient,
    "pruned": Pruned,
    "weighted": Weighted,
    "dfe": DFE,
}
