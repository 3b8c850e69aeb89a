"""The page's own inference against Python's, in the browser: the same numbers for any evidence with gaps."""

from __future__ import annotations

import numpy as np
import pytest

from report.models import class_with_parents, evidence, random_codes, table
from tanager import (
    BayesianNetworkClassifier,
    BCKGClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    explain,
    report,
)
from tanager.network.network import Network

N_PATTERNS = 100
MODELS = {
    "naive Bayes": lambda: NaiveBayesClassifier().fit(*table(1)),
    "TAN": lambda: TANClassifier().fit(*table(2)),
    "k-graph": lambda: BCKGClassifier().fit(*table(3)),
    "k-dependence": lambda: KDBClassifier(k=3).fit(*table(3, n_classes=2)),
    "class with parents": class_with_parents,
    "200 attributes": lambda: TANClassifier().fit(*table(5, n_columns=200)),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request, tmp_path_factory):
    """A classifier and the file of its page."""
    clf = MODELS[request.param]()
    return clf, report(clf, path=tmp_path_factory.mktemp("report") / "page.html")


def test_class_probabilities_equal_those_of_python(page, model):
    clf, path = model
    network = clf.network_
    codes = random_codes(network, N_PATTERNS)
    page.open(path)
    found = page.run("return arguments[0].map((codes) => window.tanagerReport.posterior(codes))", codes.tolist())
    expected = [list(network.query(network.target, evidence(network, row)).values()) for row in codes]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def test_contributions_equal_those_of_python_and_add_up(page, model):
    clf, path = model
    network = clf.network_
    codes = random_codes(network, N_PATTERNS if len(network.nodes) < 20 else 10, seed=1)
    # A row of labels, None where unknown: a network takes absent cells as missing.
    rows = [[None if c < 0 else network.columns[k].states[c] for k, c in enumerate(row[:-1])] for row in codes]
    expected = _explain(network, rows)
    page.open(path)
    answers = page.run(
        "return arguments[0].map((codes) => { const found = window.tanagerReport.answer(codes, -1);"
        "return [found.favoured, found.other, found.parts.map((part) => [part.node, part.value])]; })",
        codes.tolist(),
    )
    logs = page.run("return arguments[0].map((codes) => [...window.tanagerReport.logJoint(codes)])", codes.tolist())
    for row, (favoured, other, parts) in enumerate(answers):
        assert (favoured, other) == (expected.favoured[row], expected.against[row])
        values = np.zeros(len(network.nodes))
        for node, value in parts:
            values[node] = value
        wanted = [*expected.contributions[row], expected.prior[row]]
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-9)
        assert values.sum() == pytest.approx(logs[row][favoured] - logs[row][other], abs=1e-9)


def test_evidence_of_probability_zero_is_said_so(page, tmp_path):
    X, y = table(6, n_columns=2)
    clf = BayesianNetworkClassifier("naive-bayes").fit(X, y)
    network = clf.network_
    tables = list(network.tables)
    tables[0] = np.tile([1.0, 0.0], (len(tables[0]), 1))
    clf.network_ = Network(network.columns, network.dag, tuple(tables), network.target)
    page.open(report(clf, path=tmp_path / "page.html"), "#e=0.1")
    assert "probability zero" in page.text("#problem")
    page.run("window.tanagerReport.store.set(0, 0)")
    assert not page.element("#problem").is_displayed()
    assert page.text("#classes").count("%") == 3


def test_an_infinite_contribution_is_shown(page, tmp_path):
    X, y = table(6, n_columns=2, n_classes=2)
    clf = BayesianNetworkClassifier("naive-bayes").fit(X, y)
    network = clf.network_
    tables = list(network.tables)
    tables[0] = np.array([[1.0, 0.0], [0.5, 0.5]])
    clf.network_ = Network(network.columns, network.dag, tuple(tables), network.target)
    page.open(report(clf, path=tmp_path / "page.html"), "#e=0.1")
    assert page.text(".class-row.favoured").split() == ["class", "1", "100.0", "%"]
    assert "∞" in page.text("#waterfall .total")


def _explain(network: Network, rows: list[list[object]]):
    import pandas as pd

    return explain(network, pd.DataFrame(rows, columns=network.nodes[:-1], dtype=object))
