"""The learning curve on the page in a real browser, against the curve itself."""

from __future__ import annotations

import numpy as np
import pytest

from report.models import table
from tanager import NaiveBayesClassifier, report
from tanager.refits.curve import LearningCurve
from tanager.report.learning_curve import describe_curve


@pytest.fixture(scope="module")
def curve() -> LearningCurve:
    n_rows = np.array([20.0, 40.0, 80.0, 160.0])
    noise = np.random.default_rng(0).exponential(0.2, size=(200, 1))
    return LearningCurve(n_rows, 0.3 + 4.0 / n_rows + noise)


def test_what_is_expected_of_more_rows_is_what_the_curve_says(curve):
    found = describe_curve(curve)
    n_rows, middle, low, high = np.array(found["expected"]).T
    expected = curve.at(n_rows.tolist())
    np.testing.assert_allclose([low, middle, high], expected)
    assert n_rows[-1] == 640
    np.testing.assert_allclose(np.array(found["measured"]).T, [curve.n_rows, curve.log_loss])


@pytest.mark.parametrize("with_rows", [True, False])
def test_every_size_has_its_dot_and_larger_tables_their_interval(page, curve, with_rows, tmp_path):
    X, y = table(1, n_rows=60)
    rows = (X, y) if with_rows else ()
    clf = NaiveBayesClassifier().fit(X, y)
    page.open(report(clf, *rows, path=tmp_path / "page.html", curve=curve))
    assert page.text("#more-rows") == curve.headline
    dots = page.run(
        "return [...document.querySelector('.card:has(#more-rows)').querySelectorAll('circle title')]"
        ".map((each) => each.textContent)"
    )
    values = [f"{loss:.4g}" for loss in curve.log_loss]
    assert dots == [f"{n:.0f} rows: {loss}" for n, loss in zip(curve.n_rows, values, strict=True)]
    lines = "return document.querySelector('.card:has(#more-rows)').querySelectorAll('.whisker').length"
    assert page.run(lines) == 4
