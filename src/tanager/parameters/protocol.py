"""ParameterLearner: the role of whatever fills the tables of a structure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tanager.counts.count_store import CountStore
from tanager.structure.dag import Dag


@dataclass(frozen=True)
class ParameterTask:
    """What a learner may look at: the structure and the counts of the training table.

    `report` is called with a line of text now and then, for progress. `skip_gaps` says that a family with a missing
    cell will be left out of its row at prediction, so that it should be in training.
    """

    dag: Dag
    counts: CountStore
    report: Callable[[str], None] = field(default=lambda line: None, kw_only=True, compare=False)
    skip_gaps: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class LearntTables:
    """One (parent configurations, states) array per node, rows summing to one, and what the learner did."""

    tables: tuple[NDArray[np.float64], ...]
    trace: dict[str, object] = field(default_factory=dict)


class ParameterLearner(BaseEstimator, ABC):
    """A scikit-learn parameter object: its options are the arguments of `__init__`; it holds no data."""

    @abstractmethod
    def learn(self, task: ParameterTask) -> LearntTables:
        """Fill the tables."""
