"""Specs of classifiers: short names with options, import paths, and what is wrong with them."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from experiments.studies.entries import Entry, parse_entry, parse_estimator
from tanager import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.parameters import Frequency
from tanager.scores import BDeu
from tanager.structure import BFSConsistent


def same(first, second):
    return repr(first.get_params()) == repr(second.get_params())


def test_a_spec_names_structure_criterion_and_parameters_with_options():
    found = parse_estimator("bckg(max_parents=1):bdeu(ess=5):frequency(smoothing=friedman, alpha=2.5)")
    expected = BayesianNetworkClassifier(BFSConsistent(1), BDeu(5), Frequency("friedman", 2.5))
    assert same(found, expected)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("tna:fcll", "structure='tna' is not known; expected one of 'tan'"),
        ("tan(max_parents=2)", "has no option 'max_parents'; it has forbidden_edges"),
        ("kdb:ll:frequency", "it has 3 parts; expected structure:parameters"),
        ("sklearn.svm.SVCC", "cannot be imported"),
        ("sklearn.svm.SVC(depth=1)", "unexpected keyword argument 'depth'"),
    ],
)
def test_a_bad_spec_is_refused_with_the_nearest_names(spec, words):
    with pytest.raises(OptionError) as caught:
        parse_entry(spec)
    assert words in str(caught.value)


def test_a_configured_classifier_is_seeded_has_one_thread_and_leaves_the_entry_alone():
    forest = Entry("f", parse_estimator("sklearn.ensemble.RandomForestClassifier"))
    before = repr(clone(forest.estimator))
    params = forest.configured(seed=5, missing="category").get_params()
    assert (params["estimator__random_state"], params["estimator__n_jobs"]) == (5, 1)
    assert repr(forest.estimator) == before
    ours = parse_entry("tan")
    assert ours.configured(1, "drop").get_params()["missing"] == "category"
    assert ours.configured(1, "marginalize").get_params()["missing"] == "marginalize"
