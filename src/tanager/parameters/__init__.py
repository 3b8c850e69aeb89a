"""Layer 6: counts or batches -> tables. A new learner is a file and a line in `PARAMETERS`."""

from __future__ import annotations

from collections.abc import Callable

from tanager.parameters.acll_optimal import ACLLOptimal
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntTables, ParameterLearner, ParameterTask

__all__ = ["PARAMETERS", "ACLLOptimal", "Frequency", "LearntTables", "ParameterLearner", "ParameterTask"]

PARAMETERS: dict[str, Callable[[], ParameterLearner]] = {"frequency": Frequency, "acll": ACLLOptimal}
