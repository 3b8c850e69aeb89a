"""Effects that never turn back: the log odds of the second class rise, or fall, along an attribute whatever the others
hold.

Going from fine state k to k + 1 of attribute a the log odds change by its main effect's step and by a step of each of
its pairs, which depends on the partner's state. So they never fall for any values of the partners exactly if

    step_a(k) + sum_j min_l step_aj(k, l) >= 0

where a pair has steps only between its coarse states. Steps that obey are a convex cone, and so are effects: their mean
over fits obeys too, and so do they when centred by fixed densities, or with a centred pair left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.additive.model import AdditiveModel
from tanager.parameters.effects.layout import EffectLayout

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MAX_FILLS = 200
# In units of the largest step: what rounding may leave.
ROUNDING = 1e-13


@dataclass(frozen=True)
class _Ordered:
    """A constrained attribute, and where its steps lie.

    attribute, direction  which, and 1 for rising log odds of the second class, -1 for falling ones
    own                   (n_fine,) steps of its main effect
    joint                 (n_coarse,) those of them that lead into another coarse state
    pairs                 for each pair (n_coarse, partner's states) steps
    """

    attribute: int
    direction: int
    own: Index
    joint: Index
    pairs: tuple[Index, ...]


class MonotoneSteps:
    """The steps of a layout's constrained attributes, as an array (n_steps,), and those that obey nearest to it."""

    def __init__(self, layout: EffectLayout, directions: Sequence[int]) -> None:
        """`directions` (n_attributes,) are 1, -1, or 0 for no constraint; there are two classes."""
        self._layout = layout
        low: list[Index] = []
        high: list[Index] = []
        signs: list[Array] = []
        n_steps = 0

        def add(first: Index, last: Index, direction: int) -> Index:
            nonlocal n_steps
            low.append(first.reshape(-1))
            high.append(last.reshape(-1))
            signs.append(np.full(first.size, float(direction)))
            n_steps += first.size
            return np.arange(n_steps - first.size, n_steps).reshape(first.shape)

        self._ordered = []
        for attribute in np.flatnonzero(directions).tolist():
            direction, column = directions[attribute], layout.columns[attribute]
            cells = layout.cells.offsets[attribute] + np.arange(column.n_states - column.gap_state)
            own = add(cells[:-1], cells[1:], direction)
            joint = np.flatnonzero(np.diff(column.coarse_codes[: len(cells)]))
            tables = [add(table[:-1], table[1:], direction) for table in self._tables(attribute)]
            self._ordered.append(_Ordered(attribute, direction, own, own[joint], tuple(tables)))
        each, sign = np.arange(n_steps), np.concatenate([*signs, np.empty(0)])
        places = np.concatenate([*high, *low, np.empty(0, dtype=np.intp)]).astype(np.intp)
        entries = (np.concatenate([sign, -sign]), (np.concatenate([each, each]), places))
        self._matrix = sparse.csr_array(entries, shape=(n_steps, layout.cells.n_cells))
        self._transposed = self._matrix.T.tocsr()
        self.n_steps = n_steps

    def _tables(self, attribute: int) -> Iterator[Index]:
        """(own coarse states less a gap state, partner's) the cells of each pair with an attribute."""
        layout = self._layout
        coarse = [column.coarse for column in layout.columns]
        n_own = coarse[attribute].n_states - coarse[attribute].gap_state
        for number, (parent, child) in enumerate(layout.pairs, len(layout.columns)):
            if attribute in (parent, child):
                shape = coarse[parent].n_states + 1, coarse[child].n_states + 1
                table = layout.cells.offsets[number] + np.arange(shape[0] * shape[1]).reshape(shape)
                yield (table if attribute == parent else table.T)[:n_own, :-1]

    def of(self, beta: Array) -> Array:
        """(n_steps,) of the log odds of the second class, each in its direction, at beta (n_cells, 2)."""
        return np.asarray(self._matrix @ (beta[:, 1] - beta[:, 0]))

    def to_cells(self, slopes: Array) -> Array:
        """Slopes by beta (n_cells, 2), from slopes by the steps."""
        by_odds = self._transposed @ slopes
        return np.stack([-by_odds, by_odds], axis=1)

    def project(self, steps: Array) -> Array:
        """The nearest steps that obey."""
        nearest = steps.copy()
        for ordered in self._ordered:
            nearest[ordered.own] = np.maximum(steps[ordered.own], 0.0)
            if ordered.pairs:
                together = [steps[pair] for pair in ordered.pairs]
                nearest[ordered.joint], raised = _fill(steps[ordered.joint], together)
                for pair, values in zip(ordered.pairs, raised, strict=True):
                    nearest[pair] = values
        return nearest

    def deficit(self, beta: Array) -> float:
        """By how much the log odds turn back in all along an attribute, its partners in their worst states, at most."""
        return max((float(np.maximum(-lowest, 0.0).sum()) for _, lowest in self._lowest(beta)), default=0.0)

    def mend(self, beta: Array) -> Array:
        """Beta with main effects whose steps are larger by what is lacking: obeys but for rounding."""
        mended = beta.copy()
        for ordered, lowest in self._lowest(beta):
            if (lowest < 0.0).any():
                rise = ordered.direction * np.concatenate([[0.0], np.cumsum(np.maximum(-lowest, 0.0))])
                first = self._layout.cells.offsets[ordered.attribute]
                mended[first : first + len(rise)] += np.outer(rise - rise.mean(), [-0.5, 0.5])
        return mended

    def _lowest(self, beta: Array) -> Iterator[tuple[_Ordered, Array]]:
        """(n_fine,) the change of the log odds along each step of an attribute at the worst states of its partners."""
        steps = self.of(beta)
        for ordered in self._ordered:
            lowest = steps[ordered.own]
            for pair in ordered.pairs:
                lowest[ordered.joint - ordered.own[0]] += steps[pair].min(axis=1)
            yield ordered, lowest


def _fill(own: Array, pairs: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The nearest own (n,) and pairs, each (n, partner's states), with own + sum over pairs of their minimum >= 0.

    With a multiplier m >= 0 own rises by m, and in each pair the lowest states rise to a common level by m in all, as
    water does: level(m) = min_k (sum of the k lowest + m) / k. The sum of all rises and is concave in m, so Newton's
    method from m = 0 never oversteps its root, and ends there.
    """
    widest = max(pair.shape[1] for pair in pairs)
    sums = np.full((len(own), len(pairs), widest), np.inf)
    for number, pair in enumerate(pairs):
        sums[:, number, : pair.shape[1]] = np.cumsum(np.sort(pair, axis=1), axis=1)
    places = np.arange(1, widest + 1)
    multiplier = np.zeros(len(own))
    for _ in range(MAX_FILLS):
        levels = (sums + multiplier[:, np.newaxis, np.newaxis]) / places
        k = levels.argmin(axis=2)
        level = np.take_along_axis(levels, k[:, :, np.newaxis], axis=2)[:, :, 0]
        total = own + multiplier + level.sum(axis=1)
        if (total >= -ROUNDING * (1.0 + np.abs(own))).all():
            break
        multiplier = np.where(total < 0.0, multiplier - total / (1.0 + (1.0 / places[k]).sum(axis=1)), multiplier)
    return own + multiplier, [np.maximum(pair, level[:, [number]]) for number, pair in enumerate(pairs)]


def obeys(network: AdditiveModel, directions: Sequence[int]) -> bool:
    """Whether the log odds of the second class never turn back along the constrained attributes."""
    layout = EffectLayout(network.columns[:-1], len(network.intercept), network.pairs)
    tables = [table.reshape(-1, len(network.intercept)) for table in network.tables]
    beta = np.concatenate([*network.mains, *tables, network.intercept[np.newaxis]])
    return MonotoneSteps(layout, directions).deficit(beta) == 0.0
