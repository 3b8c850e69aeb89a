"""Counterfactuals against every change of one and two cells there is."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from report.models import mixed_table, rows_of
from tanager import AdditiveClassifier, OptionError, TANClassifier, counterfactuals
from tanager.classifiers.base import encode_table
from tanager.cli.main import run
from tanager.decide import CostDecision, ThresholdDecision
from tanager.files.model_file import save_model

COLUMNS = ["age", "town", "job"]


@pytest.fixture(scope="module")
def rows():
    X, y = mixed_table(5, n_rows=250, n_classes=2)
    return X[COLUMNS].assign(age=(X["age"] // 15 * 15)), y


@pytest.fixture(scope="module", params=["effects", "tables", "threshold", "costs"])
def clf(request, rows):
    if request.param == "tables":
        return TANClassifier().fit(*rows)
    clf = AdditiveClassifier(pairs=8, trees=False).fit(*rows)
    if request.param == "threshold":
        clf.decision_ = ThresholdDecision(("class 0", "class 1"), "class 1", 0.2)
    if request.param == "costs":
        clf.decision_ = CostDecision(("class 0", "class 1"), ((0.0, 1.0), (2.0, 0.0)), 0.3)
    return clf


def decided(clf, X) -> list[object]:
    return clf.predict(X).tolist()


def size_by_hand(clf, node: int, old: int, new: int) -> float:
    network = clf.model_
    column = network.columns[node]
    shares = network.densities[node] if network.kind == "effects" else np.full(column.n_states, 1 / column.n_states)
    if not column.has_order:
        return 1 - shares[new]
    low, high = sorted((old, new))
    return shares[low] / 2 + shares[low + 1 : high].sum() + shares[high] / 2


def changes_by_trying(clf, X: pd.DataFrame) -> dict[tuple[int, ...], float]:
    """The smallest size of each kind of change that does, kinds being cells; of two, neither does alone."""
    network = clf.model_
    codes = encode_table(clf, X)[1][0].astype(int)
    now = decided(clf, X)[0]
    trials, kinds = [], []
    for n_cells in (1, 2):
        for nodes in combinations(range(len(COLUMNS)), n_cells):
            for states in product(*(range(network.n_states[node]) for node in nodes)):
                if all(state != codes[node] for state, node in zip(states, nodes, strict=True)):
                    trials.append(codes.copy())
                    trials[-1][list(nodes)] = states
                    kinds.append((nodes, states))
    crosses = dict(
        zip(kinds, [found != now for found in decided(clf, rows_of(network, np.array(trials)))], strict=True)
    )
    best: dict[tuple[int, ...], float] = {}
    for (nodes, states), crossed in crosses.items():
        alone = len(nodes) > 1 and any(crosses[(n,), (s,)] for n, s in zip(nodes, states, strict=True))
        if crossed and not alone:
            size = sum(size_by_hand(clf, n, codes[n], s) for n, s in zip(nodes, states, strict=True))
            best[nodes] = min(best.get(nodes, np.inf), size)
    return best


def test_changes_cross_in_the_table_and_no_smaller_change_of_the_same_kind_does(clf, rows):
    X = rows[0].iloc[[0, 3, 8, 20]]
    found = counterfactuals(clf, X, most=9)
    for row, each in enumerate(found):
        one = X.iloc[[row]]
        expected = changes_by_trying(clf, one)
        kinds = [tuple(COLUMNS.index(cell.attribute) for cell in change.cells) for change in each.changes]
        assert {kind: pytest.approx(size, abs=1e-12) for kind, size in expected.items()} == {
            kind: change.size for kind, change in zip(kinds, each.changes, strict=True)
        }
        assert kinds == sorted(kinds, key=lambda kind: (len(kind), round(expected[kind], 12), kind))
        for change in each.changes:
            changed = one.assign(**{cell.attribute: cell.value for cell in change.cells})
            now = decided(clf, changed)[0]
            assert (str(now) if now is not None else "ask a person") == change.decided != each.decided
            np.testing.assert_allclose(list(change.probabilities.values()), clf.predict_proba(changed)[0], atol=1e-12)
    assert any(each.changes for each in found)


def test_of_noise_only_what_the_model_says_can_be_changed():
    X = mixed_table(7, n_rows=250)[0][COLUMNS]
    X = X.assign(age=(X["age"] // 15 * 15))
    noise = np.where(np.random.default_rng(3).random(len(X)) < 0.25, "class 0", "class 1")
    silent = AdditiveClassifier().fit(X, noise)
    probabilities = silent.predict_proba(X)
    assert (probabilities.argmax(axis=1) == probabilities[0].argmax()).all()
    assert not any(each.changes for each in counterfactuals(silent, X.head(10)))
    # A model that takes noise for something is changed where it says so, and nowhere else.
    again = np.tile(np.arange(len(X)), 10)  # so that folds have the same rows
    sure = AdditiveClassifier(trees=False).fit(X.iloc[again], noise[again])
    found = counterfactuals(sure, X.head(3), most=9)
    for row, each in enumerate(found):
        sizes = sorted(changes_by_trying(sure, X.iloc[[row]]).values())
        assert sorted(change.size for change in each.changes) == pytest.approx(sizes, abs=1e-12)
    assert any(each.changes for each in found)


def test_locked_and_missing_cells_stay_and_the_class_may_be_named(clf, rows):
    X = rows[0].iloc[:6].copy()
    X["job"] = None
    for each in counterfactuals(clf, X, locked=["town"], most=9):
        assert {cell.attribute for change in each.changes for cell in change.cells} <= {"age"}
    for each in counterfactuals(clf, rows[0].iloc[:6], wanted="class 1"):
        assert {change.decided for change in each.changes} <= {"class 1"}
    with pytest.raises(OptionError, match="no node 'twon'"):
        counterfactuals(clf, X, locked=["twon"])
    with pytest.raises(OptionError, match="there is no class 'class 9'"):
        counterfactuals(clf, X, wanted="class 9")
    with pytest.raises(OptionError, match="one or two cells"):
        counterfactuals(clf, X, cells=3)


def test_the_nearest_day_in_a_state_of_dates_is_in_it():
    days = pd.date_range("2024-01-01", periods=120, freq="D")
    X = pd.DataFrame({"day": days})
    clf = AdditiveClassifier().fit(X, np.where(days < "2024-03-01", "early", "late"))
    for row in (0, 119):
        (change,) = counterfactuals(clf, X.iloc[[row]])[0].changes
        assert clf.predict(pd.DataFrame({"day": [pd.Timestamp(change.cells[0].value)]}))[0] == change.decided


def test_the_command_prints_them(rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows[0].head(3).to_csv("new.csv", index=False)
    clf = AdditiveClassifier(pairs=8, trees=False).fit(*rows)
    save_model(clf, "m.json")
    assert run(["explain", "m.json", "new.csv", "--row", "3", "--change", "--lock", "age"]) == 0
    (expected,) = counterfactuals(clf, rows[0].iloc[[1]], locked=["age"])
    assert str(expected).replace("row 0", "row 3") in capsys.readouterr().out
    assert run(["explain", "m.json", "new.csv", "--lock", "age"]) == 2
    assert "goes with --change" in capsys.readouterr().err
