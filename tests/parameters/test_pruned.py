"""Pruned naive Bayes against CLL+ row by row, finite differences, and the definition of each step."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import batch_of, random_batch
from parameters.tasks import naive_bayes, store, task_of
from tanager.errors import OptionError
from tanager.network.log_joint import LogJoint, normalize_log
from tanager.parameters.conditional.objectives import indicators
from tanager.parameters.naive_bayes import Pruned, PrunedObjective, fit_conditional, optimize, prune
from tanager.structure.dag import Dag

N_STATES = (3, 2, 4, 3)


def informative(seed, n_rows=300, gaps=0.0, weighted=False, n_states=N_STATES):
    """A random batch whose classes follow attribute 0, and attribute 2 in part."""
    batch = random_batch(seed, n_rows, n_states, gaps=gaps, weighted=weighted)
    rng = np.random.default_rng(seed + 1)
    signal = np.where(rng.random(n_rows) < 0.7, batch.codes[:, 0], batch.codes[:, 2]) % n_states[-1]
    return batch_of(batch.codes, signal, n_states, batch.weights)


def learn(batch):
    return Pruned().learn(task_of(naive_bayes(batch.n_attributes), batch))


def objective_by_rows(batch, beta, kept):
    """CLL+ from eq. 24 and 25, one row and one table at a time; a left-out parameter is 0."""
    offsets = np.cumsum([0, *batch.n_states[:-1]])
    beta = np.where(kept, beta, 0.0)
    total = 0.0
    for row in range(batch.n_rows):
        scores = []
        for c in range(batch.n_classes):
            score = beta[-1, c]
            for i, code in enumerate(batch.codes[row].tolist()):
                if code < batch.n_states[i]:
                    score += beta[offsets[i] + code, c]
            scores.append(score)
        weight = 1.0 if batch.weights is None else batch.weights[row]
        total += weight * (scores[batch.class_codes[row]] - math.log(sum(map(math.exp, scores))))
    for value in beta[kept].tolist():
        total += math.log(1 / (1 + math.exp(-value))) + math.log(1 / (1 + math.exp(value)))
    return total


@st.composite
def points(draw):
    """An objective, a point and a mask of the parameters kept."""
    seed = draw(st.integers(0, 2**32 - 2))
    batch = random_batch(seed, 25, draw(st.sampled_from([N_STATES, (2, 1, 2), (3, 2)])), gaps=0.2, weighted=True)
    model = PrunedObjective(store(batch))
    rng = np.random.default_rng(seed + 1)
    kept = rng.random(model.shape) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    return batch, model, np.where(kept, rng.normal(size=model.shape), 0.0), kept


@settings(max_examples=15, deadline=None)
@given(points())
def test_objective_is_that_of_the_rows_and_the_gradient_its_differences(point):
    batch, model, beta, kept = point
    value, gradient = model(beta, kept)
    assert value == pytest.approx(objective_by_rows(batch, beta, kept), rel=1e-11)
    step = np.random.default_rng(0).normal(size=beta.shape) * 1e-5
    rise = model(beta + step, kept)[0] - model(beta - step, kept)[0]
    assert rise == pytest.approx(2 * (gradient * step).sum(), rel=1e-5, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(points())
def test_the_gain_of_each_candidate_is_what_the_rows_say(point):
    batch, model, beta, kept = point
    gains = model.gains(beta, kept)
    before = objective_by_rows(batch, beta, kept)
    for cell in np.ndindex(kept.shape):
        if not kept[cell]:
            assert gains[cell] == -np.inf
            continue
        fewer = kept.copy()
        fewer[cell] = False
        assert gains[cell] == pytest.approx(objective_by_rows(batch, beta, fewer) - before, rel=1e-9, abs=1e-9)


def test_the_gain_of_a_very_strong_parameter_is_finite():
    batch = batch_of([[0], [1]] * 5, [0, 1] * 5, (2, 2))
    model, kept = PrunedObjective(store(batch)), np.ones((3, 2), dtype=bool)
    beta = np.array([[60.0, -60.0], [-60.0, 60.0], [0.0, 0.0]])
    fewer = kept.copy()
    fewer[0, 0] = False
    expected = objective_by_rows(batch, beta, fewer) - objective_by_rows(batch, beta, kept)
    assert model.gains(beta, kept)[0, 0] == pytest.approx(expected, rel=1e-9)


def test_the_optimum_has_no_slope_and_whole_tables_are_centred():
    batch = informative(0, gaps=0.2, weighted=True)
    model = PrunedObjective(store(batch), centre_all=True)
    fit = fit_conditional(model)
    gradient = model(fit.beta, fit.kept)[1]
    slope = model.directions(fit.kept).T @ gradient.reshape(-1)
    assert np.abs(slope).max() < 0.05  # of gradients of several hundred at the start
    offsets = np.cumsum([0, *batch.n_states[:-1]])
    for i, r in enumerate(batch.n_states[:-1]):
        present = batch.codes[:, i] < r
        shares = np.bincount(batch.codes[present, i], batch.weights[present], r)
        np.testing.assert_allclose(shares @ fit.beta[offsets[i] : offsets[i + 1]], 0.0, atol=1e-9)


def test_only_tables_of_attributes_with_missing_cells_are_centred_unless_all_are():
    """Free numbers can only do better, and have no slope in any single parameter."""
    codes = informative(0).codes.astype(int)
    codes[::5, 2] = N_STATES[2]
    batch = batch_of(codes, informative(0).class_codes, N_STATES)
    model, everywhere = PrunedObjective(store(batch)), PrunedObjective(store(batch), centre_all=True)
    fit, centred = fit_conditional(model), fit_conditional(everywhere)
    assert fit.objective > centred.objective
    assert np.abs(model(fit.beta, fit.kept)[1][:5]).max() < 0.01
    assert np.abs(everywhere(centred.beta, centred.kept)[1][:5]).max() > 0.1
    shares = np.bincount(codes[:, 2])[: N_STATES[2]]
    np.testing.assert_allclose(shares @ fit.beta[5:9], 0.0, atol=1e-9)


def test_any_start_reaches_the_same_optimum():
    model = PrunedObjective(store(informative(1)))
    fit = fit_conditional(model)
    kept = fit.kept.copy()
    kept[0, 0] = kept[4, 1] = kept[5, 2] = False
    rng = np.random.default_rng(0)
    values = []
    for _ in range(3):
        start = (model.directions(kept) @ rng.normal(scale=2.0, size=kept.sum())).reshape(kept.shape)
        values.append(optimize(model, start, kept).objective)
    np.testing.assert_allclose(values, values[0], atol=1e-3)


def by_definition(model, fit):
    """Roos 5.6 word by word: direct gains first; when there is none, try the least costly once."""
    while True:
        gains = model.gains(fit.beta, fit.kept)
        cell = np.unravel_index(gains.argmax(), gains.shape)
        kept = fit.kept.copy()
        kept[cell] = False
        shorter = optimize(model, np.where(kept, fit.beta, 0.0), kept)
        if gains[cell] <= 0 and shorter.objective <= fit.objective:
            return fit
        fit = shorter


@pytest.mark.parametrize("seed", range(3))
def test_the_loop_is_that_of_the_paper_and_never_ends_below_its_start(seed):
    model = PrunedObjective(store(informative(seed)))
    start = fit_conditional(model)
    fit, expected = prune(model, start), by_definition(model, start)
    np.testing.assert_array_equal(fit.kept, expected.kept)
    np.testing.assert_allclose(fit.beta, expected.beta, atol=0.02)
    assert fit.objective > start.objective
    assert 0 < fit.kept[:-1].sum() < start.kept[:-1].sum()
    assert (fit.beta[~fit.kept] == 0.0).all()


def test_everything_goes_when_the_class_depends_on_nothing_and_its_states_are_equally_frequent():
    batch = batch_of([[a, b] for a in range(3) for b in range(2)] * 2, [0] * 6 + [1] * 6, (3, 2, 2))
    trace = learn(batch).trace
    assert trace.kept_by_attribute == {"x0": 0, "x1": 0}
    assert trace.kept == 0
    assert trace.parameters == 2 + 2 * (3 + 2)


def test_the_class_keeps_a_parameter_when_its_states_are_not_equally_frequent():
    batch = batch_of([[a] for a in range(2)] * 30, [0] * 50 + [1] * 10, (2, 2))
    learnt = learn(batch)
    assert learnt.trace.kept == 1
    assert learnt.trace.kept_by_attribute == {"x0": 0}
    assert learnt.network.tables[1][0, 0] > 0.6


def test_an_attribute_of_one_state_has_no_parameters():
    batch = batch_of(np.column_stack([np.zeros(20, int), np.arange(20) % 2]), np.arange(20) % 2, (1, 2, 2))
    assert learn(batch).trace.parameters == 2 + 2 * 2


@pytest.mark.parametrize("weighted", [False, True])
def test_the_tables_predict_as_the_logistic_form_does(weighted):
    batch = informative(5, weighted=weighted)
    model = PrunedObjective(store(batch))
    fit = prune(model, fit_conditional(model))
    learnt = learn(batch)
    for table in learnt.network.tables:
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    predict = LogJoint.of(Dag.augmented_naive_bayes([()] * 3), learnt.network.tables, batch.n_states)
    np.testing.assert_allclose(
        predict(batch.codes, normalized=True), normalize_log(indicators(model.cells, batch) @ fit.beta), atol=1e-9
    )
    assert learnt.trace.objective >= learnt.trace.objective_start


def test_unknown_ways_to_centre_are_refused():
    with pytest.raises(OptionError, match="centred='some'"):
        Pruned("some").learn(task_of(naive_bayes(3), informative(0)))
