"""Sum nodes out one after another with the rows as an array axis: the reference, and the quick way for few rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from tanager.arrays import Array, Flags, Ints
from tanager.network.inference.elimination_plan import EliminationPlan, PlacedFamily
from tanager.network.inference.evidence_rows import PlaceCodes

Allow = Callable[[Sequence[int], int], None]


@dataclass(frozen=True)
class Factor:
    """Logarithms of a function of `places` (ascending), an axis each after that of the rows (which may be 1 long)."""

    places: tuple[int, ...]
    values: Array

    def over(self, places: Sequence[int]) -> Array:
        """The values with an axis for each of more places, to broadcast."""
        lengths = iter(self.values.shape[1:])
        return self.values.reshape([len(self.values), *(next(lengths) if p in self.places else 1 for p in places)])


@dataclass(frozen=True)
class Clique:
    """The factors that hold the first of its places, multiplied; `message` is their sum over that place."""

    joint: Factor
    message: Factor


class RowElimination:
    """The nodes unobserved in some row of a block, summed out in the order of the plan.

    codes     (n_rows, n_places), places as in the plan; a code beyond the states is missing
    tables    all tables in logarithms, flat
    allow     called before a table is made, with its places and the bytes of all tables so far
    best      take the largest instead of the sum: the most probable state
    complete  keep the nodes that sum to one (barren), as counts and the most probable state need

    A node that is present in every row of the block is looked up, and needs no axis. One that is present in some has
    a mask: 0 at its state, -infinity elsewhere.
    """

    def __init__(
        self,
        plan: EliminationPlan,
        codes: PlaceCodes,
        tables: Array,
        allow: Allow,
        best: bool = False,
        complete: bool = False,
    ) -> None:
        self._plan = plan
        self._codes = codes
        self._allow = allow
        self._reduce = np.max if best else log_sum
        missing: Flags = codes >= np.array(plan.n_states, dtype=np.int32)
        self._open = np.asarray(missing.any(axis=0))
        self._open[plan.n_summed : plan.n_open] = True  # the query keeps its axes
        self._waiting: dict[int, list[Factor]] = {place: [] for place in np.flatnonzero(self._open).tolist()}
        self._constant = np.zeros(len(codes))
        self._cliques: dict[int, Clique] = {}
        self._n_bytes = 0
        self._mask(missing)
        self._look_up(tables, np.asarray(missing.all(axis=0)), complete or best)
        self._sum_out()

    def query(self) -> Array:
        """log P(query, cells present): (n_rows, states of each query node), axes in the order asked."""
        places = range(self._plan.n_summed, self._plan.n_open)
        factors = [factor for place in places for factor in self._waiting[place]]
        constant = Factor((), self._constant)
        return self._multiply([constant, *factors], tuple(places)).values

    def expect(self, weights: Array, places: Sequence[int], counts: Array) -> tuple[Array, Array]:
        """log P(cells present) and P(place | cells present) of some places, side by side; made with `complete`.

        counts  laid out as the tables; P(family's cell | row) times the row's weight is added. Empty: not asked for.

        A row that is impossible adds nothing.
        """
        beliefs = self._beliefs()
        if counts.size:
            possible = np.where(self._constant > -np.inf, weights, 0.0)
            for family in self._plan.families:
                self._add_counts(family, beliefs, possible, counts)
        columns = [self._posterior(beliefs, place) for place in places]
        return self._constant, np.concatenate([np.empty((len(self._codes), 0)), *columns], axis=1)

    def best(self) -> tuple[PlaceCodes, Array]:
        """The most probable state of every place, the first of equally probable ones, and its log probability."""
        codes = np.array(self._codes)
        rows = np.arange(len(codes))
        for place, clique in reversed(self._cliques.items()):
            joint = np.broadcast_to(clique.joint.values, (len(codes), *clique.joint.values.shape[1:]))
            rest = (codes[:, other] for other in clique.message.places)
            codes[:, place] = np.moveaxis(joint, 1, -1)[(rows, *rest)].argmax(axis=1)
        return codes, self._constant

    def _beliefs(self) -> dict[int, Array]:
        """P(clique | cells present) by its first place, (n_rows or 1, axes).

        P(place, rest | evidence) = P(rest | evidence) P(place, rest, evidence) / sum over the place of it.
        """
        beliefs: dict[int, Array] = {}
        for place, clique in reversed(self._cliques.items()):
            rest = clique.message.places
            message = clique.message.values[:, np.newaxis]
            with np.errstate(invalid="ignore"):
                conditional = np.where(message > -np.inf, np.exp(clique.joint.values - message), 0.0)
            beliefs[place] = conditional * self._marginal(beliefs, rest)[:, np.newaxis]
        return beliefs

    def _posterior(self, beliefs: dict[int, Array], place: int) -> Array:
        if self._open[place]:
            return np.broadcast_to(self._marginal(beliefs, (place,)), (len(self._codes), self._plan.n_states[place]))
        return np.eye(self._plan.n_states[place])[self._codes[:, place]]

    def _add_counts(self, family: PlacedFamily, beliefs: dict[int, Array], weights: Array, counts: Array) -> None:
        members = tuple(place for place in family.places if self._open[place])
        shares = self._marginal(beliefs, members)
        shares = shares.reshape(len(shares), -1) * weights[:, np.newaxis]
        size = prod(self._plan.n_states[place] for place in family.places)
        cells = np.broadcast_to(self._cells(family, members) - family.offset, shares.shape)
        counts[family.offset : family.offset + size] += np.bincount(cells.ravel(), shares.ravel(), minlength=size)

    def _mask(self, missing: Flags) -> None:
        for place, factors in self._waiting.items():
            if not missing[:, place].all():
                states = np.arange(self._plan.n_states[place])
                fits = missing[:, place, np.newaxis] | (self._codes[:, place, np.newaxis] == states)
                factors.append(Factor((place,), np.where(fits, 0.0, -np.inf)))

    def _look_up(self, tables: Array, unseen: Flags, complete: bool) -> None:
        """Enter the families. Children come before parents, so an unseen child that nothing has used is barren."""
        used = np.zeros(len(unseen), dtype=bool)
        used[self._plan.n_summed : self._plan.n_open] = True
        used |= complete
        for family in self._plan.families:
            if unseen[family.child] and not used[family.child]:
                continue
            used[list(family.places)] = True
            members = tuple(place for place in family.places if self._open[place])
            values = tables[self._cells(family, members)]
            factor = Factor(members, values.reshape(-1, *(self._plan.n_states[place] for place in members)))
            self._wait(factor)

    def _cells(self, family: PlacedFamily, members: Sequence[int]) -> Ints:
        """(n_rows or 1, cells) positions in the tables: the codes of the members present, every state of the others."""
        steps = dict(zip(family.places, family.steps, strict=True))
        present = [place for place in family.places if not self._open[place]]
        base = self._codes[:, present] @ np.array([steps[place] for place in present], dtype=np.int64)
        states = (np.arange(self._plan.n_states[place]) * steps[place] for place in members)
        free = reduce(np.add.outer, states, np.zeros((), np.int64)).reshape(-1)
        cells: Ints = (base[:, np.newaxis] if present else np.zeros((1, 1), np.int64)) + free + family.offset
        return cells

    def _sum_out(self) -> None:
        for place in range(self._plan.n_summed):
            factors = self._waiting.get(place)
            if factors:
                places = tuple(sorted({p for factor in factors for p in factor.places}))
                joint = self._multiply(factors, places)
                message = Factor(places[1:], self._reduce(joint.values, axis=1))
                self._cliques[place] = Clique(joint, message)
                self._wait(message)

    def _wait(self, factor: Factor) -> None:
        if factor.places:
            self._waiting[factor.places[0]].append(factor)
        else:
            self._constant += factor.values

    def _multiply(self, factors: Sequence[Factor], places: tuple[int, ...]) -> Factor:
        n_rows = max(len(factor.values) for factor in factors)
        sizes = [self._plan.n_states[place] for place in places]
        self._n_bytes += 8 * n_rows * prod(sizes)
        self._allow(places, self._n_bytes)
        product = np.zeros([n_rows, *sizes])
        for factor in factors:
            product += factor.over(places)
        return Factor(places, product)

    def _marginal(self, beliefs: dict[int, Array], places: Sequence[int]) -> Array:
        """P(places | cells present): the belief of the clique of the first, summed over its other places."""
        if not places:
            return np.ones(1)
        clique = self._cliques[places[0]].joint.places
        belief = beliefs[places[0]]
        total: Array = belief.sum(axis=tuple(k for k, place in enumerate(clique, start=1) if place not in places))
        return total


def log_sum(values: Array, axis: int | tuple[int, ...]) -> Array:
    """log sum exp along an axis or several; -infinity where all are."""
    highest = values.max(axis=axis, keepdims=True)
    shift = np.where(highest > -np.inf, highest, 0.0)
    with np.errstate(divide="ignore"):
        total: Array = np.log(np.exp(values - shift).sum(axis=axis)) + np.squeeze(shift, axis)
    return total
