"""What notebooks show: the numbers of the text, nothing that runs or loads, no colour of its own behind the text."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier, NaiveBayesClassifier, check, explain
from tanager.decide import ThresholdDecision
from tanager.html_table import MAX_ROWS_SHOWN, html_table

EVIL = "<script>alert('a & b')</script>"


class Page:
    """The elements, the attributes and the text of a page, whose elements are all closed."""

    def __init__(self, page: str) -> None:
        inside = list(ElementTree.fromstring(f"<page>{page}</page>").iter())[1:]
        self.elements = [element.tag for element in inside]
        self.attributes = [pair for element in inside for pair in element.items()]
        self.text = "\n".join(text for element in inside for text in (element.text, element.tail) if text)


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = pd.DataFrame({EVIL: rng.normal(size=200) + y, "plain": rng.integers(0, 4, 200)})
    labels = pd.Series(np.where(y, EVIL, "no"), name="<b>class</b>")
    X.loc[0, EVIL] = None
    tables = NaiveBayesClassifier().fit(X, labels)
    tables.decision_ = ThresholdDecision((EVIL, "no"), "no", 0.3)
    return X, labels, tables, AdditiveClassifier(trees=False).fit(X, labels)


@pytest.fixture(scope="module")
def pages(models):
    X, y, tables, effects = models
    return {
        "explanation of tables": explain(tables, X.iloc[:12]),
        "explanation of effects": explain(effects, X.iloc[:3]),
        "row": explain(effects, X)[0],
        "overall": explain(tables),
        "overall of effects": explain(effects),
        "network": tables.model_,
        "table": tables.model_.table(EVIL),
        "effects": explain(effects),
        "checkup": check(X, y),
    }


def test_nothing_in_a_page_runs_or_loads_and_colours_are_those_of_the_notebook(pages):
    for shown in pages.values():
        page = Page(shown._repr_html_())
        assert set(page.elements) <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert {attribute for attribute, _ in page.attributes} == {"style"}
        assert "url(" not in " ".join(value for _, value in page.attributes)
        texts = [value for _, value in page.attributes if "height" not in value]  # all but bars
        assert all("background: none" in value or "background" not in value for value in texts)
        assert EVIL in page.text


def test_the_numbers_of_an_explanation_are_those_of_its_text(pages):
    for name in ("explanation of tables", "explanation of effects"):
        for row in pages[name]:
            page = Page(row._repr_html_())
            for line in str(row).split("\n")[1:]:
                for part in line.strip().split("  ", 1):
                    assert part.strip() in page.text


def test_rows_that_are_not_shown_are_counted(pages):
    assert "... and 2 more rows" in Page(pages["explanation of tables"]._repr_html_()).text
    page = Page(html_table("many", ["a"], [[str(k)] for k in range(MAX_ROWS_SHOWN + 5)]))
    assert page.elements.count("tr") == MAX_ROWS_SHOWN + 1
    assert "... and 5 more" in page.text
