"""Monotone effects never turn back, and end where scipy's optimiser with constraints and isotonic regression do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from tanager import PairwiseClassifier, load_model, save_model
from tanager.cli.main import run
from tanager.errors import OptionError
from tanager.parameters import Conditional
from tanager.parameters.effects.monotone import _fill


def waves(n_rows=240, seed=0):
    """Two attributes that rise and fall, alone and together, and two beside them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n_rows) for name in ("wave", "other", "noise")})
    X["kind"] = rng.choice(list("xyz"), n_rows)
    odds = 1.5 * np.sin(2 * X.wave) + 1.2 * X.wave * X.other + (X.kind == "x")
    return X, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-odds)), "yes", "no")


def log_odds(clf, X):
    logs = clf.predict_log_proba(X)
    return logs[:, 1] - logs[:, 0]


def scans(clf, X, name, values):
    """(values, rows) the log odds of the second class along an attribute, for the other cells of each row."""
    return np.array([log_odds(clf, X.assign(**{name: value})) for value in values])


def assert_monotone(clf, X, directions):
    drawn = X.sample(40, random_state=0).reset_index(drop=True)
    for name in X.columns:  # others of any values, not only those that were seen together
        drawn[name] = X[name].sample(40, random_state=len(name)).to_numpy()
    for name, direction in directions.items():
        steps = direction * np.diff(scans(clf, drawn, name, np.sort(X[name])), axis=0)
        assert steps.min() >= -1e-12


@pytest.mark.parametrize(
    ("directions", "penalty", "missing"),
    [
        ({"wave": 1}, "squared", "auto"),
        ({"wave": -1, "noise": 0}, "norm", "category"),
        ({"wave": 1, "other": -1}, "norm", "auto"),
    ],
)
def test_log_odds_never_turn_back_for_any_values_of_the_others(directions, penalty, missing):
    X, y = waves()
    X["kind"] = X["kind"].where(np.arange(len(X)) % 9 > 0)
    parameters = Conditional(strength=[0.5, 0.2], penalty=penalty)
    clf = PairwiseClassifier(monotonic_cst=directions, pairs_per_attribute=1, parameters=parameters, missing=missing)
    clf.fit(X, y)
    assert clf.network_.pairs
    assert set(clf.trace_.parameters.monotone) == {name for name, direction in directions.items() if direction}
    assert_monotone(clf, X.dropna(), directions)


def test_models_chosen_on_folds_and_their_mean_obey():
    X, y = waves(150)
    clf = PairwiseClassifier(monotonic_cst={"wave": 1, "other": -1}, pairs_per_attribute=1).fit(X, y)
    assert clf.trace_.parameters.mean_of_fits > 1
    assert clf.network_.forest is None
    assert_monotone(clf, X, {"wave": 1, "other": -1})


def by_scipy(x, y, main, pair):
    """P(second class) of each row: two attributes of a few numbers, the log odds made of steps that rise along both.

    Odds steps s and mixed steps t have the penalty strength / 4 of their squares: half for each of two classes.
    """
    n = x.max() + 1
    shares = np.array([np.bincount(own, minlength=n) / len(own) for own in x.T])
    walks = [np.tri(n)[:, 1:] - share @ np.tri(n)[:, 1:] for share in shares]
    flat = np.arange(n - 1)

    def tables(v):
        both = v[2 * n - 2 : -1].reshape(n - 1, -1)
        return walks[0] @ v[flat], walks[1] @ v[n - 1 + flat], walks[0] @ both @ walks[1].T

    def odds(v):
        first, second, both = tables(v)
        return v[-1] + first[x[:, 0]] + second[x[:, 1]] + both[x[:, 0], x[:, 1]]

    def loss(v):
        penalty = main * (v[: 2 * n - 2] ** 2).sum() + pair * (v[2 * n - 2 : -1] ** 2).sum()
        return np.logaddexp(0, np.where(y, -1, 1) * odds(v)).sum() + penalty / 4

    def steps(v):
        first, second, both = tables(v)
        grid = first[:, None] + second + both
        return np.concatenate([np.diff(grid, axis=0).ravel(), np.diff(grid, axis=1).ravel()])

    constraint = {"type": "ineq", "fun": steps}
    start = np.zeros(2 * n - 2 + (n - 1) ** 2 + 1)
    found = minimize(loss, start, method="SLSQP", constraints=constraint, options={"maxiter": 500, "ftol": 1e-13})
    return 1 / (1 + np.exp(-odds(found.x)))


