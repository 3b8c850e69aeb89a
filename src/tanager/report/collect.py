"""Everything the page shows, as plain values: the model, how it was learnt, the rows, and how good it is on them."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.base import TableClassifier
from tanager.errors import OptionError
from tanager.explain.explanation import baseline_words, log_base_rates
from tanager.metrics import Quality, event_code
from tanager.report.curves import describe_curves
from tanager.report.data_section import PageRows, describe_data
from tanager.report.intervals import describe_intervals, with_bands
from tanager.report.json_page import Json, to_page_json
from tanager.report.model_card import About, describe_learning, make_card
from tanager.report.model_section import describe_drivers, describe_effects, describe_missing, describe_network
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
from tanager.table.schema import Category
from tanager.version import __version__

ROOM_FOR_ALL = 2_700_000
"""Characters of the content, with a posterior that answers for any evidence: with its scripts a page has 3 MB."""
ROOM_FOR_POSTERIOR = 700_000
"""Characters that a posterior may always take: of two classes it hardly has more."""


def collect(
    clf: TableClassifier,
    X: object = None,
    y: ArrayLike | None = None,
    quality: Quality | None = None,
    about: About | None = None,
    event: Category | None = None,
    keep_rows: bool = True,
) -> dict[str, Json]:
    """The content of the page, ready for JSON; without `keep_rows` no row of the table is in it."""
    rows = None if X is None else PageRows.read(clf, X, y)
    clf = with_bands(clf, X, y, rows)
    network = clf.model_
    if network.kind == "mixtures" or network.kind == "trees":
        raise OptionError(
            "the page answers for one network; this classifier is a mean of several.",
            hint="explain(clf, X) says what each attribute adds; structure='tan' learns one network.",
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
        "learning": describe_learning(clf),
        "drivers": describe_drivers(clf, rows, shown),
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
    room = max(ROOM_FOR_POSTERIOR, ROOM_FOR_ALL - len(to_page_json(page)))
    codes = rows.codes[rows.on_page] if rows is not None and keep_rows else None
    return {**page, "intervals": describe_intervals(clf, codes, room), "card": make_card(page)}


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
