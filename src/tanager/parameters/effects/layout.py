"""Where the effects of a model lie in one array, and what those of an attribute are.

An ordered attribute's effects are the steps of a random walk along its states; another has one for every state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.counts.family import Family
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.structure.protocol import Pairs
from tanager.table.granularity import MAX_PAIRED, Places, fine_places, states_of_both
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]

# A walk of more steps has smaller ones, so that it ends no further off: attributes cut more finely mean no more.
FULL_STEPS = 4
# Of a walk in a pair the smoothest parts are enough: more cost time and gain nothing on the benchmark sets. But so many
# rows say more: with 15 parts the error on covtype falls by a quarter.
PAIR_PARTS, PAIR_PARTS_OF_MANY = 5, 15
MANY_ROWS = 50_000
# Of a main effect's walk so many are enough: with all of them the loss is the same, and a fit takes longer.
MAIN_PARTS = 63
# On folds the smoothest are enough to choose strengths by, so many for each root of the rows: few rows say next to
# nothing of the others.
PARTS_BY_ROOT, LEAST_PARTS = 1.25, 8
# Where attributes are too many to pair them all, there is no time for more than these.
PARTS_OF_MANY = 8
# From so many states, none of which has more than so many times its share of the rows.
FEW_STATES = 20
EVEN = 4.0
# Of the matrices of walks that are turned together: 16 MB.
ENTRIES_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class EffectLayout:
    """A model of effects as `ClassCells` of the rows at both granularities (`table.granularity`).

    A missing cell is one more state of every attribute: an effect has an entry for it like any other. The families are
    those of the main effects, of the pairs, and of the class, in that order.

    columns  the attributes
    pairs    (parent, child) attributes of the pair effects
    """

    columns: tuple[ColumnSchema, ...]
    n_classes: int
    pairs: Pairs

    @cached_property
    def places(self) -> Places:
        """(n_attributes,) the column of each main effect: that of the attribute's fine granularity."""
        return fine_places(self.columns)

    @cached_property
    def cells(self) -> ClassCells:
        n_states = states_of_both(self.columns, self.n_classes)
        target = len(n_states) - 1
        mains = [Family(place, (target,)) for place in self.places.tolist()]
        pairs = [Family(child, (parent, target)) for parent, child in self.pairs]
        with_gaps = (*(n + 1 for n in n_states[:-1]), self.n_classes)
        return ClassCells((*mains, *pairs, Family(target, ())), with_gaps)

    def split(self, beta: Array) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
        """Main effects (states + 1, classes), pair effects (parent's states + 1, child's + 1, classes), intercept."""
        parts = [beta[first:last] for first, last in pairwise(self.cells.offsets.tolist())]
        coarse = [column.coarse.n_states + 1 for column in self.columns]
        n_mains = len(self.columns)
        tables = zip(parts[n_mains:-1], self.pairs, strict=True)
        pairs = [part.reshape(coarse[parent], coarse[child], -1) for part, (parent, child) in tables]
        return tuple(parts[:n_mains]), tuple(pairs), parts[-1][0]

    def without_pairs(self, beta: Array) -> tuple[EffectLayout, Array]:
        """The layout of the main effects alone, and what beta (n_cells, n_classes) is there."""
        n_cells = self.cells.offsets[len(self.columns)]
        return replace(self, pairs=()), np.concatenate([beta[:n_cells], beta[-1:]])


def tables_by_pair(pairs: Pairs, tables: Sequence[Array]) -> dict[tuple[int, int], Array]:
    """The table of each pair, and of the pair the other way round."""
    there = dict(zip(pairs, tables, strict=True))
    return there | {(child, parent): table.swapaxes(0, 1) for (parent, child), table in there.items()}


@dataclass(frozen=True)
class Bases:
    """What the effects of each attribute are: (states, effects) at its own granularity, and at that of pairs."""

    fine: tuple[sparse.csr_array, ...]
    coarse: tuple[sparse.csr_array, ...]


@dataclass(frozen=True)
class DenseBases:
    """The same as plain arrays; None where every state has an effect of its own."""

    fine: tuple[Array | None, ...]
    coarse: tuple[Array | None, ...]


def effect_bases(layout: EffectLayout, rows: Array) -> Bases:
    """`rows` (n_cells, n_classes) are the training rows in each cell of the layout."""
    dense, columns = dense_bases(layout, rows), layout.columns
    fine = [_sparse(basis, column.n_states) for basis, column in zip(dense.fine, columns, strict=True)]
    coarse = [_sparse(basis, column.coarse.n_states) for basis, column in zip(dense.coarse, columns, strict=True)]
    return Bases(tuple(fine), tuple(coarse))


