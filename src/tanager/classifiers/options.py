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

from tanager.additive.options import MonotonicConstraints, Pairs
from tanager.parameters import ParameterLearner
from tanager.scores import CLL, FamilyScore
from tanager.structure import StructureLearner
from tanager.structure.constraints import Edges


class SharedOptions:
    """Options that every classifier of a table has; each declares them in the order in which it describes them."""

    missing: str
    handle_unknown: str
    discretizer: object
    categorical_features: ArrayLike | str | None
    class_weight: Mapping[Any, float] | str | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int


@dataclass(eq=False, repr=False)
class ClassifierOptions:
    """Options of `BayesianNetworkClassifier`, which describes them."""

    structure: str | StructureLearner = "tan"
    criterion: str | FamilyScore | CLL | None = None
    parameters: str | ParameterLearner = "conditional"
    _: KW_ONLY
    discretizer: object = None
    missing: str = "auto"
    categorical_features: ArrayLike | str | None = "from_dtype"
    handle_unknown: str = "marginalize"
    class_weight: Mapping[Any, float] | str | None = None
    engine: str = "auto"
    device: str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class AdditiveClassifierOptions:
    """Options of `AdditiveClassifier`, which describes them."""

    _: KW_ONLY
    pairs: Pairs = "auto"
    forbidden_pairs: Edges | None = None
    trees: bool = True
    monotonic_cst: MonotonicConstraints | None = None
    missing: str = "auto"
    handle_unknown: str = "average"
    discretizer: object = None
    categorical_features: ArrayLike | str | None = "from_dtype"
    class_weight: Mapping[Any, float] | str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
