"""Where the fit on all rows starts: at the effects that the folds found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.parameters.effects.center import tables_by_pair
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.prior import Bases, effect_bases, step_variance
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]

Found = tuple[EffectLayout, Array]
"""The layout of a fold and its tables beta."""


def start_from_folds(layout: EffectLayout, zero: Array, rows: Array, found: Sequence[Found]) -> Array:
    """u (n_effects, n_classes) of the layout and its `effect_prior`: the mean over the folds.

    Effects of a walk are turned differently in each fold (`walk_effects`), so they are found again from its tables.

    zero  (n_cells, n_classes) the tables at u = 0
    rows  (n_cells, n_classes) training rows in each cell of the layout
    """
    bases = effect_bases(layout, rows)
    return np.asarray(np.mean([_start_from(fold, layout, zero, bases) for fold in found], axis=0))


def _start_from(fold: Found, layout: EffectLayout, zero: Array, bases: Bases) -> Array:
    """A pair that the fold has not is zero."""
    own, beta = fold
    mains, tables, intercept = own.split(beta)
    centres, _, centre = layout.split(zero)
    by_pair = tables_by_pair(own.pairs, tables)
    columns, coarse = layout.columns, [column.coarse for column in layout.columns]
    from_centre = [main[:-1] - at[:-1] for main, at in zip(mains, centres, strict=True)]
    parts = [
        _effects(column, basis, main) for column, basis, main in zip(columns, bases.fine, from_centre, strict=True)
    ]
    for parent, child in layout.pairs:
        table = by_pair.get((parent, child))
        if table is None:
            n_effects = bases.coarse[parent].shape[1] * bases.coarse[child].shape[1]
            parts.append(np.zeros((n_effects, layout.n_classes)))
        else:
            by_parent = _effects(coarse[parent], bases.coarse[parent], table[:-1, :-1])
            by_child = _effects(coarse[child], bases.coarse[child], by_parent.swapaxes(0, 1))
            parts.append(by_child.swapaxes(0, 1).reshape(-1, layout.n_classes))
    return np.concatenate([*parts, [intercept - centre]])


def _effects(column: ColumnSchema, basis: sparse.csr_array, values: Array) -> Array:
    """The effects whose sums over `basis` (states, effects) are `values` (states, ...) but for a constant."""
    if not column.has_order:
        return values
    n_ordered = column.n_states - column.gap_state
    n_walk = basis.shape[1] - column.gap_state
    # Differences of neighbouring rows of a walk are orthogonal columns of one length: the transpose is the inverse.
    turn = np.diff(basis[:n_ordered, :n_walk].toarray(), axis=0) / step_variance(n_ordered)
    steps = np.tensordot(turn.T, np.diff(values[:n_ordered], axis=0), axes=1)
    return np.concatenate([steps, values[n_ordered:]])
