"""Protocol: how the rows of every data set are read and split into training and test rows, the same for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from typing import Protocol as Role

import numpy as np
import pyarrow as pa

from experiments.studies.data_sets import DataSet, Labels, SetDescription
from tanager.errors import DataError
from tanager.evaluate.cross_validate import Fold, stratified_folds


class Split(Role):
    """How the rows of a data set are split. Work is planned before any data is read: only `folds` needs them."""

    def count(self, data_set: SetDescription) -> int:
        """Number of folds."""
        ...

    def train_rows(self, data_set: SetDescription) -> float:
        """About how many rows a fold trains on; 0 if the set does not say how many it has."""
        ...

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        """The folds of a set with classes y."""
        ...


@dataclass(frozen=True)
class KFold:
    """Stratified k-fold cross-validation. With `given`, a set that brings a split of its own keeps to it."""

    n_folds: int = 5
    given: bool = False

    def count(self, data_set: SetDescription) -> int:
        return self.n_folds if self._given_rows(data_set) is None else 1

    def train_rows(self, data_set: SetDescription) -> float:
        n_train = self._given_rows(data_set)
        return data_set.n_rows * (1 - 1 / self.n_folds) if n_train is None else n_train

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        n_train = self._given_rows(data_set)
        if n_train is None:
            return stratified_folds(y, self.n_folds, seed)
        return [(np.arange(n_train), np.arange(n_train, len(y)))]

    def _given_rows(self, data_set: SetDescription) -> int | None:
        return data_set.n_train if self.given else None


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

    split    which rows train and test
    missing  an empty cell, to ours: "category", a state of its own; "marginalize", summed out
    seed     for the folds and every classifier
    """

    split: Split = field(default_factory=KFold)
    missing: Literal["category", "marginalize"] = "category"
    seed: int = 0

    def prepare(self, data_set: DataSet) -> Prepared:
        """Read a data set by these rules."""
        X, y = self.read(data_set)
        classes = np.unique(y)
        if len(classes) < 2:
            raise DataError(f"the set {data_set.name!r} holds {len(classes)} class(es) in {len(y)} rows.")
        return Prepared(X, y, classes, self.split.folds(data_set, y, self.seed))

    def read(self, data_set: DataSet) -> tuple[pa.Table, Labels]:
        """Attributes and classes of the rows compared on."""
        return data_set.read()

    def attributes(self, data: Prepared, fold: int) -> pa.Table:
        """The attributes of a prepared set as the classifiers of one fold see them."""
        return data.X
