"""Splits: the rows that train and test."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.papers.splits import KFoldOrHoldout, RandomSplits, TrainingRows
from experiments.studies.data_sets import SetDescription
from experiments.studies.protocol import KFold
from tanager.errors import DataError, OptionError
from tanager.evaluate.cross_validate import stratified_folds

Y = np.array(["a"] * 30 + ["b"] * 20)
PLAIN, SPLIT = SetDescription("plain", n_rows=50), SetDescription("split", n_rows=50, n_train=35)
HOLDOUT = KFoldOrHoldout(5, given=True, holdouts={"plain": (10, 20)})
SPLITS = [KFold(4), KFold(5, given=True), HOLDOUT, RandomSplits(3), TrainingRows()]


@pytest.mark.parametrize("split", SPLITS, ids=str)
@pytest.mark.parametrize("data_set", [PLAIN, SPLIT], ids=["plain", "split"])
def test_a_split_has_as_many_folds_and_training_rows_as_it_plans_and_repeats_by_seed(split, data_set):
    folds = split.folds(data_set, Y, seed=3)
    assert len(folds) == split.count(data_set)
    for (train, test), (again, _) in zip(folds, split.folds(data_set, Y, seed=3), strict=True):
        assert len(train) == pytest.approx(split.train_rows(data_set), abs=1)
        assert not isinstance(split, TrainingRows) ^ (set(train) == set(test))
        np.testing.assert_array_equal(train, again)


def test_a_split_that_a_set_brings_is_kept_to():
    ((train, test),) = KFold(5, given=True).folds(SPLIT, Y, seed=0)
    np.testing.assert_array_equal(train, np.arange(35))
    np.testing.assert_array_equal(test, np.arange(35, 50))


def test_folds_that_cannot_be_made_are_refused():
    with pytest.raises(OptionError, match="at least 2"):
        stratified_folds(Y, 1, seed=0)
    with pytest.raises(DataError, match="fewer rows than the 31 folds"):
        stratified_folds(Y, 31, seed=0)


def test_a_holdout_has_the_sizes_asked_for_and_is_stratified():
    ((train, test),) = HOLDOUT.folds(PLAIN, Y, seed=0)
    assert ((Y[train] == "a").sum(), len(train), len(test)) == (6, 10, 20)
    assert not set(train) & set(test)
