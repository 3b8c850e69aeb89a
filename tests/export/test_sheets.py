"""The workbook computes what predict_proba does, and a scorecard adds up to it within the error it states."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from export.engines import by_libreoffice
from export.test_exports import DATA, fitted, fitted_rows, sets_to_test, with_gaps
from files.mixed_table import CATEGORICAL, LABELS, MIXED
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    OptionError,
    TANClassifier,
    export,
)
from tanager.check.preprocessing import Missing, Number, Recipe
from tanager.classifiers.base import encode_table
from tanager.export.targets import TARGETS
from tanager.files.model_file import from_document, to_document

OPTIONS = {"sql": {"table": "t", "key": "k"}}
MODELS = {
    "naive Bayes": lambda: NaiveBayesClassifier(categorical_features=CATEGORICAL),
    "pairs": lambda: TANClassifier(categorical_features=CATEGORICAL, missing="skip"),
    "effects": lambda: AdditiveClassifier(trees=False, categorical_features=CATEGORICAL),
}


@pytest.mark.parametrize("kind", MODELS)
def test_the_workbook_is_equal_to_predict_proba_when_libreoffice_recalculates_it(kind, tmp_path):
    clf = MODELS[kind]().fit(MIXED, LABELS)
    rows = pa.concat_tables([MIXED.slice(0, 10), with_gaps(MIXED, 0.2).slice(0, 20)])
    shares = by_libreoffice(clf, rows, tmp_path)
    refused = np.isnan(shares[:, 0])
    assert refused.any() == (kind == "effects")
    assert not refused[:10].any()
    np.testing.assert_allclose(shares[~refused], clf.predict_proba(rows)[~refused], rtol=0, atol=1e-9)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no benchmark tables in {DATA}; set TANAGER_DATA")
@pytest.mark.parametrize("name", sets_to_test())
def test_the_workbook_is_equal_to_predict_proba_on_benchmark_sets(name, tmp_path):
    """Of a model that a workbook can say: one of effects without trees, or one of pairs."""
    X, y = fitted_rows(name)
    clf = fitted("TAN with gaps skipped" if len(set(y)) > 2 else "effects of order 2", name)
    rows = X.slice(0, 10)
    rows = pa.concat_tables([rows, with_gaps(rows, 0.1)])
    shares = by_libreoffice(clf, rows, tmp_path)
    refused = np.isnan(shares[:, 0])
    assert not refused[~clf.missing_rule_.has_unknown(encode_table(clf, rows)[1])].any()
    np.testing.assert_allclose(shares[~refused], clf.predict_proba(rows)[~refused], rtol=0, atol=1e-9)


def test_a_text_that_looks_like_a_formula_stays_text():
    hue = ["=1+1", "b"] * 10
    clf = NaiveBayesClassifier().fit(pd.DataFrame({"=hue": hue}), hue)
    book = openpyxl.load_workbook(io.BytesIO(export(clf, "excel", rows=1)))
    assert book["Lists"]["A2"].value == "=1+1"
    assert {book["Lists"]["A2"].data_type, book["Rows"]["A1"].data_type} == {"s"}


@pytest.fixture(scope="module")
def two_classes():
    return NaiveBayesClassifier(categorical_features=CATEGORICAL).fit(MIXED, LABELS)


@pytest.mark.parametrize("double", [5.0, 20.0])
def test_points_add_up_to_the_log_odds_within_the_error_that_the_card_states(two_classes, double):
    rows = csv.DictReader(io.StringIO(export(two_classes, "scorecard", double=double, even=300.0)))
    points = {(row["attribute"], row["state"]): float(row["points"]) for row in rows if row["points"]}
    columns, codes = two_classes.model_.columns[:-1], encode_table(two_classes, MIXED)[1]
    for row, shares in zip(codes, two_classes.predict_proba(MIXED), strict=True):
        cells = [(column.name, str(column.states[code])) for column, code in zip(columns, row, strict=True)]
        score = points["base score", ""] + sum(points[cell] for cell in cells)
        exact = 300.0 + double * math.log2(shares[1] / shares[0])
        assert abs(score - exact) <= points["rounding moves a score by at most", ""] + 1e-6


def test_texts_like_formulas_are_escaped_in_the_scorecard():
    hue = ["=cmd|' /C calc'!A0", "x\r=1+2"] * 10
    clf = NaiveBayesClassifier().fit(pd.DataFrame({"@hue": hue}), ["+no", "-yes"] * 10)
    assert '"x\r=1+2"' in export(clf, "scorecard")  # bare, the rest of the line would be a cell of its own
    cells = [cell for row in csv.reader(io.StringIO(export(clf, "scorecard"))) for cell in row[:-1]]
    assert "'=cmd|' /C calc'!A0" in cells
    assert "'@hue" in cells
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)


@pytest.mark.parametrize("text", ["\uffff", "a\x01", "a\r\nb", "_x000D_", "a" * 32_768, "\U0001f99c" * 16_384], ids=len)
def test_texts_that_a_workbook_would_change_are_refused(text):
    clf = NaiveBayesClassifier().fit(pd.DataFrame({"hue": [text, "b"] * 10}), ["no", "yes"] * 10)
    with pytest.raises(OptionError, match=r"no place for the text[\s\S]*python, js, c and sql"):
        export(clf, "excel", rows=1)


def test_the_workbook_takes_as_missing_what_the_recipe_does(tmp_path):
    raw = pa.table({"price": [1.0, 2.0, 5.0, -9.0] * 5, "rooms": [1, 2, -1, 3] * 5, "hue": ["a", "b", "?", "a"] * 5})
    recipe = Recipe((Number("price", missing=("-9",)), Number("rooms", missing=("-1",)), Missing("hue", ("?",))))
    clf = NaiveBayesClassifier(categorical_features=["rooms"], missing="skip").fit(
        recipe.apply(raw), ["no", "yes"] * 10
    )
    clf.recipe_ = recipe
    np.testing.assert_allclose(
        by_libreoffice(clf, raw, tmp_path), clf.predict_proba(recipe.apply(raw)), rtol=0, atol=1e-9
    )


def test_the_longest_text_of_a_cell_is_carried():
    hue = ["a" * 32_767, "a" * 32_766 + "b", "line\nend"] * 10
    clf = NaiveBayesClassifier().fit(pd.DataFrame({"hue": hue}), ["no", "yes", "yes"] * 10)
    book = openpyxl.load_workbook(io.BytesIO(export(clf, "excel", rows=1)))
    assert {book["Lists"].cell(row, 1).value for row in (2, 3, 4)} == set(hue)


def of_three_attributes() -> BayesianNetworkClassifier:
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 4)).astype(float), columns=list("abcd"))
    clf = BayesianNetworkClassifier("kdb", parameters="frequency", categorical_features="all")
    return clf.fit(X, (X["a"] + X["b"] + X["c"]) % 2)


def of_three_classes() -> BayesianNetworkClassifier:
    return NaiveBayesClassifier().fit(pd.DataFrame({"hue": ["a", "b", "a"] * 10}), ["no", "yes", "perhaps"] * 10)


def with_empty_label() -> BayesianNetworkClassifier:
    return NaiveBayesClassifier().fit(pd.DataFrame({"hue": ["a", "b"] * 10}), ["", "yes"] * 10)


def with_zeros() -> BayesianNetworkClassifier:
    document = to_document(NaiveBayesClassifier().fit(pd.DataFrame({"hue": ["a", "b"] * 10}), ["no", "yes"] * 10))
    return from_document(
        json.loads(json.dumps({**document, "tables": [[[1.0, 0.0], [0.0, 1.0]], document["tables"][1]]}))
    )


@pytest.mark.parametrize(
    ("model", "words", "to"),
    [
        (of_three_attributes, "looks at more of them together", "scorecard"),
        (of_three_classes, "two classes; the model has 3", "scorecard"),
        (with_empty_label, "an empty label", "excel"),
        (with_zeros, "a probability of zero", "scorecard"),
        (with_zeros, "a probability of zero", "excel"),
    ],
)
def test_what_a_target_cannot_say_is_refused_with_targets_that_can(model, words, to):
    clf = model()
    with pytest.raises(OptionError, match=words) as caught:
        export(clf, to, **OPTIONS.get(to, {}))
    named = [target for target in TARGETS if re.search(rf"\b{target}\b", caught.value.hint)]
    assert len(named) >= 2
    for target in named:
        assert export(clf, target, **OPTIONS.get(target, {}))
