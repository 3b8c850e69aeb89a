"""scikit-learn's selectors of columns find the two that the class depends on, whatever the classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector

from tanager import AdditiveClassifier, NaiveBayesClassifier, TANClassifier

CLASSIFIERS = [AdditiveClassifier(trees=False), TANClassifier(parameters="frequency"), NaiveBayesClassifier()]
ON_NUMBERS = [
    lambda clf: RFE(clf, n_features_to_select=2),
    lambda clf: RFECV(clf, min_features_to_select=2, cv=2),
    lambda clf: SequentialFeatureSelector(clf, n_features_to_select=2, cv=2),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    X.loc[::11, "a"] = np.nan
    return X, np.where(X["a"].fillna(0) + X["b"] + rng.normal(size=300) > 0, "p", "q")


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("select", ON_NUMBERS, ids=["RFE", "RFECV", "SequentialFeatureSelector"])
def test_columns_that_the_class_depends_on_are_chosen(table, clf, select):
    X, y = table
    assert {"a", "b"} <= set(select(clf).fit(X, y).get_feature_names_out())


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=repr)
def test_a_fitted_classifier_chooses_among_text_too(table, clf):
    X, y = table
    text = X.assign(b=np.where(X["b"] > 0, "high", "low"))
    assert set(SelectFromModel(clf, max_features=2).fit(text, y).get_feature_names_out()) == {"a", "b"}
