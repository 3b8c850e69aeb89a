"""Layer 6: counts or batches -> tables. A new learner is a file and a line in `PARAMETERS`."""

from __future__ import annotations

from collections.abc import Callable

from tanager.parameters.acll_optimal import ACLLOptimal
from tanager.parameters.dfe import DFE
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntTables, ParameterLearner, ParameterTask
from tanager.parameters.pruned import Pruned

__all__ = [
    "DFE",
    "PARAMETERS",
    "ACLLOptimal",
    "Frequency",
    "LearntTables",
    "ParameterLearner",
    "ParameterTask",
    "Pruned",
]

PARAMETERS: dict[str, Callable[[], ParameterLearner]] = {
    "frequency": Frequency,
    "acll": ACLLOptimal,
    "pruned": Pruned,
    "dfe": DFE,
}
