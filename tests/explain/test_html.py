"""What notebooks show: the numbers of the text, nothing that runs or loads, no colour of its own behind the text."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier, NaiveBayesClassifier, check, explain
from tanager.decide import ThresholdDecision
from tanager.html_table import MAX_ROWS_SHOWN, html_table

EVIL = "<script>alert('a & b')</script>"


class Page(HTMLParser):
    """The elements, the attributes and the text of a page; whether every element is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data + "\n"


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


def test_the_strengths_of_effects_are_shown_the_largest_first(models):
    *_, effects = models
    overall = explain(effects)
    page = Page(overall._repr_html_())
    shown = [f"{nats:.4f}" for nats in sorted(overall.strength, reverse=True) if nats > 0]
    found = [line for line in page.text.split("\n") if line in set(shown)]
    assert found == shown
