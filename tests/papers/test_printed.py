"""Means that a page prints: read back as they were written, and kept for rivals without records."""

from __future__ import annotations

import pytest

from experiments.papers.printed import keep_printed, read_table
from experiments.studies.entries import Entry, make_entries, parse_estimator
from experiments.studies.results import Results
from experiments.studies.study import Study
from experiments.studies.tables import measure_table

SETS, OURS, RIVAL = ["a", "b"], "tanager default", "a rival"


def results(values, text="OnTable(x)"):
    """Of both classifiers: {(set, classifier): (log-loss, accuracy)}."""
    records = [
        {
            "set": name,
            "classifier": who,
            "estimator": text,
            "fold": 0,
            "test_rows": 9,
            "log_loss": loss,
            "accuracy": own,
        }
        for (name, who), (loss, own) in values.items()
    ]
    return Results(SETS, [OURS, RIVAL], records)


def page_of(found, title="The field today"):
    tables = [measure_table(found, measure) for measure in ("log_loss", "error")]
    return "\n".join(["# Experiments", "", f"## {title}", "", *(table.markdown() for table in tables)])


@pytest.fixture
def study():
    entries = [*make_entries({OURS: "default"}), Entry(RIVAL, parse_estimator("sklearn.svm.SVC"))]
    return Study("field", "The field today", [], entries, measures=("log_loss", "error"))


def test_a_table_is_read_as_it_was_written_and_that_of_another_section_is_not():
    found = results({("a", OURS): (0.25, 0.9), ("b", OURS): (1.5, 0.5), ("a", RIVAL): (0.3, 0.8)})
    other = results({("a", OURS): (9.0, 0.1), ("a", RIVAL): (9.0, 0.1)})
    page = page_of(other, "A paper") + "\n" + page_of(found)
    expected = {OURS: {"a": 0.25, "b": 1.5}, RIVAL: {"a": 0.3}}
    assert read_table(page, "The field today", "log-loss in nats") == expected
    assert read_table(page, "Nothing", "log-loss in nats") == {}


def test_a_rival_without_a_record_keeps_its_printed_means_and_ours_never_do(study):
    page = page_of(results({("a", OURS): (0.25, 0.9), ("a", RIVAL): (0.3, 0.8), ("b", RIVAL): (0.7, 0.6)}))
    renewed, kept = keep_printed(study, results({("b", RIVAL): (0.5, 0.7)}), page)
    assert kept.to_dict()["log_loss"] == {OURS: {}, RIVAL: {"a": 0.3, "b": 0.5}}
    assert kept.to_dict()["error"][RIVAL] == pytest.approx({"a": 0.2, "b": 0.3})
    assert renewed.notes[-1].endswith("a rival on 1 sets.")
    assert keep_printed(study, results({}), "")[0] is study
