"""A fitted classifier, and rows to judge it by, as one HTML page: its content as plain values, and the file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError, OptionError
from tanager.explain.explanation import baseline_words, log_base_rates
from tanager.files.paths import OutputKind, atomic_write, begins_with, check_writable
from tanager.metrics import Quality, event_code
from tanager.report.data_section import PageRows, describe_data
from tanager.report.intervals import describe_intervals
from tanager.report.json_page import Json
from tanager.report.model_card import About, card_markdown, make_card
from tanager.report.model_section import (
    describe_curves,
    describe_drivers,
    describe_effects,
    describe_missing,
    describe_network,
)
from tanager.report.quality_section import (
    JudgedRows,
    describe_decision,
    describe_event,
    describe_failures,
    describe_quality,
    judge_rows,
    no_better,
    wrong_rows,
)
from tanager.report.render import render
from tanager.table.schema import Category
from tanager.version import __version__

PAGE = OutputKind(
    "a page of `tanager report`", begins_with(rb'<!doctype html>.*<meta name="generator" content="Tanager">')
)
CARD = OutputKind("a model card of `tanager report`", begins_with(rb"(# .*\nModel card for |\{\s*\"model_card\")"))
CARD_WRITERS: dict[str, Callable[[dict[str, Json]], str]] = {
    ".md": card_markdown,
    ".json": lambda card: json.dumps({"model_card": card}, indent=2, ensure_ascii=False) + "\n",
}
FRAME_HEIGHT = 800
"""Pixels of a page in a notebook."""


def write_page(
    clf: TableClassifier,
    X: object,
    y: ArrayLike | None,
    path: str | os.PathLike[str] | None,
    quality: Quality | None = None,
    about: About | None = None,
    card: str | os.PathLike[str] | None = None,
    event: Category | None = None,
    keep_rows: bool = True,
    numbers: NDArray[np.integer] | None = None,
) -> str | Path:
    """See `tanager.report.report`; `numbers` are those of the rows in their file, where they are known."""
    check_is_fitted(clf)
    clf = getattr(clf, "to_model", lambda: clf)()  # one that decides has the model within
    if X is None and y is not None:
        raise DataError("the report was given classes y without the rows X they belong to.", hint="pass X too.")
    for file in (path, card):
        if file is not None:
            check_writable(file)
    write = None if card is None else card_writer(card)
    if path is not None and card is not None and Path(path).resolve() == Path(card).resolve():
        raise OptionError(f"page and card would both be written to {os.fspath(card)!r}; each needs a file of its own.")
    content = collect(clf, X, y, clf.quality_ if quality is None else quality, about, event, keep_rows, numbers)
    page = render(content)
    encoded = page.encode("utf-8", "xmlcharrefreplace")
    if card is not None and write is not None:
        with atomic_write(card) as stream:
            stream.write(write(cast(dict[str, Json], content["card"])).encode("utf-8", "replace"))
    if path is None:
        return Page(page)
    with atomic_write(path) as stream:
        stream.write(encoded)
    return Path(path)


class Page(str):
    """The text of a page, which a notebook shows in a frame."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" width="100%" height="{FRAME_HEIGHT}"></iframe>'


def card_writer(path: str | os.PathLike[str]) -> Callable[[dict[str, Json]], str]:
    """What makes the text of a model card, by the ending of its file's name."""
    suffix = Path(path).suffix.lower()
    if suffix not in CARD_WRITERS:
        raise OptionError(
            f"a model card is Markdown or JSON; {os.fspath(path)!r} ends in neither .md nor .json.",
            hint="name it card.md or card.json.",
        )
    return CARD_WRITERS[suffix]


def collect(
    clf: TableClassifier,
    X: object = None,
    y: ArrayLike | None = None,
    quality: Quality | None = None,
    about: About | None = None,
    event: Category | None = None,
    keep_rows: bool = True,
    numbers: NDArray[np.integer] | None = None,
) -> dict[str, Json]:
    """The content of the page, ready for JSON; without `keep_rows` no row of the table is in it."""
    rows = None if X is None else PageRows.read(clf, X, y, numbers)
    network = clf.model_
    if network.kind == "mixtures" or network.kind == "trees":
        raise OptionError(
            "the page answers for one network; this classifier is a mean of several.",
            hint="explain(clf) gives the strength of each attribute; structure='tan' learns one network.",
        )
    judged = judge_rows(clf, X, rows, quality)
    code = choose_event(clf, None if judged is None else judged.quality, event)
    if judged is not None and code is not None:
        named = event is not None or judged.quality.event is not None or clf.decision_ is not None
        judged = replace(judged, quality=replace(judged.quality, event=clf.classes_.tolist()[code] if named else None))
    shown = int(np.argmax(clf.class_count_)) if code is None else code
    decided = None if judged is None else describe_decision(clf.decision_, judged.quality)
    facts = (About() if about is None else about).describe(clf)
    checked = describe_data(clf, X, y, rows)
    page: dict[str, Json] = {
        "version": __version__,
        "title": facts["title"],
        "about": facts,
        "issues": worst_issues(clf, judged, checked["findings"]),
        "network": describe_network(network) if network.kind == "tables" else describe_effects(network),
        "missing": describe_missing(clf.missing_rule_),
        "base": {"log_rates": log_base_rates(clf).tolist(), "baseline": baseline_words(network), "shown": shown},
        "drivers": describe_drivers(clf, shown),
        "shapes": describe_curves(network, shown, float(clf.class_count_[shown] / clf.class_count_.sum())),
        "n_rows": 0 if rows is None else rows.table.n_rows,
        "rows": None if rows is None or not keep_rows else rows.describe(wrong_rows(rows, judged)),
        "quality": None if judged is None else describe_quality(judged.quality, clf.decision_),
        "event": None if judged is None else describe_event(judged.quality, decided),
        "decision": None if clf.decision_ is None else cast(Json, clf.decision_.to_dict()),
        "edits": [str(revision) for revision in clf.edits_],
        "decision_quality": decided,
        **describe_failures(clf, rows, judged),
        **checked,
    }
    codes = rows.codes[rows.on_page] if rows is not None and keep_rows else None
    return {**page, "intervals": describe_intervals(clf, codes), "card": make_card(page)}


def choose_event(clf: TableClassifier, quality: Quality | None, event: Category | None) -> int | None:
    """The class asked for, that of the quality or of the decision, or the rarer of two; None of more classes."""
    classes = clf.classes_.tolist()
    if event is None and quality is not None:
        event = quality.event
    if event is None and clf.decision_ is not None and clf.decision_.positive_code is not None:
        return clf.decision_.positive_code
    return event_code(event, classes, clf.class_count_.tolist())


def worst_issues(clf: TableClassifier, judged: JudgedRows | None, findings: Json) -> list[Json]:
    """That the model is worthless, and issues of high severity: of its training table, and of the rows given."""
    worthless = "" if judged is None else no_better(judged.quality)
    rows = [str(each["line"]) for each in cast(list[dict[str, Json]], findings or []) if each["severity"] == "high"]
    return list(dict.fromkeys([*([worthless] if worthless else []), *clf.issues_, *rows]))