@pytest.mark.parametrize("seed", [0, 1])
def test_two_attributes_and_their_pair_end_where_scipy_does(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (120, 2))
    y = rng.random(120) < np.array([0.3, 0.7, 0.2, 0.8])[x[:, 0]] * np.array([0.9, 0.5, 1.0, 0.4])[x[:, 1]]
    parameters = Conditional(strength=[0.7, 0.3], tol=1e-5)
    clf = PairwiseClassifier(pairs=[(0, 1)], monotonic_cst=[1, 1], parameters=parameters)
    clf.fit(x.astype(float), y)
    assert clf.network_.pairs
    np.testing.assert_allclose(clf.predict_proba(x.astype(float))[:, 1], by_scipy(x, y, 0.7, 0.3), atol=2e-5)


def test_one_attribute_without_a_penalty_is_isotonic_regression():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 12, 600).astype(float)
    y = rng.random(600) < np.array([0.2, 0.1, 0.3, 0.25, 0.3, 0.5, 0.4, 0.45, 0.8, 0.6, 0.7, 0.75])[x.astype(int)]
    parameters = Conditional(strength=1e-7, tol=1e-5)
    for sign in (1, -1):
        clf = PairwiseClassifier(monotonic_cst=[sign], parameters=parameters).fit(sign * x[:, np.newaxis], y)
        expected = IsotonicRegression().fit_transform(x, y)
        np.testing.assert_allclose(clf.predict_proba(sign * x[:, np.newaxis])[:, 1], expected, atol=1e-4)


@pytest.mark.parametrize("penalty", ["squared", "norm"])
def test_a_free_fit_that_obeys_is_the_fit(penalty):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = rng.random(300) < 1 / (1 + np.exp(-3 * x[:, 0]))
    free, held = (
        PairwiseClassifier(order=2, monotonic_cst=cst, parameters=Conditional(strength=30.0, penalty=penalty)).fit(x, y)
        for cst in (None, {0: 1})
    )
    assert np.ptp(free.predict_proba(x)) > 0.01 or penalty == "norm"
    assert held.trace_.parameters.monotone == ()
    np.testing.assert_array_equal(free.predict_proba(x), held.predict_proba(x))


def test_the_objective_is_never_below_that_of_the_free_fit():
    X, y = waves(150)
    for penalty in ("squared", "norm"):
        parameters = Conditional(strength=[0.3, 0.3], penalty=penalty)
        options = {"pairs": [("wave", "other"), ("kind", "wave")], "parameters": parameters}
        free = PairwiseClassifier(**options).fit(X, y).trace_.parameters.objective[-1]
        held = PairwiseClassifier(**options, monotonic_cst={"wave": 1}).fit(X, y).trace_.parameters.objective[-1]
        assert held > free + 1.0


@pytest.mark.parametrize("penalty", ["squared", "auto"])
def test_strengths_chosen_are_those_of_the_free_fit_so_that_its_objective_is_never_undercut(penalty):
    X, y = waves(150)
    options = {"order": 2, "parameters": Conditional(penalty=penalty)}
    free, held = (
        PairwiseClassifier(**options, monotonic_cst=cst).fit(X, y).trace_.parameters
        for cst in (None, {"wave": 1, "other": -1})
    )
    assert set(held.monotone) == {"wave", "other"}
    assert held.strength == free.strength
    assert (held.norm_share, held.naive_bayes_share) == (free.norm_share, free.naive_bayes_share)
    assert held.objective[-1] > free.objective[-1] + 1.0


def test_a_whole_class_weight_is_so_many_rows_under_a_constraint(monkeypatch):
    monkeypatch.setattr("tanager.table.granularity.n_bins", lambda n_rows: (64, 16))
    X, y = waves(150)
    again = np.concatenate([np.arange(150), np.flatnonzero(y == "yes")])
    options = {"monotonic_cst": {"wave": 1}, "parameters": Conditional(strength=[0.5, 0.2])}
    weighted = PairwiseClassifier(**options, class_weight={"yes": 2, "no": 1}).fit(X, y)
    repeated = PairwiseClassifier(**options).fit(X.iloc[again], y[again])
    assert weighted.trace_.parameters.monotone == repeated.trace_.parameters.monotone == ("wave",)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)  # tol
    assert_monotone(weighted, X, {"wave": 1})


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_steps_are_filled_up_as_a_quadratic_programme_does(n_pairs, n_states, seed):
    rng = np.random.default_rng(seed)
    own, pairs = rng.normal(size=1) - 1, [rng.normal(size=(1, n_states)) for _ in range(n_pairs)]
    found, raised = _fill(own, pairs)
    values, start = np.concatenate([found, *map(np.ravel, raised)]), np.concatenate([own, *map(np.ravel, pairs)])
    choices = np.array(np.meshgrid(*[range(n_states)] * n_pairs)).reshape(n_pairs, -1).T  # of every partner's state
    rows = np.zeros((len(choices), len(start)))
    rows[:, 0] = 1.0
    for k in range(n_pairs):
        rows[np.arange(len(choices)), 1 + k * n_states + choices[:, k]] = 1.0
    assert (rows @ values).min() >= -1e-9
    limits = {"type": "ineq", "fun": lambda v: rows @ v, "jac": lambda _: rows}
    best = minimize(lambda v: ((v - start) ** 2).sum(), start, jac=lambda v: 2 * (v - start), constraints=limits)
    np.testing.assert_allclose(values, best.x, atol=1e-5)


