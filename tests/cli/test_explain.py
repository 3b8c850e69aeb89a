"""`tanager explain` prints what `tanager.explain` finds."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cli.iris_table import NAMES, iris_table
from tanager import explain, load_model
from tanager.cli.main import run
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table
from tanager.metrics.quality import headline

ROWS = iris_table().select(NAMES).take(list(range(0, 150, 30)))


def model_and_rows() -> None:
    write_table(iris_table(), "iris.csv")
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", "--no-validate"]) == 0
    write_table(ROWS, "rows.csv")


@pytest.fixture
def iris(tmp_path, monkeypatch, fill):
    """A folder with a model, and five rows of the table without the class; the attributes of those rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    fill(model_and_rows)
    return ROWS


def test_json_is_the_explanation_of_python(iris, capsys):
    assert run(["explain", "m.json", "rows.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    expected = explain(load_model("m.json"), iris).to_dict()["rows"]
    assert json.loads(out) == [{**row, "row": row["row"] + 2} for row in json.loads(json.dumps(expected))]


def test_the_text_is_that_of_python_with_as_many_terms_as_asked_for(iris, capsys):
    for top, others in ((15, 0), (1, 5)):
        assert run(["explain", "m.json", "rows.csv", "--top", str(top)]) == 0
        out = capsys.readouterr().out
        expected = [replace(row, row=row.row + 2).text(top) for row in explain(load_model("m.json"), iris)]
        assert out == "".join(f"{text}\n\n" for text in expected)
        assert out.count("3 other attributes") == others


def test_a_class_can_be_named_and_rows_come_from_stdin(iris, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("rows.csv").read_bytes())))
    assert run(["explain", "m.json", "-", "--against", "virginica", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["against"] for row in rows} == {"virginica"}
    assert rows == explain(load_model("m.json"), iris, against="virginica").to_dict()["rows"]


def test_classes_that_are_numbers_are_found_by_their_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("x,y\n" + "u,0\nv,1\n" * 5)
    run(["fit", "a.csv", "--class", "y", "-o", "m.json"])
    assert run(["explain", "m.json", "a.csv", "--against", "1", "--json"]) == 0
    assert {row["against"] for row in json.loads(capsys.readouterr().out)} == {"1"}


def test_the_strengths_have_the_cross_validated_quality_as_their_headline(iris, capsys):
    command = ["fit", "iris.csv", "--class", "species", "-o", "m.json", "--structure", "naive-bayes"]
    assert run([*command, *FREQUENCIES]) == 0
    assert run(["explain", "m.json"]) == 0
    assert capsys.readouterr().out.startswith(headline(load_model("m.json").quality_))


@pytest.mark.parametrize(("table", "first"), [("iris.csv", 2), ("titled.csv", 4), ("iris.parquet", 0)])
def test_rows_are_chosen_by_their_number_in_the_file_and_keep_it(iris, capsys, table, first):
    write_table(read_table("iris.csv"), "iris.parquet")
    Path("titled.csv").write_text(f"Irises of 1935\n\n{Path('iris.csv').read_text()}")
    capsys.readouterr()
    numbers = [77 + first, 3 + first]
    assert run(["explain", "m.json", table, *(f"--row={number}" for number in numbers), "--json"]) == 0
    everything = explain(load_model("m.json"), read_table("iris.csv").select(NAMES)).to_dict()["rows"]
    assert json.loads(capsys.readouterr().out) == [
        {**everything[row], "row": number} for row, number in zip((77, 3), numbers, strict=True)
    ]


def test_of_many_rows_the_first_are_printed_and_all_are_in_json(iris, capsys):
    assert run(["explain", "m.json", "iris.csv"]) == 0
    out = capsys.readouterr().out
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("row ")] == [
        f"row {k}" for k in range(2, 12)
    ]
    assert run(["explain", "m.json", "iris.csv", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 150


def test_without_data_the_strength_of_the_terms_is_shown(iris, capsys):
    overall = explain(load_model("m.json"))
    assert run(["explain", "m.json"]) == 0
    assert capsys.readouterr().out == f"{overall}\n"
    assert run(["explain", "m.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(overall.to_dict()))


FREQUENCIES = ("--parameters", "frequency")


def test_missing_cells_are_summed_out_of_frequencies_and_say_so(iris, capsys):
    run(["fit", "iris.csv", "--class", "species", "-o", "nb.json", "--structure", "naive-bayes", *FREQUENCIES])
    Path("gap.csv").write_text(",".join(NAMES) + "\n,3.0,,?\n")
    assert run(["explain", "nb.json", "gap.csv", "--missing", "?"]) == 0
    assert capsys.readouterr().out.count("unknown, summed out") == 3
    found = explain(load_model("nb.json"), pa.table({name: [np.nan] for name in NAMES}))
    assert found.contributions.tolist() == [[0.0] * 4]
