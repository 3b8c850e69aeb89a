"""Rivals that are not dependencies: each as its library wants it, where its package is installed; classics."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from experiments.classics import REFERENCE
from experiments.studies import tuned_lightgbm
from experiments.studies.entries import parse_estimator
from experiments.studies.field import CLASSICS, MAX_ROWS_NEURAL, NEURAL_OTHERS, OTHERS, SLOW_OTHERS, rivals
from experiments.studies.tuned_lightgbm import N_TRIALS
from tanager.structure import AnDE

WORDS = pa.table({"c": ["u", None, "v", "u", "v"] * 12, "n": [1.0, 3.0, None, 5.0, 2.0] * 12})
Y = np.tile(["a", "b", "a", "b", "a", "b"], 10)
TUNED = f"LightGBM ({N_TRIALS} trials)"


class Fake(ClassifierMixin, BaseEstimator):
    """Takes whatever options the field gives to a rival."""

    def __init__(
        self,
        verbose=None,
        thread_count=None,
        random_seed=None,
        allow_writing_files=None,
        n_dependence=None,
        device=None,
        val_metric_name=None,
        use_ls=None,
    ):
        pass

    def fit(self, X, y): ...

    def predict(self, X): ...

    def get_params(self, deep=True):
        return {}


def pretend(monkeypatch, path):
    """A package that holds a classifier of this import path."""
    module = path.rpartition(".")[0]
    for each in {module, module.partition(".")[0]}:
        made = ModuleType(each)
        made.__spec__, made.__path__, made.__getattr__ = ModuleSpec(each, None), [], lambda name: Fake
        monkeypatch.setitem(sys.modules, each, made)


@pytest.fixture
def all_installed(monkeypatch):
    for _, spec, _ in (*OTHERS, *SLOW_OTHERS, *NEURAL_OTHERS):
        pretend(monkeypatch, spec.partition("(")[0])


@pytest.mark.usefixtures("all_installed")
def test_every_rival_is_in_the_field_where_its_package_is_installed_the_slow_ones_when_asked():
    quick, slow = {entry.name for entry in rivals(False)}, {entry.name: entry for entry in rivals(True)}
    assert {name for name, _, _ in OTHERS} <= quick
    assert set(slow) - quick == {TUNED, *(name for name, _, _ in (*SLOW_OTHERS, *NEURAL_OTHERS))}
    assert {slow[name].max_rows for name, _, _ in NEURAL_OTHERS} == {MAX_ROWS_NEURAL}


def test_a_rival_that_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr("experiments.studies.field.find_spec", lambda name: None)
    assert not {name for name, _, _ in OTHERS} & {entry.name for entry in rivals(False)}
    assert {entry.name for entry in rivals(False)} == {entry.name for entry in rivals(True)}


@pytest.mark.parametrize(
    ("name", "package"),
    [("CatBoost", "catboost"), ("ChimeraBoost", "chimeraboost"), ("RealMLP", "pytabkit"), ("TabM", "pytabkit")],
)
def test_an_installed_rival_learns_from_categories_and_gaps(name, package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    (entry,) = (entry for entry in rivals(True) if entry.name == name)
    fitted = entry.configured(0, "category").fit(WORDS, Y)
    np.testing.assert_allclose(fitted.predict_proba(WORDS).sum(axis=1), 1, rtol=1e-5)
    assert fitted.predict(WORDS).shape == Y.shape


def test_lightgbm_tuned_is_the_best_of_its_trials(monkeypatch):
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    monkeypatch.setattr(tuned_lightgbm, "N_TRIALS", 3)
    fitted = tuned_lightgbm.tuned_lightgbm().fit(WORDS, Y)
    assert len(fitted.estimator_.cv_results_["params"]) == 3
    assert fitted.estimator_.best_score_ == max(fitted.estimator_.cv_results_["mean_test_score"])


def test_lightgbm_tuned_learns_from_few_rows_of_categories(monkeypatch):
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    monkeypatch.setattr(tuned_lightgbm, "N_TRIALS", 10)
    letters = np.random.default_rng(0).choice(list("acgt"), (150, 3))
    y = np.isin(letters[:, 0], ["a", "c"])
    table = pa.table(dict(zip("xyz", letters.T, strict=True)))
    fitted = tuned_lightgbm.tuned_lightgbm().fit(table, y)
    assert (fitted.predict(table) == y).all()


DOCS = Path(__file__).parents[2] / "docs"
# What the field fits without our priors and pairs: docs/comparison.md.
STRUCTURES = {"NaiveBayes", "Selective", "Tree", "KDependence", "SelectiveKDependence", "AnDE", "TreeAverage"}
PARAMETERS = {"Frequency", "Weighted", "MANB", "Conditional", "Hierarchical"}


def test_every_classic_structure_and_parameter_learner_is_compared() -> None:
    found = [parse_estimator(spec) for spec in CLASSICS.values()]
    assert {type(each.structure).__name__ for each in found} == STRUCTURES
    assert {type(each.parameters).__name__ for each in found} == PARAMETERS


def test_every_kind_of_average_and_of_margin_is_compared() -> None:
    found = [parse_estimator(spec) for spec in CLASSICS.values()]
    averages = [each.structure for each in found if isinstance(each.structure, AnDE)]
    assert {each.n for each in averages} == {1, 2}
    assert {each.weights for each in averages} == {"equal", "information", "conditional"}
    assert any(each.subsumption is not None for each in averages)
    objectives = {getattr(each.parameters, "objective", None) for each in found}
    assert objectives == {None, "margin", "mixed-margin"}


def test_the_table_of_the_page_has_every_classic_once() -> None:
    lines = (DOCS / "classics_table.md").read_text(encoding="utf-8").splitlines()
    names = [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]
    assert sorted(names[1:]) == sorted([*CLASSICS, REFERENCE])