def dense_bases(layout: EffectLayout, rows: Array, rough: bool = False) -> DenseBases:
    """`rows` as in `effect_bases`. Without a pair coarse bases are not made. `rough` is enough for a fold."""
    mains, _, classes = layout.split(rows)
    most = PAIR_PARTS if classes.sum() <= MANY_ROWS else PAIR_PARTS_OF_MANY
    parts = PARTS_OF_MANY if len(mains) > MAX_PAIRED else MAIN_PARTS
    if rough:
        parts = min(parts, max(LEAST_PARTS, round(PARTS_BY_ROOT * math.sqrt(classes.sum()))))
    states = [own[:-1].sum(axis=1) for own in mains]
    fine = _bases(layout.columns, states, parts)
    if not layout.pairs:
        return DenseBases(fine, (None,) * len(fine))
    coarse = [column.coarse for column in layout.columns]
    grouped = [
        np.bincount(column.coarse_codes[:-1], own, minlength=column.coarse.n_states).astype(np.float64)
        for column, own in zip(layout.columns, states, strict=True)
    ]
    return DenseBases(fine, _bases(coarse, grouped, most))


def _bases(columns: Sequence[ColumnSchema], rows: Sequence[Array], most: int) -> tuple[Array | None, ...]:
    """`main_effects` of every column; walks of one length at once, since there may be thousands."""
    alike: dict[tuple[int, int], list[int]] = {}
    for number, column in enumerate(columns):
        if column.has_order:
            alike.setdefault((column.n_states, column.gap_state), []).append(number)
    result: list[Array | None] = [None] * len(columns)
    for (n_states, gap_state), numbers in alike.items():
        n_at_once = max(1, ENTRIES_AT_ONCE // n_states**2)
        for first in range(0, len(numbers), n_at_once):
            some = numbers[first : first + n_at_once]
            walks = walk_effects(np.stack([rows[number][: n_states - gap_state] for number in some]), most)
            for number, walk in zip(some, walks, strict=True):
                result[number] = _with_gap_state(walk) if gap_state else walk
    return tuple(result)


def main_effects(column: ColumnSchema, rows: Array, most: int | None = None) -> Array | None:
    """(n_states, n_effects): each state as a sum of effects; `rows` (n_states,) are in each; `most` of a walk.

    None where every state has an effect of its own.
    """
    if not column.has_order:
        return None
    steps = walk_effects(rows[: column.n_states - column.gap_state], most)
    return _with_gap_state(steps) if column.gap_state else steps


def _with_gap_state(steps: Array) -> Array:
    """A walk, and one more state with an effect of its own."""
    n_ordered, n_steps = steps.shape
    return np.block([[steps, np.zeros((n_ordered, 1))], [np.zeros((1, n_steps)), np.ones((1, 1))]])


def walk_effects(rows: Array, most: int | None = None) -> Array:
    """(..., n, n - 1 or `most`): a random walk along n states, in variables that the rows (..., n) hardly tie together.

    The walk is beta = T u, T the states by the steps up to them, with a penalty on u^2. A constant added to a column of
    T is taken back by the free intercept, and turning u by an orthogonal matrix leaves the penalty as it is. So with
    the columns centred by the rows and turned to the eigenvectors of T^T diag(rows) T it is the same model under the
    same prior, but in the Hessian the effects are apart from each other and from the intercept: L-BFGS takes a third
    of the passes. The last columns are the smoothest and vary most over the rows; `most` keeps only those. Many states
    that are about as frequent are turned as equally frequent ones, which takes no time.
    """
    n = rows.shape[-1]
    first = 0 if most is None else max(0, n - 1 - most)
    turned = np.empty((*rows.shape, n - 1 - first))
    even = (rows.max(axis=-1) * n <= EVEN * rows.sum(axis=-1)) & (n > FEW_STATES)
    if even.any():
        turned[even] = _even_walk(n)[:, first:]
    if not even.all():
        turned[~even] = _turned(rows[~even])[..., first:]
    return turned - shares_of(rows)[..., np.newaxis, :] @ turned


@lru_cache(maxsize=256)
def _even_walk(n_states: int) -> Array:
    return _turned(np.ones(n_states))


def _turned(rows: Array) -> Array:
    """(..., n, n - 1) for rows (..., n)."""
    steps = np.tri(rows.shape[-1])[:, 1:]  # the first state is the reference
    steps = steps - shares_of(rows)[..., np.newaxis, :] @ steps
    turn = np.linalg.eigh((steps.swapaxes(-1, -2) * rows[..., np.newaxis, :]) @ steps)[1]
    turned: Array = np.sqrt(step_variance(rows.shape[-1])) * steps @ turn
    return turned


def step_variance(n_states: int) -> float:
    """Of a step of a walk along so many states, in units of 1 / strength."""
    return min(1.0, FULL_STEPS / max(1, n_states - 1))


def _sparse(basis: Array | None, n_states: int) -> sparse.csr_array:
    return sparse.eye_array(n_states, format="csr") if basis is None else sparse.csr_array(basis)


def shares_of(rows: Array, otherwise: Array | None = None) -> Array:
    """Rows as shares of their sum along the last axis; where there is none, `otherwise`, equal shares by default."""
    total = rows.sum(axis=-1, keepdims=True)
    if otherwise is None:
        otherwise = np.full(rows.shape[-1], 1.0 / rows.shape[-1])
    return np.where(total > 0, rows / np.maximum(total, np.finfo(np.float64).tiny), otherwise)
