"""Tables, pictures and the page of a study; the field on small sets."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments.studies.data_sets import find_data_sets
from experiments.studies.field import field_study
from experiments.studies.page import write_page
from experiments.studies.pictures import draw_pictures
from experiments.studies.plan import Request
from experiments.studies.results import Results
from experiments.studies.tables import failures_table, measure_table, versus_table, wilcoxon_table
from studies.small_sets import write_sets
from tanager.errors import OptionError


def results_of(errors):
    """Results with these errors, (n_sets, n_classifiers); NaN is a failure."""
    records = []
    for k, row in enumerate(errors):
        for classifier, error in zip("abc", row, strict=False):
            values = {"failure": "bad | luck"} if np.isnan(error) else {"accuracy": 1 - error, "test_rows": 10}
            records.append({"set": f"set {k}", "classifier": classifier, "fold": 0} | values)
    return Results([f"set {k}" for k in range(len(errors))], list("abc"[: len(errors[0])]), records)


def test_a_measure_table_has_values_means_and_ranks_over_common_sets():
    table = measure_table(results_of([[0.1, 0.2], [0.3, 0.1], [0.4, np.nan]]), "error")
    assert [list(row) for row in table.rows] == [
        ["set 0", "10.00", "20.00"],
        ["set 1", "30.00", "10.00"],
        ["set 2", "40.00", ""],
        ["**mean**", "20.00", "15.00"],
        ["**mean rank**", "1.50", "1.50"],
    ]
    assert "2 of 3 sets" in table.remarks[0]


def test_ranks_leave_out_who_has_fewer_than_half_of_the_sets():
    results = results_of([[0.1, 0.2, np.nan], [0.3, 0.1, np.nan], [0.4, 0.2, 0.1]])
    assert results.with_share_of_sets(0.5, "error").classifiers == ["a", "b"]
    assert results.with_share_of_sets(0.3, "error").classifiers == ["a", "b", "c"]
    np.testing.assert_allclose(
        results.with_share_of_sets(0.5, "error").matrix("error"), [[0.1, 0.2], [0.3, 0.1], [0.4, 0.2]]
    )


def test_failures_are_listed_with_their_folds():
    table = failures_table(results_of([[0.1, np.nan]]))
    assert [list(row) for row in table.rows] == [["set 0", "b", "1", "bad | luck"]]
    assert "bad \\| luck" in table.markdown()


def test_tests_compare_row_with_column_and_reference_with_others():
    results = results_of([[0.1 + k / 100, 0.2 + k / 50, 0.05] for k in range(10)])
    table = wilcoxon_table(results, "error")
    assert [len(row) for row in table.rows] == [3, 3]
    assert table.rows[0][1].endswith("⇐")
    assert table.rows[0][2].endswith("⇑")
    versus = versus_table(results, "error", "a").rows
    assert [row[1] for row in versus] == ["10/0/0", "0/0/10"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sets").mkdir()
    return write_sets(tmp_path / "sets")


def test_a_page_has_notes_tables_pictures_versions_and_the_command(folder, tmp_path):
    (study,) = Request(["naive-bayes:frequency", "tan:ll:frequency", "tan:fcll:frequency"], n_folds=3).studies(folder)
    results = study.run(tmp_path / "out")
    pictures = draw_pictures(study, results, tmp_path / "pictures")
    assert {path.suffix for path in (tmp_path / "pictures").iterdir()} == {".png", ".svg"}
    write_page(tmp_path / "page.md", "tanager compare ...", [(study, results, pictures)])
    text = (tmp_path / "page.md").read_text()
    assert all(note in text for note in study.notes)
    assert all(table.title in text for table in study.tables(results))
    assert "`tanager compare ...`" in text
    assert re.search(r"\d{4}-\d\d-\d\d, Python .*tanager [\d.]+, .*scikit-learn", text)
    seconds = sum(record["fit_seconds"] + record["predict_seconds"] for record in results.records)
    assert f"Processor seconds to fit and predict: {seconds:.0f} in all; " in text
    assert results.seconds().keys() == {entry.name for entry in study.entries}
    links = re.findall(r"\]\((pictures/[^)]+)\)", text)
    assert len(links) == len(pictures) == 5
    assert all((tmp_path / link).is_file() for link in links)


def test_renewing_a_section_keeps_the_others_and_the_order_of_titles(folder, tmp_path):
    (study,) = Request(["nb=naive-bayes:frequency", "tan"], sets=["easy"], n_folds=3).studies(folder)
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


def test_the_field_runs_every_entry_on_mixed_sets_with_gaps(folder, tmp_path):
    study = field_study(find_data_sets(folder)[1:2])
    results = study.run(tmp_path / "out")
    assert not results.failures
    assert not np.isnan(results.matrix("log_loss")).any()
    assert {
        "logistic regression",
        "random forest (300)",
        "gradient boosting",
        "CategoricalNB",
        "GaussianNB",
        "SVC",
        "k-NN",
    } < {entry.name for entry in study.entries}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(), "nothing to compare"),
        (Request(["tan", "tan"]), "'tan' is named twice"),
        (Request(["tan"], sets=["esy"]), "no data set 'esy'; the nearest are 'easy'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_work(folder, request_, words):
    with pytest.raises(OptionError) as caught:
        request_.studies(folder)
    assert words in str(caught.value)
