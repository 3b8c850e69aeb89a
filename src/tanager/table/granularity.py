"""A column's values -> its schema; and two granularities of numeric columns: coarse bins for pairs, fine ones alone.

In both the bins are ordered and neighbours share strength, so there may be more of them than a plain table could fill.
Rows at both hold every attribute at its coarse granularity, then the fine codes of those that have two. So the coarse
table is the first columns of this one, and no code is held twice. A coarse code follows from the fine one of its
attribute: the fine columns alone tell rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import EncodedBatch
from tanager.table.categories import Codes, learn_categories
from tanager.table.columns import Column, DictionaryColumn, NumericColumn
from tanager.table.discretizer import Discretizer
from tanager.table.schema import ColumnSchema
from tanager.table.value_counts import ValueCounts, bin_cuts

Places = NDArray[np.intp]

# Fine and coarse bins of a column of few rows, and of many: more of them follow a curve more closely, and take longer.
N_FINE, N_FINE_OF_MANY = 64, 120
MOST_COARSE = 16
MANY_ROWS = 3_000
N_COARSE = (24, 16, 8, 4, 2)
# Of the tables of all pairs, for each class: more attributes are cut more coarsely, down to halves.
MOST_CELLS = 1 << 22
# Pairs are looked for among so many attributes that tell most about the class.
MAX_PAIRED = 300


def learn_column(
    column: Column, counts: ValueCounts | None, gap_state: bool, discretizer: Discretizer, n_classes: int, n_coarse: int
) -> ColumnSchema:
    """The categories of a column or, where its values are counted by class to be cut, its cut points.

    The same for a table in memory, one that comes in batches, and one on a cluster.

    column     all cells, or every distinct value once
    counts     None for a column of categories
    gap_state  a gap is a state of its own
    n_coarse   that of `fine_bins`
    """
    if counts is None:
        ordered = isinstance(column, DictionaryColumn) and column.ordered
        categories = learn_categories(column)
        return ColumnSchema(column.name, "categorical", categories, gap_state=gap_state, ordered=ordered)
    assert isinstance(column, NumericColumn)
    cuts, groups = fine_bins(discretizer(counts, n_classes), counts, n_coarse)
    bins = tuple(cuts.tolist())
    return ColumnSchema(column.name, "numeric", cuts=bins, unit=column.unit, gap_state=gap_state, groups=groups)


def n_coarse_bins(n_attributes: int, fine: bool) -> int:
    """How many bins of equal weight the coarse ones are made of, beside the discretiser's cuts; 0 without `fine`."""
    if not fine:
        return 0
    n_paired = min(n_attributes, MAX_PAIRED)
    n_pairs = n_paired * (n_paired - 1) // 2
    return next((n_bins for n_bins in N_COARSE if n_pairs * n_bins**2 <= MOST_CELLS), N_COARSE[-1])


def fine_bins(
    cuts: NDArray[np.float64], counts: ValueCounts, n_coarse: int
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Cut points of the fine bins, and the coarse bin of each fine one.

    They make so many bins of equal weight where values allow (`bin_cuts`), and the discretiser's cuts: N_FINE and at
    most MOST_COARSE for few rows, N_FINE_OF_MANY and n_coarse for many. With n_coarse = 0 there is one
    granularity, the discretiser's.
    """
    if n_coarse == 0:
        return cuts, ()
    many = counts.weights.sum() >= MANY_ROWS
    coarse = np.union1d(bin_cuts(counts, n_coarse if many else min(n_coarse, MOST_COARSE)), cuts)
    fine = np.union1d(bin_cuts(counts, N_FINE_OF_MANY if many else N_FINE), coarse)
    # Fine bin k > 0 begins at cut k - 1, and lies in the coarse bin that has as many coarse cuts at or below it.
    groups = [0, *np.searchsorted(coarse, fine, side="right").tolist()]
    return fine, tuple(groups) if fine.size else ()


def fine_places(columns: Sequence[ColumnSchema]) -> Places:
    """(n_attributes,) the column that holds each attribute at its fine granularity."""
    grouped = np.array([bool(column.groups) for column in columns], dtype=bool)
    return np.where(grouped, len(columns) + np.cumsum(grouped) - 1, np.arange(len(columns)))


def fine_codes(rows: EncodedBatch, columns: Sequence[ColumnSchema]) -> Codes:
    """(n_rows, n_attributes) the codes of rows at both granularities, at the fine one alone."""
    return rows.codes[:, fine_places(columns)]


def n_codes(columns: Sequence[ColumnSchema]) -> NDArray[np.int64]:
    """(n_attributes,) how many fine codes there are, that of a missing cell too."""
    return np.array([column.n_states + 1 for column in columns])


def states_of_both(columns: Sequence[ColumnSchema], n_classes: int) -> tuple[int, ...]:
    """States of each column of rows at both granularities, then of the class."""
    fine = (column.n_states for column in columns if column.groups)
    return (*(column.coarse.n_states for column in columns), *fine, n_classes)


def write_coarse(codes: Codes, columns: Sequence[ColumnSchema]) -> None:
    """Fill in the coarse columns from the fine ones."""
    for attribute, place in enumerate(fine_places(columns).tolist()):
        if place != attribute:
            np.take(columns[attribute].coarse_codes.astype(codes.dtype), codes[:, place], out=codes[:, attribute])
