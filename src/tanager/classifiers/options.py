"""The options that classifiers share, declared once.

As fields of a dataclass they are the arguments of `__init__`, with type and default, for scikit-learn, `help` and mypy.
A preset adds fields, and takes one out with `init=False`. Options are classes of their own, since mypy lets a dataclass
with an untyped base, such as scikit-learn's, have any argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.parameters import ParameterLearner
from tanager.scores import CLL, FamilyScore
from tanager.structure import StructureLearner


@dataclass(eq=False, repr=False)
class ClassifierOptions:
    """Options of `BayesianNetworkClassifier`, which describes them."""

    structure: str | StructureLearner = "pairwise"
    criterion: str | FamilyScore | CLL | None = None
    parameters: str | ParameterLearner = "conditional"
    _: KW_ONLY
    categorical_features: ArrayLike | str | None = "from_dtype"
    discretizer: object = None
    missing: str = "auto"
    handle_unknown: str = "marginalize"
    class_weight: Mapping[Any, float] | str | None = None
    engine: str = "auto"
    device: str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
