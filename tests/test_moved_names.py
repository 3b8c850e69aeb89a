"""A name or an option of an earlier version is refused in a line that names its replacement."""

from __future__ import annotations

from importlib import import_module

import pytest

import tanager


def test_the_face_is_small_and_a_name_that_moved_says_its_address():
    assert len(tanager.__all__) < 30
    assert set(dir(tanager)) == {*tanager.__all__, "plots", "__doc__", "__version__"}
    for home, names in tanager._MOVED.items():
        for name in names:
            assert hasattr(import_module(home), name)
            with pytest.raises(AttributeError, match=f"is now {home}.{name}"):
                getattr(tanager, name)


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("ConformalClassifier", "mapie.classification"),
        ("conformal_sets", "mapie.classification"),
        ("PairwiseClassifier", "AdditiveClassifier"),
        ("AdditiveNetwork", "tanager.additive.AdditiveModel"),
        ("learning_curve", "sklearn.model_selection.learning_curve"),
    ],
)
def test_an_earlier_name_says_what_to_use_instead(name, replacement):
    with pytest.raises(AttributeError, match=f"{name}.*{replacement}"):
        getattr(tanager, name)
