"""What newcomers' files hold: marks of missing cells, rows without a class, columns that number the rows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.iris_table import SPECIES
from tanager import load_model
from tanager.cli.main import run
from tanager.files import read_table as read_table_module
from tanager.files.write_table import write_table

LEFT_OUT = "tanager: warning: the class is missing in 3 of 150 rows; they are left out."


@pytest.fixture
def unlabelled(iris) -> None:
    """gap.csv without the class of three rows, full.csv without these rows."""
    labels = [None if row in (0, 70, 149) else label for row, label in enumerate(SPECIES.tolist())]
    write_table(iris.set_column(4, "species", [labels]), "gap.csv")
    write_table(iris.take([row for row in range(150) if row not in (0, 70, 149)]), "full.csv")


def fit(data: str, *more: str) -> dict[str, object]:
    assert run(["fit", data, "--class", "species", "--structure", "tan", "-o", "m.json", "--no-validate", *more]) == 0
    return json.loads(Path("m.json").read_text())


def test_a_mark_far_down_a_stream_is_missing_too(iris, monkeypatch):
    monkeypatch.setattr(read_table_module, "STREAM_BLOCK", 1_000)
    lines = Path("iris.csv").read_text().splitlines()
    for name, cell in ("late.csv", "NA"), ("gap.csv", ""):
        Path(name).write_text("\n".join([*lines, f"{cell},3,5,2,virginica"]) + "\n")
    assert fit("late.csv", "--stream") == fit("gap.csv", "--no-stream")


def test_an_empty_missing_text_switches_marks_off(iris, capsys):
    Path("marked.csv").write_text(Path("iris.csv").read_text().replace("5.1,", "NA,"))
    fit("marked.csv", "--missing", "")
    assert load_model("m.json").network_.columns[0].kind == "categorical"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
@pytest.mark.parametrize("mark", ["NA", "-", "?"])
def test_a_row_of_marks_alone_is_predicted_as_a_row_of_gaps(iris, capsys, stream, mark):
    fit("iris.csv")
    for name, cell in ("marks.csv", mark), ("gaps.csv", ""):
        Path(name).write_text(f"{','.join(iris.column_names[:4])}\n{','.join([cell] * 4)}\n")
    capsys.readouterr()
    assert run(["predict", "m.json", "gaps.csv", "--proba", stream]) == 0
    expected = capsys.readouterr().out
    assert run(["predict", "m.json", "marks.csv", "--proba", stream]) == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert "taken as missing" in err


@pytest.mark.parametrize("command", [["predict"], ["predict", "--stream"], ["explain"], ["report"]])
def test_a_word_among_numbers_is_refused_with_the_option_that_names_it(iris, capsys, command):
    fit("iris.csv")
    Path("new.csv").write_text(f"{','.join(iris.column_names[:4])}\n5,3,1,0.2\n5,not known,1,0.2\n")
    capsys.readouterr()
    assert run([command[0], "m.json", "new.csv", *command[1:]]) == 2
    err = capsys.readouterr().err
    assert "column 'sepal width' holds text ('not known'); it was numeric" in err
    assert "--missing 'not known'" in err
    assert run([command[0], "m.json", "new.csv", *command[1:], "--missing", "not known"]) == 0


@pytest.mark.parametrize(
    "options",
    [["--class", "species", "--structure", "tan", "--folds", "3"], ["--model", "m.json"]],
    ids=["folds", "model"],
)
def test_rows_without_a_class_are_left_out_of_what_is_measured(unlabelled, capsys, options):
    fit("full.csv")
    capsys.readouterr()
    found = {}
    for name in ("gap.csv", "full.csv"):
        assert run(["evaluate", name, *options, "--json"]) == 0
        out, err = capsys.readouterr()
        found[name] = json.loads(out)
        assert err.startswith(LEFT_OUT) == (name == "gap.csv")
    for measure in ("rows", "accuracy", "log_loss", "brier", "auc"):
        assert found["gap.csv"][measure] == found["full.csv"][measure]


def test_the_hint_for_rows_without_a_class_learns_from_them(unlabelled, capsys):
    assert run(["fit", "gap.csv", "--class", "species", "-o", "m.json", "--structure", "naive-bayes"]) == 0
    assert "structure 'tan' with parameters 'em' learns from them" in capsys.readouterr().err
    command = ["fit", "gap.csv", "--class", "species", "-o", "m.json", "--structure", "tan", "--parameters", "em"]
    assert run(command) == 0
    assert capsys.readouterr().err == ""
    assert load_model("m.json").quality_.n_rows == 147


def test_rows_without_a_class_are_left_out_of_the_page(unlabelled, capsys):
    fit("full.csv")
    capsys.readouterr()
    for name in ("gap", "full"):
        assert run(["report", "m.json", f"{name}.csv", "-o", f"{name}.html", "--title", "Irises"]) == 0
    assert capsys.readouterr().err.startswith(LEFT_OUT)
    gap, full = (
        json.loads(re.search(r'id="content">(.*?)</script>', Path(f"{name}.html").read_text("utf-8"))[1])
        for name in ("gap", "full")
    )
    assert all(gap[name] == full[name] for name in ("n_rows", "columns", "quality", "event"))
    assert gap["rows"].pop("numbers") != full["rows"].pop("numbers")
    assert gap["rows"] == full["rows"]


@pytest.mark.parametrize("data", ["iris.csv", "iris.parquet"])
@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_a_dropped_column_is_as_if_it_were_not_there(iris, data, stream):
    write_table(iris.drop_columns(["sepal width"]), "less.csv")
    write_table(iris, "iris.parquet")
    dropped, less = fit(data, stream, "--drop", "sepal width"), fit("less.csv")
    assert dropped.pop("recipe")["steps"] == [{"step": "drop", "column": "sepal width"}]
    assert less.pop("recipe")["steps"] == []
    assert dropped == less
