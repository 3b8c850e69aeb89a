"""Where the fit on all rows starts: at the effects that the folds found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.centre_effects import tables_by_pair
from tanager.parameters.effect_layout import EffectLayout
from tanager.parameters.priors import Prior
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]


def start_from_folds(layout: EffectLayout, prior: Prior, found: Sequence[tuple[EffectLayout, Array]]) -> Array:
    """u (n_effects, n_classes) of the layout and its prior, from the tables beta of the folds' own layouts.

    Means over the folds, a pair that a fold has not being zero in it. Effects of a walk are turned differently in each
    fold (`walk_effects`), so they are found again from the tables.
    """
    effects = prior.effects_of(layout.cells.n_cells)
    start = np.zeros(prior.levels.shape)
    columns = np.split(effects.indices, effects.indptr[1:-1])  # the effects of each cell
    for own, beta in found:
        mains, tables, intercept = own.split(beta)
        by_pair = tables_by_pair(own.pairs, tables)
        given = [*mains, *(by_pair.get(pair) for pair in layout.pairs)]
        for f, values in enumerate(given):
            if values is None:
                continue
            cells = slice(layout.cells.offsets[f], layout.cells.offsets[f + 1])
            at = np.unique(np.concatenate(columns[cells]))
            if f < len(mains):
                block = effects[cells][:, at].toarray()
                start[at] += _main_effects(layout.columns[f], block, values)
            else:
                start[at] += values[:-1, :-1].reshape(len(at), -1)
        start[-1] += intercept - prior.start[-1]
    return start / len(found)


def _main_effects(column: ColumnSchema, block: Array, values: Array) -> Array:
    """The effects whose sums over `block` (states + 1, effects) are `values` but for a constant."""
    if not column.has_order:
        return values[:-1]
    n_ordered = column.n_states - column.gap_state
    # Differences of neighbouring rows of a walk are an orthogonal matrix: its transpose is its inverse.
    turn = np.diff(block[:n_ordered, : n_ordered - 1], axis=0)
    steps = turn.T @ np.diff(values[:n_ordered], axis=0)
    return np.concatenate([steps, values[n_ordered : column.n_states]])
