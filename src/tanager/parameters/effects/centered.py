"""Effects as tables, centred so that each says what simpler ones cannot, and averaged over fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.effects.layout import EffectLayout, tables_by_pair
from tanager.structure.protocol import Pairs
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """What a model of effects consists of; shapes as in `AdditiveNetwork`."""

    intercept: Array
    mains: tuple[Array, ...]
    tables: tuple[Array, ...]
    densities: tuple[Array, ...]


Centered = tuple[Effects, Pairs]


def center_fit(layout: EffectLayout, beta: Array, densities: tuple[Array, ...]) -> Centered:
    """The centred effects of a fit on all rows or on a fold, and its pairs; `densities` are those of all rows."""
    mains, tables, intercept = layout.split(beta)
    # A missing cell counts as the mean of the states: in a fold too by the densities of all rows.
    pairs = zip(mains, densities, strict=True)
    mains = tuple(np.vstack([main[:-1], density @ main[:-1]]) for main, density in pairs)
    return center_effects(Effects(intercept, mains, tables, densities), layout.columns, layout.pairs), layout.pairs


def center_effects(effects: Effects, columns: Sequence[ColumnSchema], pairs: Pairs) -> Effects:
    """Move means: of a pair over either attribute into the other's main effect, of a main effect into the intercept.

    Means are by the attributes' own densities. Entries of missing cells move with the others, so each row, whatever
    cells it lacks, keeps its sum; and a pair effect shows what the pair says beyond its parts.
    """
    mains = [main.copy() for main in effects.mains]
    intercept = effects.intercept - effects.intercept.mean()
    coarse = [_coarse_density(column, own) for column, own in zip(columns, effects.densities, strict=True)]
    tables = []
    for (parent, child), table in zip(pairs, effects.tables, strict=True):
        by_parent = np.einsum("ijc,j->ic", table[:, :-1], coarse[child])
        table = table - by_parent[:, np.newaxis]
        by_child = np.einsum("ijc,i->jc", table[:-1], coarse[parent])
        tables.append(table - by_child)
        mains[parent] += by_parent[columns[parent].coarse_codes]
        mains[child] += by_child[columns[child].coarse_codes]
    for main, density in zip(mains, effects.densities, strict=True):
        mean = density @ main[:-1]
        main -= mean
        intercept = intercept + mean
    return Effects(intercept, tuple(mains), tuple(tables), effects.densities)


def mean_effects(fits: Sequence[tuple[Effects, Pairs]], shares: Sequence[float]) -> Effects:
    """The mean of centred fits by their shares, with the pairs of the first: one that another has not is zero in it."""
    first, pairs = fits[0]
    every = [effects for effects, _ in fits]
    by_pair = [tables_by_pair(own, effects.tables) for effects, own in fits]

    def mean(values: Sequence[Array]) -> Array:
        return np.asarray(sum(share * value for share, value in zip(shares, values, strict=True)) / sum(shares))

    tables = zip(pairs, first.tables, strict=True)
    return Effects(
        mean([effects.intercept for effects in every]),
        tuple(mean(mains) for mains in zip(*(effects.mains for effects in every), strict=True)),
        tuple(mean([own.get(pair, np.zeros_like(table)) for own in by_pair]) for pair, table in tables),
        first.densities,
    )


def without_zeros(effects: Effects, pairs: Pairs) -> tuple[Effects, Pairs]:
    """The same without the pairs that are exactly zero."""
    kept = [number for number, table in enumerate(effects.tables) if table.any()]
    tables = tuple(effects.tables[number] for number in kept)
    return replace(effects, tables=tables), tuple(pairs[number] for number in kept)


def zero_attributes(columns: Sequence[ColumnSchema], mains: Sequence[Array], pairs: Pairs) -> tuple[str, ...]:
    """The names of the attributes that have no pair and a main effect of exactly zero."""
    paired = {attribute for pair in pairs for attribute in pair}
    zero = (attribute for attribute, main in enumerate(mains) if attribute not in paired and not main.any())
    return tuple(columns[attribute].name for attribute in zero)


def _coarse_density(column: ColumnSchema, density: Array) -> Array:
    return np.bincount(column.coarse_codes[:-1], density, minlength=column.coarse.n_states).astype(np.float64)
