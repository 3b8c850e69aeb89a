"""The compiled way to sum nodes out: a plan as arrays, and scratch memory that grows only as rows need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain

import numpy as np

from tanager.arrays import Array, Ints
from tanager.network.inference.elimination_plan import EliminationPlan
from tanager.network.inference.evidence_rows import PlaceCodes
from tanager.network.inference.junction_kernels import FAMILY, MEMBER, NONE, PLACE, Records, expect_rows, sum_rows
from tanager.network.inference.row_elimination import Allow

FIRST_CAPACITY = 1 << 14
BYTES_PER_CELL = 16  # a number and its position
Progress = tuple[int, int, int]


class CompiledElimination:
    """Same answers as `RowElimination`, row by row; `allow` is asked before a row's cliques get their memory."""

    def __init__(self, plan: EliminationPlan, allow: Allow) -> None:
        self._plan = plan
        self._allow = allow
        self._structure = _structure(plan)

    def query(self, codes: PlaceCodes, tables: Array) -> Array:
        """See `RowElimination.query`: (n_rows, states of the query node, or 1 without one)."""
        query = self._plan.n_summed if self._plan.n_summed < self._plan.n_open else NONE
        out = np.empty((len(codes), 1 if query == NONE else self._plan.n_states[query]))

        def sum_from(first: int, capacity: int) -> Progress:
            return sum_rows(first, codes, query, *self._structure, tables, capacity, out)

        self._run(codes, sum_from)
        return out

    def expect(
        self, codes: PlaceCodes, tables: Array, weights: Array, places: Sequence[int], counts: Array
    ) -> tuple[Array, Array]:
        """See `RowElimination.expect`."""
        sizes = [self._plan.n_states[place] for place in places]
        wanted = np.full(len(self._plan.nodes), NONE)
        wanted[list(places)] = [0, *accumulate(sizes)][:-1]
        log_evidence, posteriors = np.empty(len(codes)), np.zeros((len(codes), sum(sizes)))

        def expect_from(first: int, capacity: int) -> Progress:
            results = log_evidence, wanted, posteriors, counts
            return expect_rows(first, codes, weights, *self._structure, tables, capacity, *results)

        self._run(codes, expect_from)
        return log_evidence, posteriors

    def _run(self, codes: PlaceCodes, go_on: Callable[[int, int], Progress]) -> None:
        """Call a kernel until it reaches the last row, each time with the memory the row it stopped at needs."""
        capacity, first = FIRST_CAPACITY, 0
        while True:
            first, needed, place = go_on(first, capacity)
            if first == len(codes):
                return
            clique = (place, *self._plan.later[place])
            self._allow([p for p in clique if codes[first, p] >= self._plan.n_states[p]], BYTES_PER_CELL * needed)
            capacity = max(2 * capacity, needed)


def _structure(plan: EliminationPlan) -> tuple[Records, Records, Records, Ints, Ints]:
    """places, families, members, touching and later, as `junction_kernels` has them."""
    members = [
        (family, place, step)
        for family, placed in enumerate(plan.families)
        for place, step in zip(placed.places, placed.steps, strict=True)
    ]
    by_place = sorted((place, family) for family, place, _ in members)
    places = np.zeros(len(plan.nodes), dtype=PLACE)
    places["n_states"] = plan.n_states
    places["vector_start"], _ = _ends(plan.n_states)
    places["later_start"][: plan.n_open], places["later_end"][: plan.n_open] = _ends([*map(len, plan.later)])
    held = np.bincount([place for place, _ in by_place], minlength=len(places))
    places["touching_start"], places["touching_end"] = _ends(held.tolist())
    families = np.zeros(len(plan.families), dtype=FAMILY)
    families["first_member"], families["last_member"] = _ends([len(family.places) for family in plan.families])
    families["offset"] = [family.offset for family in plan.families]
    families["child"] = [family.child for family in plan.families]
    families["row"] = NONE
    return (
        places,
        families,
        np.array([(place, step) for _, place, step in members], dtype=MEMBER),
        np.array([family for _, family in by_place], dtype=np.int64),
        np.array([*chain(*plan.later)], dtype=np.int64),
    )


def _ends(lengths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Where pieces of these lengths, laid end to end, start and end."""
    ends = [*accumulate(lengths)]
    return [0, *ends[:-1]], ends
