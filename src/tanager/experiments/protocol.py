"""Protocol: how the rows of every data set are read, spoilt or dropped, and split."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.classifiers.training import read_training
from tanager.errors import DataError
from tanager.experiments.data_sets import DataSet
from tanager.experiments.folds import Fold, KFold, Split
from tanager.experiments.metrics import Labels
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema


@dataclass(frozen=True)
class Prepared:
    """A data set ready for every classifier alike: attributes, classes, and the rows of each fold."""

    X: pa.Table
    y: Labels
    classes: Labels
    folds: list[Fold]


@dataclass(frozen=True)
class Protocol:
    """What a comparison holds fixed.

    split            which rows train and test
    missing          empty cells: "category" makes them a state of their own; "drop" leaves incomplete rows out;
                     "marginalize" leaves them empty, to be summed out
    kept_incomplete  sets whose rows are all kept even with missing="drop"
    removed_share    this share of all cells is emptied at random first, in training and test rows (Zhou 2002, 4.2.3)
    categorical_sets sets whose numbers are categories
    cut_first        numbers are cut into bins on all rows before the split, so that cuts have seen the test rows: only
                     to repeat what a paper may have done
    seed             for the folds, the cells removed and every classifier
    """

    split: Split = field(default_factory=KFold)
    missing: Literal["category", "drop", "marginalize"] = "category"
    kept_incomplete: tuple[str, ...] = ()
    removed_share: float = 0.0
    categorical_sets: tuple[str, ...] = ()
    cut_first: bool = False
    seed: int = 0

    def prepare(self, data_set: DataSet) -> Prepared:
        """Read a data set by these rules."""
        X, y = data_set.read()
        if data_set.name in self.categorical_sets:
            X = pa.table([column.cast(pa.string()) for column in X.columns], names=X.column_names)
        if self.missing == "drop" and data_set.name not in self.kept_incomplete:
            complete = np.ones(len(y), dtype=bool)
            for column in X.columns:
                complete &= column.is_valid().to_numpy()
            if data_set.n_train is not None and not complete.all():
                raise DataError(f"rows of {data_set.name!r} are incomplete; its own split counts rows that would go.")
            X, y = X.filter(pa.array(complete)), y[complete]
        if self.removed_share:
            X = self._remove_cells(X)
        if self.cut_first:
            X = _cut(X, y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise DataError(f"the set {data_set.name!r} holds {len(classes)} class(es) in {len(y)} rows.")
        return Prepared(X, y, classes, self.split.folds(data_set, y, self.seed))

    def _remove_cells(self, X: pa.Table) -> pa.Table:
        random = np.random.default_rng(self.seed)
        columns = []
        for column in X.columns:
            removed = pa.array(random.random(X.num_rows) < self.removed_share)
            columns.append(pc.if_else(removed, pa.scalar(None, column.type), column))
        return pa.table(columns, names=X.column_names)


def _cut(X: pa.Table, y: Labels) -> pa.Table:
    """The table with its numbers as names of MDLP bins; gaps stay gaps."""
    rows = read_training(X, y, None)
    schema = learn_schema(rows.table, rows.target, rows.class_codes, None, choose_discretizer("mdlp"))
    codes = TableEncoder(schema).encode(rows.table)
    for position, column in enumerate(schema.attributes):
        if column.kind == "numeric":
            names = pa.array(map(str, column.states))
            indices = pa.array(codes[:, position], pa.int32(), mask=codes[:, position] == column.missing_code)
            X = X.set_column(position, column.name, names.take(indices))
    return X
