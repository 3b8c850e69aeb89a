"""PaperProtocol: what papers did to the rows of a data set before any classifier saw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.papers.cuts import cut_numbers, two_bins_or_more
from experiments.studies.data_sets import DataSet, Labels
from experiments.studies.protocol import Prepared, Protocol
from tanager.errors import DataError
from tanager.table.discretizer import mdl_cuts


@dataclass(frozen=True)
class PaperProtocol(Protocol):
    """What a paper held fixed besides the split.

    drop_incomplete  leave rows with an empty cell out, except in the sets `kept_incomplete`
    removed_share    this share of all cells is emptied at random first, in training and test rows (Zhou 2002, 4.2.3)
    categorical_sets sets whose numbers are categories
    cuts             who decides where numbers are cut into bins: "classifier", each by itself from its training rows;
                     to repeat what papers did: "all rows" before the split, or "test rows" of each fold, with two bins
                     or more for every attribute. Such cuts have seen the answers: no classifier is judged by them
    """

    drop_incomplete: bool = False
    kept_incomplete: tuple[str, ...] = ()
    removed_share: float = 0.0
    categorical_sets: tuple[str, ...] = ()
    cuts: Literal["classifier", "all rows", "test rows"] = "classifier"

    def read(self, data_set: DataSet) -> tuple[pa.Table, Labels]:
        X, y = data_set.read()
        if data_set.name in self.categorical_sets:
            X = pa.table([column.cast(pa.string()) for column in X.columns], names=X.column_names)
        if self.drop_incomplete and data_set.name not in self.kept_incomplete:
            complete = np.ones(len(y), dtype=bool)
            for column in X.columns:
                complete &= column.is_valid().to_numpy()
            if data_set.n_train is not None and not complete.all():
                raise DataError(f"rows of {data_set.name!r} are incomplete; its own split counts rows that would go.")
            X, y = X.filter(pa.array(complete)), y[complete]
        if self.removed_share:
            X = remove_cells(X, self.removed_share, self.seed)
        if self.cuts == "all rows":
            X = cut_numbers(X, y, np.arange(len(y)), mdl_cuts)
        return X, y

    def attributes(self, data: Prepared, fold: int) -> pa.Table:
        if self.cuts == "test rows":
            return cut_numbers(data.X, data.y, data.folds[fold][1], two_bins_or_more)
        return data.X


def remove_cells(X: pa.Table, share: float, seed: int) -> pa.Table:
    """The table with this share of its cells emptied at random."""
    random = np.random.default_rng(seed)
    columns = []
    for column in X.columns:
        removed = pa.array(random.random(X.num_rows) < share)
        columns.append(pc.if_else(removed, pa.scalar(None, column.type), column))
    return pa.table(columns, names=X.column_names)
