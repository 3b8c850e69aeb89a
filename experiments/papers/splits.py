"""Splits that only papers use: random ones, one of given sizes, and none at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from experiments.studies.data_sets import Labels, SetDescription
from experiments.studies.protocol import KFold
from tanager.evaluate.cross_validate import Fold


@dataclass(frozen=True)
class KFoldOrHoldout(KFold):
    """Folds, but `holdouts` names sets split once, at random and stratified, into so many training and test rows."""

    holdouts: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, data_set: SetDescription) -> int:
        return 1 if data_set.name in self.holdouts else super().count(data_set)

    def train_rows(self, data_set: SetDescription) -> float:
        return self.holdouts[data_set.name][0] if data_set.name in self.holdouts else super().train_rows(data_set)

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        if data_set.name not in self.holdouts:
            return super().folds(data_set, y, seed)
        n_train, n_test = self.holdouts[data_set.name]
        return list(StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=seed).split(y, y))


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
class Trials:
    """Random orders of the rows: the first `n_train` of the set train, the last `n_test` test.

    Sets that differ in `n_train` alone have the same test rows, and more training rows hold the fewer.
    """

    n_trials: int
    n_test: int

    def count(self, data_set: SetDescription) -> int:
        return self.n_trials

    def train_rows(self, data_set: SetDescription) -> float:
        return data_set.n_train or 0

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        orders = [np.random.default_rng([seed, trial]).permutation(len(y)) for trial in range(self.n_trials)]
        return [(np.sort(order[: data_set.n_train]), np.sort(order[-self.n_test :])) for order in orders]


@dataclass(frozen=True)
class TrainingRows:
    """Every row trains and tests: how well a classifier fits, not how well it predicts."""

    def count(self, data_set: SetDescription) -> int:
        return 1

    def train_rows(self, data_set: SetDescription) -> float:
        return data_set.n_rows

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        return [(np.arange(len(y)), np.arange(len(y)))]
