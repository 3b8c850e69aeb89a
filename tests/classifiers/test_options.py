"""Options are declared once, and every classifier shows them all, with type and default."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest
from sklearn.base import clone

from tanager import BayesianNetworkClassifier, classifiers

PRESETS = sorted(set(classifiers.__all__) - {"AdditiveClassifier", "BayesianNetworkClassifier"})
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
    assert make().get_params() == defaults
    others = {option: object() for option in defaults}
    clf = make(**others)
    assert clf.get_params(deep=False) == others
    assert make().set_params(**others).get_params(deep=False) == others
    assert set(clone(make(**dict.fromkeys(defaults, 7))).get_params().values()) == {7}


@pytest.mark.parametrize("name", classifiers.__all__)
def test_an_option_that_a_classifier_does_not_have_is_refused(name):
    with pytest.raises(TypeError, match="unexpected keyword argument 'discretiser'"):
        getattr(classifiers, name)(discretiser="mdlp")
