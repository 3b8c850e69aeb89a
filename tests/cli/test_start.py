"""`tanager start`: any spreadsheet ends in a page, or in one line that says what to do."""

from __future__ import annotations

import json
import random
import re
from html import unescape
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from cli.messy_files import CLASS, FILES, write_messy, write_sheets, write_text
from tanager import load_model
from tanager.cli.main import run
from tanager.files import load_recipe

FAST = ["--structure", "naive-bayes", "--parameters", "frequency"]

CONTENT = re.compile(r'<script type="application/json" id="content">(.*?)</script>')

EXPECTED = {
    "two_sheets.xlsx": ["sheet 'Data', header in row 2: 90 rows, 3 attributes", "left out 'site'"],
    "latin.csv": ["header in row 3: 90 rows, 3 attributes", "nothing to fix"],
    "units.csv": ["90 rows, 5 attributes", "numbers read in 'mean radius'", "dates read in 'seen'", "in 'region'"],
    "identifiers.csv": ["90 rows, 3 attributes", "left out 'nr', 'patient', 'copy', 'country'"],
    "leak.xlsx": [
        "spellings merged in 'Résultat'",
        "Warning column 'discharged to' alone predicts 'Résultat' in",
    ],
    "typos.csv": ["spellings merged in 'Résultat'", "999 taken as missing in 'years'", "a typo of 'malignant'?"],
}
"""What the command says of each messy file."""


@pytest.fixture(scope="module")
def clean() -> tuple[list[str], list[list[object]]]:
    """The names and the rows of a small table, the class last."""
    data = load_breast_cancer()
    labels = [str(data.target_names[k]) for k in data.target[:90]]
    rows = [[*map(float, row), label] for row, label in zip(data.data[:90, :3], labels, strict=True)]
    return [*data.feature_names[:3], CLASS], rows


