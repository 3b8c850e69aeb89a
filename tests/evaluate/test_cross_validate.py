"""cross_validate_model is cross-validation by hand: of folds, groups, periods, repeats and one part."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, StratifiedShuffleSplit

from cli.iris_table import IRIS, NAMES, SPECIES
from tanager import TANClassifier, cross_validate_model
from tanager.errors import DataError, OptionError
from tanager.evaluate import cross_validate as cross_validation
from tanager.evaluate.cross_validate import later_rows, read_times
from tanager.metrics.basic import measure_intervals

X = pd.DataFrame(IRIS.data, columns=NAMES)
CODES = IRIS.target


@pytest.fixture(scope="module")
def fitted() -> TANClassifier:
    return TANClassifier("bic", parameters="frequency").fit(X, SPECIES)


def by_hand(folds) -> tuple[np.ndarray, np.ndarray]:
    """P(class | row) of the rows of all folds, and these rows, in their order."""
    found, rows = [], []
    for train, test in folds:
        clf = TANClassifier("bic", parameters="frequency").fit(X.iloc[train], SPECIES[train])
        assert clf.classes_.tolist() == IRIS.target_names.tolist()
        found.append(clf.predict_proba(X.iloc[test]))
        rows.append(test)
    order = np.argsort(np.concatenate(rows), kind="stable")
    return np.concatenate(found)[order], np.concatenate(rows)[order]


GROUPS = np.arange(150) % 17
WAYS = {
    "default": ({}, lambda: StratifiedKFold(5, shuffle=True, random_state=0).split(X, CODES)),
    "folds": ({"cv": 3, "random_state": 4}, lambda: StratifiedKFold(3, shuffle=True, random_state=4).split(X, CODES)),
    "repeats": (
        {"cv": 3, "repeats": 2},
        lambda: [
            fold for seed in (0, 1) for fold in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, CODES)
        ],
    ),
    "groups": (
        {"cv": 4, "groups": GROUPS},
        lambda: StratifiedGroupKFold(4, shuffle=True, random_state=0).split(X, CODES, GROUPS),
    ),
}


@pytest.mark.parametrize(("options", "folds"), WAYS.values(), ids=WAYS)
def test_the_quality_is_that_of_cross_validation_by_hand(fitted, options, folds):
    found = cross_validate_model(fitted, X, SPECIES, **options)
    p, rows = by_hand(folds())
    np.testing.assert_array_equal(found.predictions.probabilities, p)
    np.testing.assert_array_equal(found.predictions.class_codes, CODES[rows])
    truth = SPECIES[rows]
    said = IRIS.target_names[p.argmax(axis=1)]
    assert found.measures.accuracy == pytest.approx(metrics.accuracy_score(truth, said))
    assert found.measures.log_loss == pytest.approx(metrics.log_loss(truth, p))
    assert found.measures.auc == pytest.approx(metrics.roc_auc_score(truth, p, multi_class="ovr"))
    np.testing.assert_array_equal(found.confusion, metrics.confusion_matrix(truth, said))
    assert found.base.log_loss == pytest.approx(np.log(3))
    assert found.n_rows == len(rows)


def test_the_folds_of_a_quality_are_those_that_were_dealt(fitted):
    found = cross_validate_model(fitted, X, SPECIES, cv=4)
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, CODES))
    for number, (_, test) in enumerate(folds):
        np.testing.assert_array_equal(np.flatnonzero(found.predictions.folds == number), test)
    mean = np.average([fold.log_loss for fold in found.by_fold()], weights=[len(test) for _, test in folds])
    assert mean == pytest.approx(found.measures.log_loss)


def test_of_a_large_table_one_part_is_held_out_and_the_words_say_so(fitted, monkeypatch):
    monkeypatch.setattr(cross_validation, "MAX_COST_FOR_FOLDS", 3 * 600 - 1)
    found = cross_validate_model(fitted, X, SPECIES, random_state=3)
    ((train, test),) = StratifiedShuffleSplit(1, test_size=30, random_state=3).split(X, CODES)
    p, rows = by_hand([(np.sort(train), np.sort(test))])
    np.testing.assert_array_equal(found.predictions.probabilities, p)
    np.testing.assert_array_equal(found.predictions.class_codes, CODES[rows])
    assert found.split == "one part of 30 rows held out"
    assert cross_validate_model(fitted, X, SPECIES, cv=5).n_rows == 150
    monkeypatch.setattr(cross_validation, "MAX_COST_FOR_FOLDS", 3 * 600)
    assert cross_validate_model(fitted, X, SPECIES).split == "5 folds"


@pytest.mark.parametrize("n_folds", [2, 3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_periods_are_judged_by_all_that_was_before_and_nothing_later(n_folds, seed):
    times = np.random.default_rng(seed).integers(0, 9, 40)
    times[:9] = np.arange(9)
    folds = later_rows(times, n_folds)
    assert len(folds) == n_folds
    for train, test in folds:
        assert len(train)
        assert len(test)
        assert times[train].max() < times[test].min()
        np.testing.assert_array_equal(train, np.flatnonzero(times < times[test].min()))
    judged = np.concatenate([test for _, test in folds])
    assert len(set(judged.tolist())) == len(judged)
    np.testing.assert_array_equal(np.sort(judged), np.flatnonzero(times >= times[folds[0][1]].min()))


def test_periods_of_equally_many_rows_are_cut_where_all_times_differ():
    folds = later_rows(np.arange(60)[::-1], 5)
    assert [len(test) for _, test in folds] == [10] * 5
    assert [len(train) for train, _ in folds] == [10, 20, 30, 40, 50]


def test_dates_are_ordered_as_their_days_are():
    days = [datetime.date(2024, 1, 31), datetime.date(2023, 12, 1), datetime.date(2024, 1, 31)]
    for given in (days, pa.array(days), pd.Series(pd.to_datetime(days)), [day.toordinal() for day in days]):
        assert read_times(given).tolist() == [2, 1, 2]


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_the_bootstrap_draws_whole_groups(fitted, groups):
    found = cross_validate_model(fitted, X, SPECIES, cv=3, groups=groups)
    units = np.arange(150) if groups is None else groups
    assert (found.low, found.high) == measure_intervals(found.predictions.probabilities, CODES, units)


def test_the_table_is_known_again_whatever_it_is_held_in_and_another_is_not(fitted):
    digest = cross_validate_model(fitted, X, SPECIES).digest
    table = pa.table({name: X[name].to_numpy() for name in NAMES})
    clf = TANClassifier("bic", parameters="frequency").fit(table, SPECIES)
    assert cross_validate_model(clf, table, SPECIES.tolist()).digest == digest
    other = SPECIES.copy()
    other[0] = "virginica"
    assert cross_validate_model(fitted, X, other).digest != digest
    assert cross_validate_model(fitted, X[1:], SPECIES[1:]).digest != digest


def test_rows_without_a_class_are_left_out_and_the_classifier_stays_as_it_was(fitted):
    before = fitted.predict_proba(X)
    labels = [None, *SPECIES[1:]]
    found = cross_validate_model(fitted, X, labels, groups=np.arange(150))
    assert found.n_rows == 149
    alone = cross_validate_model(fitted, X[1:], SPECIES[1:], groups=np.arange(149))
    np.testing.assert_array_equal(found.predictions.probabilities, alone.predictions.probabilities)
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


def test_a_classifier_that_is_not_fitted_has_the_same_quality_but_no_digest(fitted):
    found, expected = (cross_validate_model(clf, X, SPECIES, cv=3) for clf in (clone(fitted), fitted))
    np.testing.assert_array_equal(found.predictions.probabilities, expected.predictions.probabilities)
    assert (found.digest, found.measures) == ("", expected.measures)


BAD = {
    "one group": ({"groups": ["a"] * 150}, DataError, "groups is 1, fewer than the 5 folds"),
    "fewer groups than folds": ({"groups": CODES}, DataError, "groups is 3, fewer than the 5 folds"),
    "a missing group": ({"groups": [None, *"ab" * 74, "c"]}, DataError, "the group is missing in 1 of 150 rows"),
    "times in words": ({"times": ["May"] * 150}, DataError, "times cannot be ordered: they are string, such as 'May'"),
    "few times": ({"times": CODES}, DataError, "3 different times, too few for 5 periods"),
    "a period of one class": ({"times": np.arange(150)}, DataError, "fold 1 would be fitted to 25 rows of one class"),
    "both": ({"times": np.arange(150), "groups": GROUPS}, OptionError, "by group or by time"),
    "time again": ({"times": np.arange(150), "repeats": 2}, OptionError, "cannot be repeated"),
    "no fold": ({"cv": 1}, OptionError, "at least 2"),
    "too few groups given": ({"groups": [1, 2]}, ValueError, "inconsistent numbers of samples"),
}


def test_a_table_that_comes_batch_by_batch_is_refused(fitted):
    batches = pa.table({name: X[name].to_numpy() for name in NAMES}).to_reader()
    with pytest.raises(DataError, match="needs the table in memory"):
        cross_validate_model(fitted, batches, "species")


@pytest.mark.parametrize(("options", "kind", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_held_out_is_refused(fitted, options, kind, words):
    with pytest.raises(kind, match=words):
        cross_validate_model(fitted, X, SPECIES, **options)
