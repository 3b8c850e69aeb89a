"""Options are declared once, and every classifier shows them all, with type and default."""

from __future__ import annotations

from inspect import Parameter, signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

from tanager import BayesianNetworkClassifier, OptionError, classifiers
from tanager.scores import BDeu
from tanager.structure import HillClimb, KDependence

CLASSIFIERS = [name for name in classifiers.__all__ if name.endswith("Classifier")]
PRESETS = sorted(set(CLASSIFIERS) - {"AdditiveClassifier", "BayesianNetworkClassifier"})
SHARED = {
    name: option
    for name, option in signature(BayesianNetworkClassifier).parameters.items()
    if option.kind is Parameter.KEYWORD_ONLY
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_shows_every_shared_option_as_the_classifier_has_it(name):
    shown = signature(getattr(classifiers, name)).parameters
    assert {option: shown[option] for option in SHARED} == SHARED
    assert not any(option.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL) for option in shown.values())


@pytest.mark.parametrize("name", [*PRESETS, "AdditiveClassifier"])
def test_every_option_shown_reaches_the_preset_and_its_clone(name):
    make = getattr(classifiers, name)
    defaults = {option: shown.default for option, shown in signature(make).parameters.items()}
    assert make().get_params(deep=False) == defaults
    others = {option: object() for option in defaults}
    clf = make(**others)
    assert clf.get_params(deep=False) == others
    assert make().set_params(**others).get_params(deep=False) == others
    assert set(clone(make(**dict.fromkeys(defaults, 7))).get_params().values()) == {7}


def test_a_part_given_by_name_has_its_options_and_becomes_an_object_when_one_is_set():
    clf = BayesianNetworkClassifier("hill-climb", "bdeu")
    given = clf.get_params(deep=False)
    assert (given["structure"], given["criterion"]) == ("hill-climb", "bdeu")
    assert clf.get_params()["structure__max_parents"] == HillClimb().max_parents
    assert clf.get_params()["criterion__ess"] == BDeu().ess
    clf.set_params(structure__max_parents=3)
    assert (type(clf.structure), clf.structure.max_parents, clf.criterion) == (HillClimb, 3, "bdeu")
    assert clone(clf).structure.max_parents == 3
    assert BayesianNetworkClassifier().set_params(structure__forest=True).structure.forest
    assert BayesianNetworkClassifier().set_params(structure="kdb", structure__k=3).structure.k == 3
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        clf.set_params(structure__depth=3)
    with pytest.raises(OptionError, match="structure='hil-climb' is not known"):
        BayesianNetworkClassifier("hil-climb").set_params(structure__max_parents=3)


def test_a_grid_search_goes_over_options_of_a_part_given_by_name():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(BayesianNetworkClassifier("kdb", parameters="frequency"), {"structure__k": [1, 2]}, cv=2)
    by_name = search.fit(X, y).cv_results_["mean_test_score"]
    by_hand = [
        cross_val_score(BayesianNetworkClassifier(KDependence(k), parameters="frequency"), X, y, cv=2).mean()
        for k in (1, 2)
    ]
    np.testing.assert_allclose(by_name, by_hand)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_an_option_that_a_classifier_does_not_have_is_refused(name):
    with pytest.raises(TypeError, match="unexpected keyword argument 'discretiser'"):
        getattr(classifiers, name)(discretiser="mdlp")
