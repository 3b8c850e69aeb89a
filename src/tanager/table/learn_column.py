"""A column's values -> its schema: the same for a table in memory, one that comes in batches, and one on a cluster."""

from __future__ import annotations

from tanager.table.categories import learn_categories
from tanager.table.columns import Column, DictionaryColumn, NumericColumn
from tanager.table.discretizer import Discretizer
from tanager.table.granularity import fine_bins
from tanager.table.schema import ColumnSchema
from tanager.table.value_counts import ValueCounts


def learn_column(
    column: Column, counts: ValueCounts | None, gap_state: bool, discretizer: Discretizer, n_classes: int, n_coarse: int
) -> ColumnSchema:
    """The categories of a column or, where its values are counted by class to be cut, its cut points.

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
