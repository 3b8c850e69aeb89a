"""The tables of a study, and the page that keeps its other sections."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from experiments.studies.page import write_page
from experiments.studies.plan import Request
from experiments.studies.results import Results
from experiments.studies.tables import failures_table, measure_table


def results_of(errors):
    """Results with these errors, (n_sets, n_classifiers); NaN is a failure."""
    records = []
    for k, row in enumerate(errors):
        for classifier, error in zip("abc", row, strict=False):
            values = {"failure": "bad | luck"} if np.isnan(error) else {"accuracy": 1 - error, "test_rows": 10}
            records.append({"set": f"set {k}", "classifier": classifier, "fold": 0} | values)
    return Results([f"set {k}" for k in range(len(errors))], list("abc"[: len(errors[0])]), records)


def test_a_measure_table_has_values_means_and_ranks_over_common_sets():
    results = results_of([[0.1, 0.2], [0.3, 0.1], [0.4, np.nan]])
    table = measure_table(results, "error")
    assert [list(row) for row in table.rows] == [
        ["set 0", "10.00", "20.00"],
        ["set 1", "30.00", "10.00"],
        ["set 2", "40.00", ""],
        ["**mean**", "20.00", "15.00"],
        ["**mean rank**", "1.50", "1.50"],
    ]
    assert "2 of 3 sets" in table.remarks[0]
    assert [list(row) for row in failures_table(results).rows] == [["set 2", "b", "1", "bad | luck"]]


def test_a_section_that_is_written_again_keeps_the_others_and_the_order_of_titles(sets, tmp_path):
    (study,) = Request(["nb=naive-bayes:frequency", "tan"], sets=["easy"], n_folds=3).studies(tmp_path / "sets")
    results, page = study.run(tmp_path / "out"), tmp_path / "page.md"
    first, last = (replace(study, title=title) for title in ("First", "Last"))
    write_page(page, "all of it", [(last, results, [])])
    before = page.read_text()
    write_page(page, "a part", [(first, results, [])], ["First", "Last"])
    text = page.read_text()
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["First", "Last"]
    assert text.count("`all of it`") == text.count("`a part`") == 1
    assert text.partition("## Last")[2].strip() == before.partition("## Last")[2].strip()
    write_page(page, "again", [(first, results, [])], ["First", "Last"])
    assert page.read_text() == text.replace("`a part`", "`again`")
