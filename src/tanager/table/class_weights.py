"""Class weights: a row of a class of weight w counts as w rows, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.table.batch import Weights
from tanager.table.training_table import TrainingTable

Weighting = Mapping[object, float]


def weigh_classes(rows: TrainingTable, class_weight: object) -> TrainingTable:
    """A whole training set, the weight of each row times that of its class.

    "balanced" gives class c the weight n / (K n_c), n_c being the weight of its rows, n of all, and K how many classes
    there are, so that all classes weigh the same.
    """
    if class_weight is None:
        return rows
    if class_weight == "balanced":
        totals = np.bincount(rows.class_codes, rows.weights, minlength=len(rows.classes))
        factors: NDArray[np.float64] = totals.sum() / (len(totals) * totals)
    else:
        weighting = read_weighting(class_weight)
        check_classes(weighting, rows.classes)
        factors = class_factors(weighting, rows.classes)
    return replace(rows, weights=times_factors(rows.weights, factors, rows.class_codes))


def given_weighting(class_weight: object, where: str) -> Weighting | None:
    """The weights of classes, where they have to be known before the first row is read."""
    if class_weight == "balanced":
        raise OptionError(
            f"class_weight='balanced' needs the number of rows of each class, which {where} gives only in the end.",
            hint="give the weights, such as class_weight={'ill': 10, 'healthy': 1}.",
        )
    return None if class_weight is None else read_weighting(class_weight)


def read_weighting(class_weight: object) -> Weighting:
    """The weight of each class that a mapping names."""
    if not isinstance(class_weight, Mapping):
        raise OptionError(
            f"class_weight={class_weight!r} is not valid; expected None, 'balanced' or the weights of classes.",
            hint="class_weight={'ill': 10, 'healthy': 1}.",
        )
    for label, weight in class_weight.items():
        if not isinstance(weight, Real) or not isfinite(weight) or weight <= 0:
            raise OptionError(
                f"class_weight gives {label!r} the weight {weight!r}; expected a number above zero.",
                hint="leave the rows of a class out of the table if they are not to count.",
            )
    return class_weight


def check_classes(weighting: Weighting | None, classes: NDArray[np.generic]) -> None:
    """Refuse, as scikit-learn does, a weight of what is no class while a class has none: one is misspelt."""
    labels = classes.tolist()
    without = [label for label in labels if label not in (weighting or {})]
    unknown = [label for label in weighting or {} if label not in labels]
    if unknown and without:
        raise OptionError(
            f"class_weight names the class {unknown[0]!r}, which the table does not have; its classes are {labels}."
        )


def class_factors(weighting: Weighting, classes: NDArray[np.generic]) -> NDArray[np.float64]:
    """(n_classes,) the weight of each; 1 where none is given."""
    return np.array([weighting.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)


def times_factors(
    weights: Weights | None, factors: NDArray[np.float64], class_codes: NDArray[np.integer]
) -> NDArray[np.float64]:
    """(n_rows,) the weight of each row times that of its class."""
    of_rows: NDArray[np.float64] = factors[class_codes]
    return of_rows if weights is None else of_rows * weights
