"""How numeric columns are cut: the discretisers known by name, and any scikit-learn transformer as one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.table.discretize_mdl import mdl_cuts
from tanager.table.value_counts import ValueCounts, midpoints, no_cuts, quantile_cuts

Discretizer = Callable[[ValueCounts, int], NDArray[np.float64]]
"""(how often each class has each distinct value, number of classes) -> increasing cut points."""

DISCRETIZERS: dict[str, Discretizer] = {
    "mdlp": mdl_cuts,
    "quantile": lambda counts, n_classes: quantile_cuts(counts, n_bins=8),
}


def choose_discretizer(discretizer: object, fine: bool = False) -> Discretizer:
    """The discretiser of that name, or one made of a scikit-learn transformer.

    None is MDLP, or with `fine` bins, which share strength with their neighbours and need not fit the class, no cut
    beside theirs: then nothing of the schema has seen a class, and rows held out are new to it.
    """
    if discretizer is None:
        return no_cuts if fine else mdl_cuts
    if not isinstance(discretizer, str) and hasattr(discretizer, "fit") and hasattr(discretizer, "transform"):
        return partial(_transformer_cuts, discretizer)
    try:
        return DISCRETIZERS[check_option("discretizer", discretizer, DISCRETIZERS)]
    except OptionError as error:
        raise OptionError(str(error), hint="a scikit-learn transformer such as KBinsDiscretizer() works too.") from None


def sees_class(discretizer: object) -> bool:
    """Whether cut points may depend on the classes of the rows; those of a transformer may."""
    return discretizer != "quantile"


def _transformer_cuts(transformer: object, counts: ValueCounts, n_classes: int) -> NDArray[np.float64]:
    """Where a transformer, fitted to one column, changes its output.

    One that publishes `bin_edges_` (KBinsDiscretizer, MDLPDiscretizer) is taken at its word; for any other the cuts
    lie halfway between neighbouring training values with different output.
    """
    distinct = np.unique(counts.values)
    if len(distinct) < 2:
        return np.empty(0)
    fitted = clone(transformer)
    X, y, weights = counts.values[:, np.newaxis], counts.classes, counts.weights
    if has_fit_parameter(fitted, "sample_weight"):
        fitted.fit(X, y, sample_weight=weights)
    elif np.array_equal(weights, np.rint(weights)):
        repeats = weights.astype(np.int64)
        fitted.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    else:
        raise OptionError(f"discretizer {transformer!r} takes no sample_weight, and the weights are not whole numbers.")
    if hasattr(fitted, "bin_edges_"):
        return np.asarray(fitted.bin_edges_[0], dtype=np.float64)[1:-1]
    output = np.asarray(fitted.transform(distinct[:, np.newaxis])).reshape(len(distinct), -1)
    changes = np.flatnonzero((output[1:] != output[:-1]).any(axis=1))
    n_bins = len(np.unique(output, axis=0))
    if n_bins != len(changes) + 1 or (n_bins == len(distinct) and n_bins > 256):
        raise OptionError(
            f"discretizer {transformer!r} does not cut a column into intervals.",
            hint="use 'mdlp', 'quantile' or a transformer that bins, such as KBinsDiscretizer().",
        )
    return midpoints(distinct[changes], distinct[changes + 1])
