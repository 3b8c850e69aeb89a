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

from tanager.arrays import Codes
from tanager.table.batch import EncodedBatch
from tanager.table.categories import learn_categories
from tanager.table.columns import Column, DictionaryColumn, NumericColumn
from tanager.table.discretizer import Discretizer
from tanager.table.schema import ColumnSchema
from tanager.table.value_counts import ValueCounts, bin_cuts

Places = NDArray[np.intp]

# Fine and coarse bins of a column of n rows: these times n to the power of GROWTH. The width of a bin that estimates a
# curve best shrinks about as slowly with n (n^(-1/5) to n^(-1/3)); 1,000 rows have 64 fine bins and 16 coarse ones.
FINE, COARSE = 16, 4
GROWTH = 0.2


def learn_column(
    column: Column, counts: ValueCounts | None, gap_state: bool, discretizer: Discretizer, n_classes: int, fine: bool
) -> ColumnSchema:
    """The categories of a column or, where its values are counted by class to be cut, its cut points.

    The same for a table in memory, one that comes in batches, and one on a cluster.

    column     all cells, or every distinct value once
    counts     None for a column of categories
    gap_state  a gap is a state of its own
    fine       numbers have two granularities (`fine_bins`), not the discretiser's cuts alone
    """
    if counts is None:
        ordered = isinstance(column, DictionaryColumn) and column.ordered
        categories = learn_categories(column)
        return ColumnSchema(column.name, "categorical", categories, gap_state=gap_state, ordered=ordered)
    assert isinstance(column, NumericColumn)
    cuts = discretizer(counts, n_classes)
    groups: tuple[int, ...] = ()
    if fine:
        cuts, groups = fine_bins(cuts, counts)
    bins = tuple(cuts.tolist())
    return ColumnSchema(column.name, "numeric", cuts=bins, unit=column.unit, gap_state=gap_state, groups=groups)


def n_bins(n_rows: int) -> tuple[int, int]:
    """How many fine and how many coarse bins a column has that holds a value in so many rows."""
    return round(FINE * n_rows**GROWTH), round(COARSE * n_rows**GROWTH)


def fine_bins(cuts: NDArray[np.float64], counts: ValueCounts) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Cut points of the fine bins, and the coarse bin of each fine one.

    They make `n_bins` bins of equal weight where values allow (`bin_cuts`). The coarse bins are also cut where the
    discretiser cuts, and the fine ones where the coarse are.
    """
    n_fine, n_coarse = n_bins(counts.n_rows)
    coarse = np.union1d(bin_cuts(counts, n_coarse), cuts)
    fine = np.union1d(bin_cuts(counts, n_fine), coarse)
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


def states_of_both(columns: Sequence[ColumnSchema], n_classes: int) -> tuple[int, ...]:
    """States of each column of rows at both granularities, then of the class."""
    fine = (column.n_states for column in columns if column.groups)
    return (*(column.coarse.n_states for column in columns), *fine, n_classes)


def write_coarse(codes: Codes, columns: Sequence[ColumnSchema]) -> None:
    """Fill in the coarse columns from the fine ones."""
    for attribute, place in enumerate(fine_places(columns).tolist()):
        if place != attribute:
            np.take(columns[attribute].coarse_codes.astype(codes.dtype), codes[:, place], out=codes[:, attribute])