@pytest.mark.parametrize("name", FILES)
def test_a_messy_file_ends_in_a_page(clean, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    write_messy(tmp_path, name, *clean)
    assert run(["start", name, "--class", CLASS, *FAST]) == 0
    out = capsys.readouterr().out
    words = " ".join(out.split())
    assert [expected for expected in EXPECTED[name] if expected not in words] == []
    assert "report.html: open it in a browser. Rows of the table are inside it; --no-rows leaves them out." in words
    assert Path(f"{name.split('.')[0]}-report.html").is_file()
    assert 5 <= len(re.findall(r"^\w", out, re.MULTILINE)) <= 10
    assert all(len(line) <= 100 for line in out.splitlines() if "tanager " not in line)


def test_a_table_is_the_same_however_it_is_written(clean, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "clean.csv", [clean[0], *clean[1]])
    assert run(["fit", "clean.csv", "--class", CLASS, *FAST, "-o", "m.json"]) == 0
    for name in ["clean.csv", "two_sheets.xlsx", "latin.csv"]:
        if name in FILES:
            write_messy(tmp_path, name, *clean)
        assert run(["predict", "m.json", name, "--proba", "-o", f"{name}.out.csv"]) == 0
        assert Path(f"{name}.out.csv").read_text() == Path("clean.csv.out.csv").read_text()
    capsys.readouterr()


def test_model_page_and_recipe_are_beside_the_table_and_never_over_a_file(iris, tmp_path, capsys):
    Path("sub").mkdir()
    Path("sub/iris.csv").write_bytes(Path("iris.csv").read_bytes())
    for end in ("", "-2"):
        assert run(["start", "sub/iris.csv", "--class", "species", *FAST]) == 0
        files = [f"sub/iris-model{end}.json", f"sub/iris-report{end}.html", f"sub/iris-recipe{end}.json"]
        assert all(Path(file).is_file() for file in files)
        out, err = capsys.readouterr()
        assert files[1] in out
        assert err == ""
    assert json.loads(CONTENT.search(Path(files[1]).read_text())[1])["rows"]["kept"] == 150
    assert load_model(files[0]).recipe_ == load_recipe(files[2])
    assert re.findall(r"^\w+", out, re.MULTILINE)[:5] == ["Read", "Class", "Fixed", "Model", "Quality"]


def test_no_rows_keeps_the_table_out_of_the_page(iris, capsys):
    assert run(["start", "iris.csv", "--class", "species", "--no-rows", *FAST]) == 0
    assert json.loads(CONTENT.search(Path("iris-report.html").read_text())[1])["rows"] is None
    out, err = capsys.readouterr()
    assert "inside it" not in out
    assert err == ""


def test_a_class_that_is_not_named_is_found_by_its_name_or_asked_for(iris, capsys):
    assert run(["start", "iris.csv", *FAST]) == 2
    err = capsys.readouterr().err
    assert "which column is the class" in err
    assert "tanager start iris.csv --class species" in err
    Path("named.csv").write_text(Path("iris.csv").read_text().replace("species", "Outcome", 1))
    assert run(["start", "named.csv", *FAST]) == 0
    assert "Class    'Outcome' (by its name" in capsys.readouterr().out


def write_class(name: str, classes: list[object], more: dict[str, list[object]] | None = None) -> None:
    """A table of a column of noise, other columns, and a class."""
    draw = random.Random(1)
    columns = {"x": [draw.random() for _ in classes], **(more or {}), "class": classes}
    write_text(Path(name), [list(columns), *map(list, zip(*columns.values(), strict=True))])


def test_a_fix_that_uncovers_another_issue_is_followed_by_its_fix(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    codes = [f"{(k * 7 + k // 60) % 13},{(k * 5) % 10}" if k % 9 else "999,0" for k in range(120)]
    write_class("t.csv", ["a", "b"] * 60, {"size": codes})
    assert run(["start", "t.csv", *FAST]) == 0
    assert [step.column for step in load_recipe("t-recipe.json").steps] == ["size", "size"]
    assert "Fixed    numbers read in 'size'; 999 taken as missing in 'size'" in capsys.readouterr().out


def test_a_model_that_is_no_better_than_the_base_rate_is_called_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_class("t.csv", random.Random(2).choices(["rare", "usual"], [1, 2], k=200))
    assert run(["start", "t.csv", *FAST]) == 0
    words = "On new rows this model is no better than always predicting 'usual'. Do not use it."
    assert f"Warning  {words}\n" in capsys.readouterr().out
    page = unescape(Path("t-report.html").read_text("utf-8"))
    assert page.index(words) < page.index('id="title"') < page.rindex(words)  # in the banner, and in the card


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([], "file 't.csv' has a header and no rows."),
        (["one"] * 60, "the class 'class' has one value, 'one'; a model needs two or more."),
        (
            [k / 7 for k in range(100)],
            "'class' holds 100 different numbers: it is a quantity. Tanager predicts classes.",
        ),
    ],
    ids=["no rows", "one class", "a quantity"],
)
def test_a_table_without_classes_to_tell_apart_is_one_line(tmp_path, monkeypatch, capsys, classes, words):
    monkeypatch.chdir(tmp_path)
    write_class("t.csv", classes)
    assert run(["start", "t.csv", *FAST]) == 2
    out, err = capsys.readouterr()
    assert (out, words in err, len(err.splitlines())) == ("", True, 1)
    if not classes:
        assert run(["fit", "t.csv", "--class", "class", "-o", "m.json"]) == 2
        assert words in capsys.readouterr().err


def test_without_a_class_the_largest_table_of_a_workbook_is_read(clean, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, rows = [*clean[0][:-1], "Ergebnis"], clean[1]
    write_sheets(Path("t.xlsx"), {"Notes": [["Table", "Author"], ["Data", "A. Clerk"]], "Data": [names, *rows]})
    assert run(["start", "t.xlsx", *FAST]) == 0
    assert "Read     t.xlsx, sheet 'Data'" in capsys.readouterr().out


def test_the_banner_names_a_leak_once_and_says_how_to_leave_it_out(clean, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_messy(tmp_path, "leak.xlsx", *clean)
    assert run(["start", "leak.xlsx", "--class", CLASS, *FAST]) == 0
    page = unescape(Path("leak-report.html").read_text("utf-8"))
    banner = page[page.index('id="issues"') : page.index('id="title"')]
    assert banner.count("<li>") == 1
    assert "column 'discharged to' alone predicts 'Résultat' in" in banner
    assert "Hint: if not, --drop 'discharged to' leaves it out." in banner


def test_a_code_of_one_class_stays_and_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    labels = ["a", "b", "b"] * 40
    write_class("t.csv", labels, {"gain": [99999 if k % 9 == 0 else k % 40 for k in range(120)]})
    assert run(["start", "t.csv", *FAST]) == 0
    assert load_recipe("t-recipe.json").steps == ()
    assert "Check    column 'gain' holds 99999 in 14 rows;" in capsys.readouterr().out
