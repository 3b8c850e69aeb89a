"""What a fitted estimator holds can be saved by others: pickle, joblib, cloudpickle and skops, bit by bit."""

from __future__ import annotations

import io
import pickle
from functools import cached_property

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline

import tanager
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    FixedDecisionClassifier,
    classifiers,
)
from tanager.classifiers import NaiveBayesClassifier, NaiveBayesClusterer, TANClassifier
from tanager.edits import Edit
from tanager.files import TRUSTED_TYPES
from tanager.parameters import PARAMETERS
from tanager.structure import STRUCTURES, Tree
from tanager.table import MDLPDiscretizer

try:
    import skops.io as skops
except ImportError:
    skops = None


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series]:
    """Numbers with missing cells, categories and dates, the class depending on all of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["size", "weight", "age"])
    X["kind"] = np.where(X["size"] + rng.normal(size=120) > 0, "big", "small")
    X["seen"] = pd.Timestamp("2024-02-29") + pd.to_timedelta(rng.integers(0, 90, 120), "D")
    y = pd.Series(np.where(X["size"] * X["weight"] + X["age"] + rng.normal(size=120) > 0, "ill", "well"))
    X.loc[::7, "weight"] = np.nan
    return X, y


ESTIMATORS = {
    "additive": AdditiveClassifier(),
    "additive, averaged": AdditiveClassifier(missing="average", trees=False),
    "tan": TANClassifier(),
    "tan, parts": BayesianNetworkClassifier(Tree(forest=True), "bic", "frequency", missing="category"),
    "hill climbing": BayesianNetworkClassifier("hill-climb", "cll", "em"),
    "naive Bayes": NaiveBayesClassifier(class_weight={"ill": 2.0}, missing="marginalize"),
    "skipped": TANClassifier(missing="skip"),
    "naive Bayes, batches": NaiveBayesClassifier(),
    "mixture": BayesianNetworkClassifier("aode", parameters="frequency"),
    "trees": BayesianNetworkClassifier("tree-average", parameters="frequency"),
    "clusters": NaiveBayesClusterer(random_state=0),
    "costs": FixedDecisionClassifier(NaiveBayesClassifier(), costs={("ill", "well"): 10}),
    "threshold": FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.1, pos_label="ill"),
}


def test_every_public_estimator_is_here():
    public = {name for name in (*classifiers.__all__, *tanager.__all__) if "Classifier" in name or "Clusterer" in name}
    assert {type(each).__name__ for each in ESTIMATORS.values()} == public


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request, table):
    """Fitted, and used once, so that what can be cached is."""
    X, y = table
    clf = clone(ESTIMATORS[request.param])
    clf = clf.partial_fit(X, y, ["ill", "well"]) if request.param.endswith("batches") else clf.fit(X, y)
    clf.predict_proba(X)
    if hasattr(clf, "prepare_intervals"):
        clf.prepare_intervals(X, y).predict_interval(X)
        tanager.explain(clf, *([] if request.param in ("mixture", "trees") else [X[:3]]))
    if request.param == "additive":
        clf = tanager.apply_edits(clf, Edit.flatten("age", reason="few rows"))
    return clf


def by_skops(clf: object) -> object:
    stream = skops.dumps(clf)
    assert set(skops.get_untrusted_types(data=stream)) <= set(TRUSTED_TYPES)
    return skops.loads(stream, trusted=TRUSTED_TYPES)


def by_joblib(clf: object) -> object:
    stream = io.BytesIO()
    joblib.dump(clf, stream)
    stream.seek(0)
    return joblib.load(stream)


@pytest.mark.parametrize(
    "save_and_load",
    [
        pytest.param(by_skops, marks=pytest.mark.skipif(skops is None, reason="skops is not installed")),
        by_joblib,
        lambda clf: cloudpickle.loads(cloudpickle.dumps(clf)),
        lambda clf: pickle.loads(pickle.dumps(clf)),
    ],
    ids=["skops", "joblib", "cloudpickle", "pickle"],
)
def test_an_estimator_comes_back_bit_by_bit(fitted, table, save_and_load):
    X, _ = table
    loaded = save_and_load(fitted)
    assert repr(loaded) == repr(fitted)
    assert loaded.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert loaded.predict(X).tolist() == fitted.predict(X).tolist()
    if hasattr(fitted, "predict_interval") and fitted.posterior_ is not None:
        assert loaded.predict_interval(X).upper.tobytes() == fitted.predict_interval(X).upper.tobytes()
    if hasattr(fitted, "edits_") and fitted.edits_:
        undone = [tanager.undo_edits(clf).predict_proba(X).tobytes() for clf in (loaded, fitted)]
        assert undone[0] == undone[1]


PARTS = {
    **{f"structure {name}": BayesianNetworkClassifier(name, parameters="frequency") for name in STRUCTURES},
    **{f"parameters {name}": BayesianNetworkClassifier("naive-bayes", parameters=name) for name in PARAMETERS},
    "discretizer": make_pipeline(MDLPDiscretizer(), CategoricalNB()),
}


@pytest.mark.skipif(skops is None, reason="skops is not installed")
@pytest.mark.parametrize("name", PARTS)
def test_every_part_goes_through_skops_bit_by_bit(name, table):
    X, y = table[0][["size", "age"]], table[1]
    clf = PARTS[name].fit(X, y)
    assert by_skops(clf).predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()


def test_naive_bayes_learns_on_after_it_was_loaded(table):
    X, y = table
    first = NaiveBayesClassifier().partial_fit(X[:60], y[:60], classes=["ill", "well"])
    later = pickle.loads(pickle.dumps(first)).partial_fit(X[60:], y[60:])
    whole = NaiveBayesClassifier().fit(X, y)
    np.testing.assert_allclose(later.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_nothing_contains_itself_no_cache_is_saved_and_no_mapping_is_from_tuples(fitted):
    assert list(faults(fitted, "", ())) == []


def faults(value: object, path: str, above: tuple[int, ...]):
    """Walk what a pickle of a value holds."""
    if id(value) in above:
        yield f"{path} contains itself"
        return
    above = (*above, id(value))
    if isinstance(value, dict):
        yield from (f"{path} has the key {key!r}" for key in value if isinstance(key, tuple))
        parts = list(value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(enumerate(value))
    elif type(value).__module__.startswith("tanager."):
        state = value.__getstate__() or {}
        cached = [name for name in state if isinstance(getattr(type(value), name, None), cached_property)]
        yield from (f"{path}.{name} is cached" for name in cached)
        parts = list(state.items())
    else:
        return
    for name, part in parts:
        yield from faults(part, f"{path}.{name}", above)
