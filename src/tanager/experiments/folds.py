"""Which rows train and which test: the splits of a comparison, the same for every classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from tanager.errors import DataError, DataWarning, OptionError
from tanager.experiments.data_sets import SetDescription
from tanager.experiments.metrics import Labels, Rows

Fold = tuple[Rows, Rows]
"""Row numbers to train on and to test on."""


class Split(Protocol):
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
    """Stratified k-fold cross-validation. With `given`, a set that brings a split of its own keeps to it.

    `holdouts` names sets that are split once, at random and stratified, into so many training and test rows.
    """

    n_folds: int = 5
    given: bool = False
    holdouts: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, data_set: SetDescription) -> int:
        once = data_set.name in self.holdouts or (self.given and data_set.n_train is not None)
        return 1 if once else self.n_folds

    def train_rows(self, data_set: SetDescription) -> float:
        if data_set.name in self.holdouts:
            return self.holdouts[data_set.name][0]
        if self.given and data_set.n_train is not None:
            return data_set.n_train
        return data_set.n_rows * (1 - 1 / self.n_folds)

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        if data_set.name in self.holdouts:
            n_train, n_test = self.holdouts[data_set.name]
            cut = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=seed)
            return list(cut.split(y, y))
        if self.given and data_set.n_train is not None:
            return [(np.arange(data_set.n_train), np.arange(data_set.n_train, len(y)))]
        return stratified_folds(y, self.n_folds, seed)


@dataclass(frozen=True)
class RandomSplits:
    """Independent random splits, not stratified, with `train_share` of the rows to train on (Roos et al. 2005)."""

    n_splits: int = 20
    train_share: float = 0.8

    def count(self, data_set: SetDescription) -> int:
        return self.n_splits

    def train_rows(self, data_set: SetDescription) -> float:
        return self.train_share * data_set.n_rows

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        orders = [np.random.default_rng([seed, number]).permutation(len(y)) for number in range(self.n_splits)]
        n_train = round(self.train_share * len(y))
        return [(np.sort(order[:n_train]), np.sort(order[n_train:])) for order in orders]


@dataclass(frozen=True)
class TrainingRows:
    """Every row trains and tests: how well a classifier fits, not how well it predicts."""

    def count(self, data_set: SetDescription) -> int:
        return 1

    def train_rows(self, data_set: SetDescription) -> float:
        return data_set.n_rows

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        return [(np.arange(len(y)), np.arange(len(y)))]


def stratified_folds(y: Labels, n_folds: int, seed: int) -> list[Fold]:
    """Each row tests once; the classes are spread evenly over the folds."""
    if n_folds < 2:
        raise OptionError(f"folds={n_folds} leaves nothing to test on; expected at least 2.")
    codes, sizes = np.unique(y, return_inverse=True)[1], np.unique(y, return_counts=True)[1]
    if n_folds > sizes.max():
        raise DataError(f"every class has fewer rows than the {n_folds} folds: the largest has {sizes.max()}.")
    if n_folds > sizes.min():
        warnings.warn(
            f"a class has only {sizes.min()} rows, fewer than the {n_folds} folds: some folds are without it.",
            DataWarning,
            stacklevel=2,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's words for the same
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes))
