"""Everything the page shows, as plain values: the model, how it was learnt, the rows, and how good it is on them."""

from __future__ import annotations

from typing import cast

from numpy.typing import ArrayLike

from tanager.classifiers.base import TableClassifier
from tanager.errors import OptionError
from tanager.explain.explanation import baseline_words, log_base_rates
from tanager.metrics import Quality
from tanager.report.data_section import PageRows, describe_data
from tanager.report.intervals import describe_intervals, with_bands
from tanager.report.json_page import Json, to_page_json
from tanager.report.model_card import About, describe_learning, make_card
from tanager.report.model_section import describe_drivers, describe_effects, describe_missing, describe_network
from tanager.report.quality_section import describe_decision, describe_failures, describe_quality, judge_rows
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
) -> dict[str, Json]:
    """The content of the page, ready for JSON."""
    rows = None if X is None else PageRows.read(clf, X, y)
    clf = with_bands(clf, X, y, rows)
    network = clf.model_
    if network.kind == "mixtures" or network.kind == "trees":
        raise OptionError(
            "the page answers for one network; this classifier is a mean of several.",
            hint="explain(clf, X) says what each attribute adds; structure='tan' learns one network.",
        )
    judged = judge_rows(clf, X, rows, quality)
    facts = (About() if about is None else about).describe(clf)
    page: dict[str, Json] = {
        "version": __version__,
        "title": facts["title"],
        "about": facts,
        "network": describe_network(network) if network.kind == "tables" else describe_effects(network),
        "gaps": describe_missing(clf.missing_rule_),
        "base": {"log_rates": log_base_rates(clf).tolist(), "baseline": baseline_words(network)},
        "learning": describe_learning(clf),
        "drivers": describe_drivers(clf, rows),
        "rows": None if rows is None else rows.describe(),
        "quality": None if judged is None else describe_quality(judged.quality, clf.decision_),
        "decision": None if clf.decision_ is None else cast(Json, clf.decision_.to_dict()),
        "edits": [str(revision) for revision in clf.edits_],
        "decision_quality": None if judged is None else describe_decision(clf.decision_, judged.quality),
        **describe_failures(clf, rows, judged),
        **describe_data(clf, X, y, rows),
    }
    room = max(ROOM_FOR_POSTERIOR, ROOM_FOR_ALL - len(to_page_json(page)))
    intervals = describe_intervals(clf, None if rows is None else rows.codes[rows.on_page], room)
    return {**page, "intervals": intervals, "card": make_card(page)}