def test_columns_in_another_order_and_names_or_positions_are_the_same_model():
    X, y = waves(200)
    parameters = Conditional(strength=[0.5, 0.5])
    by_name = PairwiseClassifier(monotonic_cst={"wave": 1}, parameters=parameters).fit(X, y)
    turned = X[X.columns[::-1]]
    by_position = PairwiseClassifier(monotonic_cst=[0, 0, 0, 1], parameters=parameters).fit(turned, y)
    np.testing.assert_allclose(by_name.predict_proba(X), by_position.predict_proba(turned), atol=1e-9)


def test_a_constraint_is_kept_by_the_file_and_taken_by_the_command(tmp_path, monkeypatch):
    X, y = waves(200)
    monkeypatch.chdir(tmp_path)
    X.assign(y=y).to_csv("table.csv", index=False)
    structure = "pairwise(pairs=[('wave', 'other')])"
    parameters = "conditional(strength=[0.5, 0.5])"
    command = ["fit", "table.csv", "--class", "y", "--monotone", "wave=+1", "--structure", structure, "--no-validate"]
    assert run([*command, "--parameters", parameters, "-o", "m.json"]) == 0
    options = {"monotonic_cst": {"wave": 1}, "parameters": Conditional(strength=[0.5, 0.5])}
    clf = PairwiseClassifier(pairs=[("wave", "other")], **options).fit(X, y)
    save_model(clf, "python.json")
    read = load_model("m.json")
    assert load_model("python.json").monotonic_cst == {"wave": 1} == read.structure.monotonic_cst
    np.testing.assert_allclose(read.predict_proba(X), clf.predict_proba(X), atol=1e-12)
    assert_monotone(read, X, {"wave": 1})


def test_batches_give_the_same_constrained_model():
    pa = pytest.importorskip("pyarrow")
    X, y = waves(200)
    options = {"monotonic_cst": {"wave": 1}, "parameters": Conditional(strength=[0.5, 0.5])}
    table = pa.Table.from_pandas(X.assign(y=y), preserve_index=False)
    streamed = PairwiseClassifier(**options).fit(table.to_reader(max_chunksize=70), "y")
    whole = PairwiseClassifier(**options).fit(X, y)
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ({"kind": 1}, "no order"),
        ({"wavy": 1}, "nearest are 'wave'"),
        ({"wave": 2}, "expected 1 (rising)"),
        ({"wave": True}, "expected 1 (rising)"),
        ([1, 0], "a number for each of 4 attributes"),
        ("wave", "expected a dict"),
        ({9: 1}, "names column 9"),
        ({"class": 1}, "is the class"),
    ],
)
def test_a_constraint_that_cannot_be_met_is_refused(constraints, words):
    X, y = waves(60)
    with pytest.raises(OptionError) as refused:
        PairwiseClassifier(monotonic_cst=constraints).fit(X, y)
    assert words in str(refused.value)


def test_three_classes_other_objectives_and_trees_are_refused():
    X, y = waves(60)
    with pytest.raises(OptionError, match="two classes"):
        PairwiseClassifier(monotonic_cst={"wave": 1}).fit(X, np.arange(60) % 3)
    with pytest.raises(OptionError, match="objective='cll'"):
        PairwiseClassifier(monotonic_cst={"wave": 1}, parameters=Conditional(objective="squared")).fit(X, y)
    with pytest.raises(OptionError, match="order=3"):
        PairwiseClassifier(monotonic_cst={"wave": 1}, order=3).fit(X, y)


def test_the_command_refuses_tables_and_directions_it_cannot_read(tmp_path, monkeypatch, capsys):
    X, y = waves(60)
    monkeypatch.chdir(tmp_path)
    X.assign(y=y).to_csv("table.csv", index=False)
    for extra, words in (
        (["--monotone", "wave=+1", "--structure", "tan"], "has tables"),
        (["--monotone", "wave=up"], "expected COLUMN=+1"),
    ):
        assert run(["fit", "table.csv", "--class", "y", "-o", "m.json", *extra]) == 2
        assert words in capsys.readouterr().err
