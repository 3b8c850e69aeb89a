"""`tanager check` and recipes: from a table as it comes to a model that stores its preprocessing."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from tanager import load_model
from tanager.cli.main import run
from tanager.files import load_recipe
from tanager.files.write_table import write_table

HEADER = ["id", "age", "when", "price", "zip", "sex", "outcome"]
NAIVE = ["--class", "outcome", "--structure", "naive-bayes", "--parameters", "frequency"]


def dirty_rows(n_rows: int = 120) -> list[list[str]]:
    """Every row has something that a recipe fixes."""
    draw = random.Random(0)
    rows = []
    for k in range(n_rows):
        dead = draw.random() < 0.5
        age = "not known" if k % 9 == 0 else str(draw.randint(20, 60) + 20 * dead)
        when = f"{draw.randint(1, 28):02}/{draw.randint(1, 12):02}/2023"
        price = f"{draw.randint(100, 9_999) * (1 + dead):,}"
        outcome = draw.choice(["died", "died ", "Died"] if dead else ["alive"])
        rows.append([f"P{k:04}", age, when, price, draw.choice(["007", "7", "01234", "55555"]), "m", outcome])
    return rows


def write_rows(name: str, rows: list[list[str]], header: list[str] = HEADER) -> None:
    with Path(name).open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


@pytest.fixture
def dirty(tmp_path, monkeypatch) -> list[list[str]]:
    """dirty.csv and its recipe.json in the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = dirty_rows()
    write_rows("dirty.csv", rows)
    assert run(["check", "dirty.csv", "--class", "outcome", "--fix", "recipe.json"]) == 0
    return rows


def probabilities(capsys, model: str, data: str, *more: str) -> list[dict[str, float]]:
    capsys.readouterr()
    assert run(["predict", model, data, "--proba", "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_recipe_has_a_step_for_each_fault(dirty):
    assert [(step.column, step.name) for step in load_recipe("recipe.json").steps] == [
        ("id", "drop"),
        ("age", "number"),
        ("when", "date"),
        ("price", "number"),
        ("outcome", "merge"),
        ("zip", "category"),
        ("sex", "drop"),
    ]


def test_a_recipe_gives_the_model_of_the_table_fixed_by_hand(dirty, capsys):
    assert run(["fit", "dirty.csv", *NAIVE, "--recipe", "recipe.json", "-o", "m.json"]) == 0
    assert capsys.readouterr().err == ""
    fixed = [
        ["" if age == "not known" else age, "-".join(reversed(when.split("/"))), price.replace(",", ""),
         f"z{zip_code}", outcome.strip().lower()]
        for _, age, when, price, zip_code, _, outcome in dirty
    ]  # fmt: skip
    write_rows("fixed.csv", fixed, ["age", "when", "price", "zip", "outcome"])
    assert run(["fit", "fixed.csv", *NAIVE, "-o", "by_hand.json"]) == 0
    assert probabilities(capsys, "m.json", "dirty.csv") == probabilities(capsys, "by_hand.json", "fixed.csv")


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_rows_predicted_alone_have_the_probabilities_of_all(dirty, capsys, stream):
    assert run(["fit", "dirty.csv", *NAIVE, "--recipe", "recipe.json", "-o", "m.json", stream]) == 0
    expected = probabilities(capsys, "m.json", "dirty.csv")
    for k in range(0, len(dirty), 11):
        write_rows("row.csv", [dirty[k][1:6]], HEADER[1:6])  # neither the identifier nor the class
        assert probabilities(capsys, "m.json", "row.csv") == [expected[k]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_stream_is_fixed_as_the_whole_table(dirty, kind):
    from tanager.files.read_csv import CellRules
    from tanager.files.read_table import read_table

    write_table(read_table("dirty.csv", CellRules(texts=HEADER)), f"t.{kind}")
    for stream in ("--stream", "--no-stream"):
        options = ["--recipe", "recipe.json", "--no-validate", "-o", f"m{stream}.json", stream]
        assert run(["fit", f"t.{kind}", *NAIVE, *options]) == 0
    assert Path("m--stream.json").read_bytes() == Path("m--no-stream.json").read_bytes()


@pytest.mark.parametrize("command", ["evaluate", "explain", "report"])
def test_every_command_with_a_model_applies_its_recipe(dirty, capsys, command):
    assert run(["fit", "dirty.csv", *NAIVE, "--recipe", "recipe.json", "--no-validate", "-o", "m.json"]) == 0
    arguments = {
        "evaluate": ["evaluate", "dirty.csv", "--model", "m.json", "--json"],
        "explain": ["explain", "m.json", "dirty.csv"],
        "report": ["report", "m.json", "dirty.csv"],
    }
    assert run(arguments[command]) == 0
    assert capsys.readouterr().err == ""


def test_a_model_remembers_the_texts_that_mean_missing(dirty, capsys):
    options = ["--missing", "not known", "--drop", "id", "--drop", "sex"]
    assert run(["fit", "dirty.csv", *NAIVE, *options, "-o", "m.json"]) == 0
    recipe = load_model("m.json").recipe_
    assert (recipe.missing, recipe.dropped) == (("not known",), ("id", "sex"))
    expected = probabilities(capsys, "m.json", "dirty.csv", "--missing", "not known")
    assert probabilities(capsys, "m.json", "dirty.csv") == expected


def test_fit_says_the_worst_in_a_few_lines(dirty, capsys):
    assert run(["fit", "dirty.csv", *NAIVE, "-o", "m.json"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == (
        "tanager: warning: column 'id' names rows: 120 different texts in 120 rows. Hint: --drop id leaves it out."
    )
    assert len(lines) == 5
    assert lines[-1].endswith("1 more such findings. Hint: tanager check shows them.")
    issues = load_model("m.json").issues_
    assert len(issues) == 5
    assert issues[0].startswith("column 'id' names rows")


def test_check_prints_what_it_found_as_text_and_as_json(dirty, capsys):
    capsys.readouterr()
    assert run(["check", "dirty.csv", "-c", "outcome"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert run(["check", "dirty.csv", "-c", "outcome", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["column"] for each in found["findings"] if each["severity"] == "high"] == [*HEADER[:4], "outcome"]
    assert [each["name"] for each in found["columns"]] == HEADER
    assert run(["check", "dirty.csv", "-c", "outcome", "--fix", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["recipe"] == found["recipe"]


def test_check_looks_at_the_table_as_the_options_leave_it(dirty, capsys):
    options = ["--drop", "id", "--missing", "not known", "--fix", "other.json"]
    assert run(["check", "dirty.csv", "-c", "outcome", *options]) == 0
    out = capsys.readouterr().out
    assert "column 'id'" not in out
    assert "not known" not in out
    assert "other.json: left out 'id', 'sex';" in out
    assert run(["check", "dirty.csv", "-c", "outcome", "--recipe", "other.json"]) == 0
    assert "no issue found" in capsys.readouterr().out
    recipe = load_recipe("other.json")
    assert (recipe.dropped, recipe.missing) == (("id", "sex"), ("not known",))


@pytest.mark.parametrize("file", ["dirty.csv", "dirty.parquet"])
def test_a_fit_batch_by_batch_is_told_what_is_worst_about_the_first_rows(dirty, capsys, file):
    write_table(pa.Table.from_pylist([dict(zip(HEADER, row, strict=True)) for row in dirty]), "dirty.parquet")
    capsys.readouterr()
    assert run(["fit", file, *NAIVE, "--stream", "-o", "m.json"]) == 0
    assert "column 'id' names rows" in capsys.readouterr().err
