"""`tanager start`: any spreadsheet ends in a page, or in one line that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tanager import load_model
from tanager.cli.main import run
from tanager.files import load_recipe

FAST = ["--structure", "naive-bayes", "--parameters", "frequency"]


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
    assert load_model(files[0]).recipe_ == load_recipe(files[2])
    assert [line.split()[0] for line in out.splitlines()[:5]] == ["Read", "Class", "Fixed", "Model", "Quality"]


def test_a_class_that_is_not_named_is_found_by_its_name_or_asked_for(iris, capsys):
    assert run(["start", "iris.csv", *FAST]) == 2
    err = capsys.readouterr().err
    assert "which column is the class" in err
    assert "tanager start iris.csv --class species" in err
    Path("named.csv").write_text(Path("iris.csv").read_text().replace("species", "Outcome", 1))
    assert run(["start", "named.csv", *FAST]) == 0
    assert "Class    'Outcome' (by its name" in capsys.readouterr().out


@pytest.mark.parametrize(("answers", "classes", "columns"), [("yy", 2, 1), ("nn", 3, 2)])
def test_on_a_terminal_a_person_decides(iris, monkeypatch, answers, classes, columns):
    rows = [f"{k % 3},{'yYn'[k % 3]},{(k % 3) // 2}" for k in range(90)]
    Path("t.csv").write_text("\n".join(["a,class,leak", *rows]))
    given = iter(answers)
    monkeypatch.setattr("tanager.cli.start._on_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *words, **options: next(given) == "y")
    assert run(["start", "t.csv", *FAST]) == 0
    model = load_model("t-model.json")
    assert (len(model.classes_), model.n_features_in_) == (classes, columns)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-"], "standard input has no place"),
        (["absent.csv"], "cannot read 'absent.csv'"),
        (["iris.csv", "--class", "specie"], "no column 'specie' to predict"),
    ],
)
def test_start_refuses_in_one_line_and_writes_nothing(iris, tmp_path, capsys, arguments, words):
    assert run(["start", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert len(err.splitlines()) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["iris.csv"]
