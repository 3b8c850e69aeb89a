"""Where main effects may shrink to in place of zero: what naive Bayes says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.effects.bases import shares_of
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.frequency import DEFAULT_ALPHA

Array = NDArray[np.float64]

# With 1 in its place rare states say too much, with 10 the gain is smaller.
PSEUDO_ROWS = DEFAULT_ALPHA["friedman"]


def prior_mean(kind: str, layout: EffectLayout, rows: Array) -> Array | float:
    """Where the effects of a model of this kind (`problems.Kind`) shrink to."""
    return naive_bayes_odds(layout, rows) if kind == "naive Bayes" else 0.0


def naive_bayes_odds(layout: EffectLayout, rows: Array) -> Array:
    """(n_cells, n_classes) log P(state | class) / P(state) in the main effects of unordered attributes, else zero.

    P(state | class) is that of `Frequency("friedman")`. A state without rows says nothing, and a missing
    cell what is expected of it, as `effect_prior` has it. Ordered attributes are left at zero: they say the same thing
    several times over far more often, and their cuts have seen the rows held out.

    rows  (n_cells, n_classes) training rows in each cell of the layout
    """
    odds = np.zeros(rows.shape)
    mains, _, _ = layout.split(rows)
    own, _, _ = layout.split(odds)  # views
    for column, counted, out in zip(layout.columns, mains, own, strict=True):
        if not column.has_order:
            out[:] = _odds(counted[:-1])
    return odds


def _odds(counted: Array) -> Array:
    """(states + 1, classes) from the rows (states, classes) of one attribute."""
    shares = shares_of(counted.sum(axis=1))[:, np.newaxis]
    smoothed = (counted + PSEUDO_ROWS * shares) / (counted.sum(axis=0) + PSEUDO_ROWS)
    seen = counted.any(axis=1, keepdims=True)
    odds = np.log(np.divide(smoothed, shares, out=np.ones_like(smoothed), where=seen))
    return np.vstack([odds, shares.T @ odds])
