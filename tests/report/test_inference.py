"""The page's own inference against Python's, in the browser: the same numbers for any evidence with gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from report.models import (
    class_with_parents,
    grown_over_gaps,
    mixed_table,
    random_codes,
    rows_of,
    table,
    with_hidden_node,
    with_trees,
)
from tanager import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier, explain, report
from tanager.additive.model import AdditiveModel
from tanager.structure import KDependence

N_PATTERNS = 100
CONDITIONAL = {"parameters": "conditional"}
PAIRS = {"pairs": 8}
MODELS = {
    "naive Bayes": lambda: NaiveBayesClassifier().fit(*table(1)),
    "TAN": lambda: TANClassifier().fit(*table(2)),
    "k-graph": lambda: BayesianNetworkClassifier("bckg").fit(*table(3)),
    "k-dependence": lambda: BayesianNetworkClassifier(KDependence(3)).fit(*table(3, n_classes=2)),
    "class with parents": class_with_parents,
    "200 attributes": lambda: TANClassifier().fit(*table(5, n_columns=200)),
    "average": lambda: TANClassifier(**CONDITIONAL, missing="average").fit(*mixed_table(1)),
    "average, 200 attributes": lambda: NaiveBayesClassifier("frequency", missing="average").fit(
        *table(5, n_columns=200)
    ),
    "marginalize": lambda: BayesianNetworkClassifier("kdb", **CONDITIONAL, missing="marginalize").fit(*mixed_table(2)),
    "skip": lambda: BayesianNetworkClassifier("kdb", **CONDITIONAL, missing="skip").fit(*mixed_table(3, n_classes=2)),
    "skip, class with parents": lambda: class_with_parents(missing="skip"),
    "category": lambda: TANClassifier(**CONDITIONAL, missing="category").fit(*mixed_table(4, gaps=0.2)),
    "pairs": lambda: AdditiveClassifier(**PAIRS, missing="average").fit(*mixed_table(5, gaps=0.1)),
    "pairs, two classes": lambda: AdditiveClassifier(**PAIRS).fit(*mixed_table(6, n_classes=2)),
    "pairs, average": lambda: AdditiveClassifier(**PAIRS, missing="average").fit(*mixed_table(7, gaps=0.1)),
    "pairs, missing a state": lambda: AdditiveClassifier(**PAIRS).fit(*mixed_table(8, gaps=0.2)),
    "pairs, many completions": lambda: AdditiveClassifier(**PAIRS).fit(*table(10, n_columns=14)),
    "no pair": lambda: AdditiveClassifier(pairs=0).fit(*mixed_table(9)),
    "trees": lambda: with_trees(10),
    "trees grown over gaps": lambda: AdditiveClassifier().fit(*grown_over_gaps()),
    "trees, two classes, average": lambda: with_trees(11, n_classes=2, missing="average"),
    "hidden": with_hidden_node,
}


@pytest.fixture(params=MODELS, scope="module")
def model(request, tmp_path_factory):
    """A classifier and the file of its page."""
    clf = MODELS[request.param]()
    return clf, report(clf, path=tmp_path_factory.mktemp("report") / "page.html")


def patterns(clf, n_patterns: int, seed: int = 0) -> tuple[np.ndarray, pd.DataFrame]:
    """Random evidence as codes and as rows: the first with nothing known, the second with everything."""
    codes = random_codes(clf.model_, n_patterns, seed)
    codes[0] = -1
    codes[1, :-1] = np.random.default_rng(seed).integers(0, clf.model_.n_states[:-1])
    codes[:, clf.n_features_in_ :] = -1  # hidden nodes, and the class
    return codes, rows_of(clf.model_, codes[:, : clf.n_features_in_])


def test_class_probabilities_equal_those_of_predict_proba(page, model):
    clf, path = model
    codes, X = patterns(clf, N_PATTERNS)
    page.open(path)
    np.testing.assert_allclose(page.posterior(shown(clf, codes)), clf.predict_proba(X), rtol=0, atol=1e-9)


def test_the_parts_add_up_to_the_log_odds_of_predict_proba(page, model):
    clf, path = model
    codes, X = patterns(clf, N_PATTERNS if len(clf.model_.nodes) < 20 else 10, seed=1)
    logs = clf.predict_log_proba(X)
    page.open(path)
    for row, (favoured, other, parts) in enumerate(answers(page, shown(clf, codes))):
        ranked = np.argsort(-logs[row], kind="stable")
        if is_tied(logs[row]):
            continue
        assert [favoured, other] == ranked[:2].tolist()
        expected = logs[row, favoured] - logs[row, other]
        assert sum(part["value"] for part in parts) == pytest.approx(expected, abs=1e-9)


def test_the_parts_of_tables_are_those_of_explain(page, model):
    clf, path = model
    if isinstance(clf.model_, AdditiveModel):
        pytest.skip("the parts of effects are compared with the effects themselves")
    codes, X = patterns(clf, N_PATTERNS if len(clf.model_.nodes) < 20 else 10, seed=1)
    expected, logs = explain(clf, X), clf.predict_log_proba(X)
    page.open(path)
    for row, (_, _, parts) in enumerate(answers(page, shown(clf, codes))):
        if is_tied(logs[row]):
            continue
        values = np.zeros(len(clf.model_.nodes) + 2)  # attributes, baseline, base rate, what is missing: node -1
        for part in parts:
            values[part["node"] + part.get("base", 0)] = part["value"]
        baseline, base_rate = expected.baseline[row], expected.base_rate[row]
        wanted = [*expected.contributions[row], baseline, base_rate, expected.remainder[row]]
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-9)


def test_the_parts_of_effects_are_the_effects_themselves(page, tmp_path):
    clf = MODELS["pairs"]()
    network = clf.model_
    codes, _ = patterns(clf, 20, seed=2)
    coarse = network.coarsen(np.where(codes < 0, network.n_states, codes)[:, :-1])
    page.open(report(clf, path=tmp_path / "page.html"))
    for row, (favoured, other, parts) in enumerate(answers(page, shown(clf, codes))):
        for part in parts:
            if part.get("rest"):
                assert (codes[row, :-1] < 0).any()
                continue
            effect = network.intercept - np.log(clf.class_count_)
            if part.get("base"):
                effect = np.log(clf.class_count_)
            elif "pair" in part:
                parent, child = network.pairs[part["pair"]]
                assert (part["node"], part["other"]) == (parent, child)
                effect = network.tables[part["pair"]][coarse[row, parent], coarse[row, child]]
            elif part["node"] < len(network.mains):
                effect = network.mains[part["node"]][codes[row, part["node"]]]  # -1: the entry of a missing cell
            assert part["value"] == pytest.approx(effect[favoured] - effect[other], abs=1e-9)


def is_tied(logs: np.ndarray) -> bool:
    """Whether rounding decides which class is favoured, as with no evidence where classes are equally frequent."""
    second, first = np.sort(logs)[-2:]
    return first - second < 1e-9


def shown(clf, codes: np.ndarray) -> list[list[int]]:
    """The codes as the page has them: a gap that is a state of its own is never unknown, but for an unseen category."""
    gap_codes = np.array([c.n_states - 1 if c.missing_state else -1 for c in clf.model_.columns])
    return np.where(codes < 0, gap_codes, codes).tolist()


def answers(page, codes: list[list[int]]) -> list[tuple[int, int, list[dict]]]:
    return page.run(
        "return arguments[0].map((codes) => { const found = window.tanagerReport.answer(codes, -1);"
        "return [found.favoured, found.other, found.parts]; })",
        codes,
    )


def with_first_table(table_of_a: list[list[float]], n_classes: int) -> BayesianNetworkClassifier:
    """Naive Bayes of two attributes, the first with this table."""
    clf = BayesianNetworkClassifier("naive-bayes").fit(*table(6, n_columns=2, n_classes=n_classes))
    clf.model_ = replace(clf.model_, tables=(np.array(table_of_a), *clf.model_.tables[1:]))
    clf.missing_rule_ = replace(clf.missing_rule_, network=clf.model_)
    return clf


def test_evidence_of_probability_zero_is_said_so(page, tmp_path):
    clf = with_first_table([[1.0, 0.0]] * 3, n_classes=3)
    page.open(report(clf, path=tmp_path / "page.html"), "#e=0.1")
    assert "probability zero" in page.text("#problem")
    page.run("window.tanagerReport.store.set(0, 0)")
    assert not page.element("#problem").is_displayed()
    assert page.text("#classes").count("%") == 3


def test_an_infinite_contribution_is_shown(page, tmp_path):
    clf = with_first_table([[1.0, 0.0], [0.5, 0.5]], n_classes=2)
    page.open(report(clf, path=tmp_path / "page.html"), "#e=0.1")
    assert page.text(".class-row.favoured").split() == ["class", "1", "100.0", "%"]
    assert "∞" in page.text("#waterfall .total")
