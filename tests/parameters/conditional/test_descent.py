"""Descents: L-BFGS against the two loops of Nocedal, bounds against scikit-learn's optimum, tight fits."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from experiments.studies.data_sets import read_manifest
from oracle import random_batch
from parameters.tasks import naive_bayes, task_of
from tanager import BayesianNetworkClassifier, TANClassifier
from tanager.network.log_joint import LogJoint
from tanager.parameters import Conditional
from tanager.parameters.conditional.descent import lbfgs

SMALL = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
MODELS = {
    "default": BayesianNetworkClassifier,
    "naive Bayes": lambda parameters: BayesianNetworkClassifier("naive-bayes", parameters=parameters),
    "tree": TANClassifier,
}
DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parents[3] / "../shared/data"))


def test_l_bfgs_follows_a_bent_valley_to_its_end_and_never_climbs():
    seen = []
    for point, value, gradient in lbfgs(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0, -0.5, 2.0]), 500):
        seen.append((point, value))
        if np.abs(gradient).max() < 1e-8:
            break
    values = [value for _, value in seen]
    assert values == sorted(values, reverse=True)
    np.testing.assert_allclose(seen[-1][0], 1.0, atol=1e-7)


def best_fit(batch, strength):
    """Penalised loss and P of the optimum of naive Bayes with main effects of one strength, by scikit-learn."""
    states = [range(r) for r in batch.n_states[:-1]]
    X = OneHotEncoder(categories=states, sparse_output=False).fit_transform(batch.codes)
    two = batch.n_classes == 2  # of two classes it penalises the difference of their effects: half as much
    model = LogisticRegression(C=(2.0 if two else 1.0) / strength, solver="newton-cholesky", tol=1e-13, max_iter=500)
    model.fit(X, batch.class_codes, batch.weights)
    u = np.concatenate([-model.coef_, model.coef_]) / 2.0 if two else model.coef_
    p = model.predict_proba(X)
    loss = -batch.row_weights @ np.log(p[np.arange(len(p)), batch.class_codes])
    return loss + 0.5 * strength * (u**2).sum(), p


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(20, 80),
    st.sampled_from([(2, 3, 2), (3, 2, 4, 3), (2, 2, 2, 2, 4)]),
    st.sampled_from([0.05, 1.0, 30.0]),
    st.sampled_from([0.3, 0.03, 1e-3]),
    st.booleans(),
)
def test_no_fit_is_further_from_the_optimum_than_its_bounds(seed, n_rows, n_states, strength, tol, weighted):
    batch = random_batch(seed, n_rows, n_states, weighted=weighted)
    if len(np.unique(batch.class_codes)) < batch.n_classes:
        return
    dag = naive_bayes(batch.n_attributes)
    learnt = Conditional(strength=strength, tol=tol).learn(task_of(dag, batch))
    found, (least, best) = learnt.trace, best_fit(batch, strength)
    gap = found.objective[-1] - least
    assert -1e-8 <= gap <= found.bound + 1e-8
    p = np.exp(LogJoint.of(dag, learnt.network.tables, n_states)(batch.codes, normalized=True))
    assert np.abs(p - best).max() <= found.p_bound + 1e-6
    assert found.optimum == f"global within {found.bound:.2g} nats"


def distance_from_tight_fit(make, X, y, **options):
    """Of P of the training rows; the choice of strengths does not depend on the tolerance."""
    found, tight = (
        make(parameters=Conditional(**options, **tol)).fit(X, y) for tol in ({}, {"tol": 1e-8, "max_iter": 5_000})
    )
    assert found.trace_.parameters.strength == tight.trace_.parameters.strength
    return np.abs(found.predict_proba(X) - tight.predict_proba(X)).max(), found.trace_.parameters


@pytest.mark.parametrize("table", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_by_default_p_is_within_a_thousandth_of_the_tight_fit_and_proved_to_be(model, table):
    distance, trace = distance_from_tight_fit(model, *table(return_X_y=True, as_frame=True))
    assert distance <= trace.p_bound <= 1.1e-3


@pytest.mark.parametrize("table", SMALL.values(), ids=SMALL)
def test_the_uniform_prior_comes_as_near_without_a_proof(table):
    distance, trace = distance_from_tight_fit(TANClassifier, *table(return_X_y=True, as_frame=True), prior="uniform")
    assert distance <= 1e-3
    assert trace.bound is trace.p_bound is None
    assert trace.optimum == "global, how near is not known"


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no benchmark tables in {DATA}; set TANAGER_DATA")
@pytest.mark.parametrize("prior", ["hierarchical", "uniform", "generative"])
@pytest.mark.parametrize("name", ["lymphography", "german", "vehicle"])
def test_a_tree_on_a_benchmark_table_is_within_a_thousandth_of_the_tight_fit(name, prior):
    X, y = next(each for each in read_manifest(DATA) if each.name == name).read()
    assert distance_from_tight_fit(TANClassifier, X, y, prior=prior)[0] <= 1e-3
