"""How strongly the columns of a table go together, two by two."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.report.json_page import Json, number
from tanager.table.schema import ColumnSchema

MAX_COLUMNS = 100
"""Of more, those that are given first: the strongest."""
MAX_ROWS = 5_000
MAX_LISTED = 15
FEWEST_IN_STATE = 10
WEAKEST = 0.2
"""Cramér's V below which an association is not listed."""

Counts = NDArray[np.float64]


def describe_associations(columns: tuple[ColumnSchema, ...], codes: Codes, ranked: list[int]) -> list[Json]:
    """[column, column, V] of the strongest, with Cramér's V corrected for chance, by coarse states of rows with both.

    States of fewer than FEWEST_IN_STATE such rows are left out: two columns that one row alone has go together exactly.
    `ranked` are the columns, the most important first.
    """
    rows = codes[:: max(1, -(-len(codes) // MAX_ROWS))].astype(np.intp)
    kept = sorted(ranked[:MAX_COLUMNS])
    coarse = {k: columns[k].coarse_codes[rows[:, k]] for k in kept}
    found = []
    for one, other in combinations(kept, 2):
        shape = columns[one].coarse.n_states + 1, columns[other].coarse.n_states + 1
        counts = np.bincount(coarse[one] * shape[1] + coarse[other], minlength=shape[0] * shape[1]).reshape(shape)
        found.append((cramers_v(_frequent(counts[:-1, :-1].astype(np.float64))), one, other))
    strongest = sorted((each for each in found if each[0] >= WEAKEST), key=lambda each: (-each[0], each[1:]))
    return [[columns[one].name, columns[other].name, number(v, 4)] for v, one, other in strongest[:MAX_LISTED]]


def _frequent(counts: Counts) -> Counts:
    counts = counts[counts.sum(axis=1) >= FEWEST_IN_STATE]
    return counts[:, counts.sum(axis=0) >= FEWEST_IN_STATE]


def cramers_v(counts: Counts) -> float:
    r"""Cramér's V of a table of counts, less what chance alone adds (Bergsma 2013), from 0 to 1.

    phi^2 = max(0, chi^2 / n - (r - 1)(c - 1) / (n - 1)), r' = r - (r - 1)^2 / (n - 1), c' likewise, and
    V = sqrt(phi^2 / min(r' - 1, c' - 1)); rows and columns without a count are left out.
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, (r, c) = counts.sum(), counts.shape
    if r < 2 or c < 2 or n < 2:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    phi = max(0.0, float(((counts - expected) ** 2 / expected).sum() / n) - (r - 1) * (c - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1.0
    return float(min(1.0, np.sqrt(phi / smaller))) if smaller > 0 else 0.0
