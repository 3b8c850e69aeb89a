"""Classifiers whose answers are sets, and the sets of a model that keeps its quality."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from tanager import (
    ConformalClassifier,
    NaiveBayesClassifier,
    conformal_sets,
    cross_validate_model,
    load_model,
    save_model,
)
from tanager.errors import DataError, OptionError

ALPHA = 0.1


class Remembering(GaussianNB):
    """Keeps the rows it was fitted to."""

    def fit(self, X, y):
        self.rows_ = X
        return super().fit(X, y)


def draw(generator, n_rows):
    y = generator.choice(["a", "b", "c"], n_rows, p=[0.5, 0.3, 0.2])
    means = {"a": (0.0, 0.0), "b": (1.2, 0.0), "c": (0.5, 1.2)}
    X = np.array([means[label] for label in y]) + generator.normal(size=(n_rows, 2))
    return np.column_stack([X, X[:, 0] + 0.3 * generator.normal(size=n_rows)]), y


def coverage(make, n_tables, n_rows):
    """Share of the rows of each class that have it in their set, over tables, and the mean size of a set."""
    generator = np.random.default_rng(0)
    held, sizes = {"a": [], "b": [], "c": []}, []
    for _ in range(n_tables):
        sets, (X, y) = make(*draw(generator, n_rows)), draw(generator, 300)
        found = sets(X)
        sizes.append(found.sizes.mean())
        inside = found.members[np.arange(300), np.searchsorted(["a", "b", "c"], y)]
        for label in held:
            held[label] += inside[y == label].tolist()
    return np.array([np.mean(held[label]) for label in held]), np.mean(sizes)


@pytest.mark.parametrize(("method", "least"), [("split", 1 - ALPHA - 0.01), ("cross", 1 - 2 * ALPHA)])
def test_every_class_is_in_the_sets_of_its_rows_as_often_as_asked_for(method, least):
    def make(X, y):
        return ConformalClassifier(GaussianNB(), level=1 - ALPHA, method=method, folds=4).fit(X, y).predict_set

    found, size = coverage(make, 60, 150)
    assert (found >= least).all()
    assert size < 2.6


def test_sets_of_a_model_that_keeps_its_quality_hold_every_class_of_new_rows():
    def make(X, y):
        clf = NaiveBayesClassifier(parameters="frequency").fit(X, y)
        quality = cross_validate_model(clf, X, y, folds=3)
        return lambda rows: conformal_sets(clf, rows, 1 - ALPHA, quality=quality)

    found, size = coverage(make, 6, 200)
    assert (found >= 1 - 2 * ALPHA).all()
    assert size < 2.6


def test_cross_conformal_p_values_compare_a_row_with_each_fold_by_the_model_of_the_others():
    X, y = draw(np.random.default_rng(1), 60)
    clf = ConformalClassifier(Remembering(), folds=3, random_state=4).fit(X, y)
    new, _ = draw(np.random.default_rng(2), 5)
    found = clf.predict_set(new)
    for c, label in enumerate("abc"):
        for row in range(5):
            count = 0
            for model in clf.estimators_:
                held_out = ~np.isin(X[:, 0], model.rows_[:, 0])
                own = model.predict_proba(X[held_out & (y == label)])[:, c]
                count += (own <= model.predict_proba(new[[row]])[0, c]).sum()
            assert found.p_values[row, c] == pytest.approx((1 + count) / (1 + (y == label).sum()), rel=1e-12)
    np.testing.assert_array_equal(clf.predict(new), GaussianNB().fit(X, y).predict(new))


def test_a_quality_with_repeats_certifies_no_more_than_its_rows_do():
    X, y = draw(np.random.default_rng(5), 60)
    clf = NaiveBayesClassifier(parameters="frequency").fit(X, y)
    found = conformal_sets(clf, X, 0.95, quality=cross_validate_model(clf, X, y, folds=3, repeats=4))
    rows = [np.sum(y == label) for label in "abc"]
    np.testing.assert_allclose(found.n_rows_known, rows)
    assert found.uncertified == tuple(label for label, n in zip("abc", rows, strict=True) if n < 19)
    assert found.uncertified


def test_a_model_file_keeps_what_sets_are_made_by(tmp_path):
    X, y = draw(np.random.default_rng(6), 90)
    table = pd.DataFrame(X, columns=["u", "v", "w"])
    clf = NaiveBayesClassifier(parameters="frequency").fit(table, y)
    quality = cross_validate_model(clf, table, y, folds=3)
    save_model(clf, tmp_path / "model.json", quality=quality)
    found = conformal_sets(load_model(tmp_path / "model.json"), table)
    np.testing.assert_array_equal(found.p_values, conformal_sets(clf, table, quality=quality).p_values)


def test_what_cannot_be_is_refused():
    X, y = draw(np.random.default_rng(7), 60)
    clf = NaiveBayesClassifier(parameters="frequency").fit(X, y)
    with pytest.raises(OptionError, match="keeps no probabilities of rows that it has not learnt from"):
        conformal_sets(clf, X)
    other = NaiveBayesClassifier(parameters="frequency").fit(X, np.where(y == "a", "a", "z"))
    quality = cross_validate_model(clf, X, y, folds=2)
    with pytest.raises(OptionError, match="of other classes than this one"):
        conformal_sets(other, X, quality=quality)
    for options, error, message in [
        ({"method": "jackknife"}, OptionError, "method='jackknife' is not known"),
        ({"level": 1.0}, OptionError, "is no share of rows"),
        ({"folds": 1}, OptionError, "leaves nothing to compare with"),
        ({"folds": 61}, DataError, "cannot be dealt to 61 folds"),
    ]:
        with pytest.raises(error, match=message):
            ConformalClassifier(GaussianNB(), **options).fit(X, y)
    with pytest.raises(DataError, match="class column is missing in 1 rows"):
        ConformalClassifier(GaussianNB()).fit(X, np.where(np.arange(60) == 3, None, y))


def test_a_class_that_a_fold_lacks_is_in_every_set():
    X, y = draw(np.random.default_rng(8), 60)
    y[0] = "z"
    clf = ConformalClassifier(GaussianNB(), folds=3).fit(X, y)
    found = clf.predict_set(X)
    assert found.members[:, 3].all()
    assert "z" in found.uncertified
    assert clf.predict_proba(X).shape == (60, 4)
    assert clone(clf).folds == 3
