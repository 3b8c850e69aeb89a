"""Numbers cut into bins beside the classifiers, as papers did: on all rows, or on rows that were not to be seen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import xlogy

from experiments.studies.data_sets import Labels
from tanager.arrays import RowNumbers
from tanager.table.discretizer import Cutter, Discretizer, mdl_cuts
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.training_table import read_training
from tanager.table.value_counts import ValueCounts, midpoints, rank_sorted


def cut_numbers(X: pa.Table, y: Labels, rows: RowNumbers, cutter: Cutter) -> pa.Table:
    """The table with its numbers as names of bins, the cuts learnt on `rows`; gaps stay gaps."""
    part = read_training(X.take(rows), y[rows], None)
    schema = learn_schema(part.table, part.target, part.class_codes, None, Discretizer(cutter))
    codes = TableEncoder(schema).encode(read_columns(X))
    for position, column in enumerate(schema.attributes):
        if column.kind == "numeric":
            names = pa.array(map(str, column.states))
            indices = pa.array(codes[:, position], pa.int32(), mask=codes[:, position] == column.missing_code)
            X = X.set_column(position, column.name, names.take(indices))
    return X


def two_bins_or_more(counts: ValueCounts, n_classes: int) -> NDArray[np.float64]:
    """Fayyad and Irani's cuts, but the first one is made even if it does not pay."""
    ranks, values = rank_sorted(counts.values)
    if values.size < 2:
        return np.empty(0)
    table = np.zeros((values.size, n_classes))
    np.add.at(table, (ranks, counts.classes), counts.weights)
    left = table.cumsum(axis=0)[:-1]
    right = table.sum(axis=0) - left
    # N1 E1 + N2 E2, the rows' entropy left by each cut.
    entropy = sum(xlogy(n := part.sum(axis=1), n) - xlogy(part, part).sum(axis=1) for part in (left, right))
    place = int(np.argmin(entropy))
    cut = midpoints(values[place : place + 1], values[place + 1 : place + 2])
    below = counts.values < cut
    return np.concatenate([_cuts_of(counts, below, n_classes), cut, _cuts_of(counts, ~below, n_classes)])


def _cuts_of(counts: ValueCounts, chosen: NDArray[np.bool_], n_classes: int) -> NDArray[np.float64]:
    weights = counts.weights[chosen]
    n_rows = round(counts.n_rows * weights.sum() / counts.weights.sum())
    return mdl_cuts(ValueCounts(counts.values[chosen], counts.classes[chosen], weights, n_rows), n_classes)
