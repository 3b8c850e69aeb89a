"""Ranking of pairs of attributes by their information about the class beyond that of each attribute alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np

from tanager.additive.bases import Pairs
from tanager.arrays import Flags
from tanager.counts.count_store import CountStore
from tanager.counts.engine import AutoEngine
from tanager.scores.information import class_information, pair_information
from tanager.structure.family_terms import SMALLEST_INFORMATION, level
from tanager.table.rows import EncodedBatch
from tanager.table.schema import ColumnSchema

# Tables of more cells than rows have a column that nearly names rows, and are not counted; so many are always allowed.
FEW_CELLS = 1_024
# Pairs are looked for among so many attributes that are most informative of the class: counting grows with the square.
# A tree may split on as many, drawn at random.
MAX_PAIRED = 300


def rank_pairs(rows: EncodedBatch, columns: Sequence[ColumnSchema], most: int, allowed: Flags | None = None) -> Pairs:
    """The best pairs by the counts of these rows, at most so many: in turn the best by the interaction information
    I(C; X; Y) and by the conditional one I(X; Y | C), which also finds neighbours in a sequence.

    rows     at the coarse granularity
    allowed  (n, n) which may be taken; None for any
    """
    n = len(columns)
    if n < 2 or most == 0:
        return ()
    counts = CountStore(rows, AutoEngine(), [*(column.name for column in columns), ""])
    states, most_cells = np.array([column.coarse.n_states for column in columns]), max(FEW_CELLS, rows.n_rows)
    strongest = np.flatnonzero(
        (states > 1) & (states * np.min(states, where=states > 1, initial=most_cells) <= most_cells)
    )
    if len(strongest) > MAX_PAIRED:
        alone = level(class_information(counts), SMALLEST_INFORMATION)[strongest]
        strongest = np.sort(strongest[np.argsort(-alone, kind="stable")[:MAX_PAIRED]])
    if len(strongest) < 2:
        return ()
    counts = counts.of_attributes(strongest.tolist())
    information = pair_information(counts.pairs())
    first, second = np.triu_indices(len(strongest), k=1)
    usable = states[strongest[first]] * states[strongest[second]] <= most_cells
    if allowed is not None:
        usable &= allowed[np.ix_(strongest, strongest)][first, second]
    orders = []
    for values in (information.interaction, information.conditional):
        order = np.argsort(-level(values[first, second], SMALLEST_INFORMATION), kind="stable")
        orders.append(order[usable[order]].tolist())
    best = list(islice(dict.fromkeys(chain.from_iterable(zip(*orders, strict=True))), most))
    return tuple((int(strongest[first[k]]), int(strongest[second[k]])) for k in best)
