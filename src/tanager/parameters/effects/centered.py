"""Effects as tables, centred so that each says what simpler ones cannot, and averaged over models and folds."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.descent import Descent
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.layout import EffectLayout, shares_of, tables_by_pair
from tanager.parameters.effects.models import LEAST_SHARE, Choice
from tanager.parameters.effects.prior import Found
from tanager.structure.protocol import Pairs
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Effects:
    """What a model of effects consists of; shapes as in `AdditiveModel`."""

    intercept: Array
    mains: tuple[Array, ...]
    tables: tuple[Array, ...]
    densities: tuple[Array, ...]


Centered = tuple[Effects, Pairs]


def densities_of(layout: EffectLayout, rows: Array) -> tuple[Array, ...]:
    """Of each attribute (states,) their shares of the rows, given those in each cell, (n_cells, n_classes)."""
    return tuple(shares_of(own[:-1].sum(axis=1)) for own in layout.split(rows)[0])


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
    tables = list(effects.tables)
    for numbers in _by_shape(tables):  # together: a pair alone is too small for an array
        parents, children = zip(*(pairs[number] for number in numbers), strict=True)
        stack = np.stack([tables[number] for number in numbers])
        by_parent = np.einsum("nijc,nj->nic", stack[:, :, :-1], np.array([coarse[child] for child in children]))
        stack -= by_parent[:, :, np.newaxis]
        by_child = np.einsum("nijc,ni->njc", stack[:, :-1], np.array([coarse[parent] for parent in parents]))
        stack -= by_child[:, np.newaxis]
        for number, parent, child, left, right, table in zip(
            numbers, parents, children, by_parent, by_child, stack, strict=True
        ):
            tables[number] = table
            mains[parent] += left[columns[parent].coarse_codes]
            mains[child] += right[columns[child].coarse_codes]
    for main, density in zip(mains, effects.densities, strict=True):
        mean = density @ main[:-1]
        main -= mean
        intercept = intercept + mean
    return Effects(intercept, tuple(mains), tuple(tables), effects.densities)


def mean_effects(fits: Sequence[tuple[Effects, Pairs]], shares: Sequence[float]) -> Effects:
    """The mean of centred fits by their shares, with the pairs of the first: one that another has not is zero in it."""
    first, pairs = fits[0]
    parts = [first.intercept, *first.mains, *first.tables]
    total = np.zeros(sum(part.size for part in parts))
    for (effects, own), share in zip(fits, shares, strict=True):
        by_pair = tables_by_pair(own, effects.tables)
        like = zip(pairs, first.tables, strict=True)
        tables = [by_pair[pair] if pair in by_pair else np.zeros_like(table) for pair, table in like]
        total += share * np.concatenate([part.ravel() for part in (effects.intercept, *effects.mains, *tables)])
    ends = np.cumsum([part.size for part in parts])[:-1]
    means = [own.reshape(part.shape) for own, part in zip(np.split(total / sum(shares), ends), parts, strict=True)]
    n_mains = len(first.mains)
    return Effects(means[0], tuple(means[1 : n_mains + 1]), tuple(means[n_mains + 1 :]), first.densities)


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


def _by_shape(tables: Sequence[Array]) -> list[list[int]]:
    """The numbers of the tables of each shape."""
    found = dict[tuple[int, ...], list[int]]()
    for number, table in enumerate(tables):
        found.setdefault(table.shape, []).append(number)
    return list(found.values())


class Model:
    """A choice on all rows: the fits on the folds; once it is fitted, its problem there, the descent and the effects.

    densities  of each attribute (states,) their shares of all rows
    """

    problem: Penalized | BlockProblem
    descent: Descent
    whole: Centered

    def __init__(self, choice: Choice, layout: EffectLayout, densities: tuple[Array, ...]) -> None:
        self.choice, self.layout, self._densities = choice, layout, densities
        self.folds = tuple(self.center(found) for found in choice.found)

    def center(self, found: Found) -> Centered:
        """A fit of this model on some rows."""
        return center_fit(*found, self._densities)

    def with_share(self, share: float) -> Model:
        model = copy(self)
        model.choice = replace(self.choice, share=share)
        return model


def with_say(models: Sequence[Model], share: float) -> list[Model]:
    """The leader, and those that have LEAST_SHARE of the whole if the effects have `share` of it, trees the rest."""
    largest = max(model.choice.share for model in models)
    kept = [model for model in models if model.choice.share == largest or share * model.choice.share >= LEAST_SHARE]
    total = sum(model.choice.share for model in kept)
    return [model.with_share(model.choice.share / total) for model in kept] if len(kept) < len(models) else [*models]


def mean_of_models(models: Sequence[Model], folded: float) -> Effects:
    """Of the models by their shares; `folded` is the share of their folds."""
    fits, shares = [], []
    for model in models:
        fits.append(model.whole)
        shares.append((1.0 - folded) * model.choice.share)
    for model in models if folded > 0.0 else ():
        fits += model.folds
        shares += [folded * model.choice.share / len(model.folds)] * len(model.folds)
    return mean_effects(fits, shares) if len(fits) > 1 else fits[0][0]


def means_of_folds(models: Sequence[Model]) -> list[Centered]:
    """Of the models on each fold."""
    return [mean_of(fits, models) for fits in zip(*(model.folds for model in models), strict=True)]


def mean_of(fits: Sequence[Centered], models: Sequence[Model]) -> Centered:
    """Of the models' fits on one fold; the first has all pairs."""
    return mean_effects(fits, [model.choice.share for model in models]), fits[0][1]


def spreads(folds: Sequence[Centered]) -> tuple[Array, ...]:
    """The standard deviation between folds of each main effect, (states, classes); none for a single fold."""
    if len(folds) < 2:
        return ()
    by_attribute = zip(*(effects.mains for effects, _ in folds), strict=True)
    return tuple(np.std([main[:-1] for main in mains], axis=0, ddof=1) for mains in by_attribute)
