"""The commands do what the library does, on files; stdout holds the result and nothing else; shells complete them."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from sklearn.metrics import accuracy_score

from cli.iris_table import NAMES, SPECIES, iris_table
from tanager import AdditiveClassifier, BayesianNetworkClassifier, load_model
from tanager.cli.main import app, run
from tanager.counts.engine import ENGINES
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table
from tanager.parameters import PARAMETERS
from tanager.scores import SCORES, BDeu
from tanager.structure import STRUCTURES, BFSConsistent
from tanager.table.discretizer import DISCRETIZERS
from tanager.version import __version__

COUNTED = ["--structure", "tan", "--parameters", "frequency", "--no-validate"]
"""A quick fit, where what is learnt does not matter."""


def test_fit_writes_the_model_that_python_would_fit(iris, capsys):
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", "--seed", "3"]) == 0
    assert capsys.readouterr() == ("", "")
    loaded = load_model("m.json")
    expected = AdditiveClassifier(random_state=3).fit(iris.drop_columns(["species"]), SPECIES)
    assert loaded.get_params() == expected.get_params()
    assert loaded.model_.nodes == (*NAMES, "species")
    np.testing.assert_array_equal(
        loaded.predict_proba(iris.select(NAMES)), expected.predict_proba(iris.select(NAMES)), strict=True
    )


def test_options_reach_the_classifier(iris):
    model = ["--structure", "bckg", "--criterion", "bic", "--parameters", "frequency", "--discretizer", "quantile"]
    more = ["--engine", "numpy", "--categorical", "sepal length, petal width", "--categorical", "sepal width"]
    assert run(["fit", "iris.csv", "-c", "species", "-o", "m.json", "--no-validate", *model, *more]) == 0
    expected = BayesianNetworkClassifier(
        "bckg",
        "bic",
        "frequency",
        discretizer="quantile",
        engine="numpy",
        categorical_features=["sepal length", "petal width", "sepal width"],
        random_state=0,
    )
    assert load_model("m.json").get_params() == expected.get_params()
    assert run(["fit", "iris.csv", "-c", "species", "-o", "m.json", *COUNTED, "--categorical", "all"]) == 0
    assert load_model("m.json").categorical_features == "all"


@pytest.mark.parametrize(
    ("texts", "weights"),
    [(["setosa=2", "virginica=0.5"], {"setosa": 2.0, "virginica": 0.5}), (["balanced"], "balanced")],
)
def test_class_weights_reach_the_classifier(iris, texts, weights):
    asked = [part for text in texts for part in ("--class-weight", text)]
    fit = ["fit", "iris.csv", "-c", "species", "-o", "m.json", "--structure", "naive-bayes"]
    assert run([*fit, *asked]) == 0
    assert load_model("m.json").class_weight == weights
    if weights != "balanced":
        assert run([*fit, *asked, "--stream"]) == 0
        assert load_model("m.json").class_weight == weights


def model_of_iris() -> None:
    write_table(iris_table(), "iris.csv")
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", "--no-validate"]) == 0


def test_predictions_are_those_of_python_in_every_form(iris, fill, capsys):
    fill(model_of_iris)
    clf, X = load_model("m.json"), iris.select(NAMES)
    classes, shares = clf.predict(X).tolist(), clf.predict_proba(X)
    assert run(["predict", "m.json", "iris.csv"]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines(), err) == (["species", *classes], "")
    names = [f"P(species={label})" for label in clf.classes_]
    for name in ("p.parquet", "p.csv"):
        assert run(["predict", "m.json", "iris.csv", "--proba", "-o", name]) == 0
        table = read_table(name)
        assert table.column_names == ["species", *names]
        np.testing.assert_array_equal(np.column_stack([table.column(name).to_numpy() for name in names]), shares)
        assert table.column("species").to_pylist() == classes
    assert run(["predict", "m.json", "iris.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"species": name} for name in classes]
    assert run(["predict", "m.json", "iris.csv", "--json", "--proba"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == [
        {"species": label} | dict(zip(names, own, strict=True))
        for label, own in zip(classes, shares.tolist(), strict=True)
    ]


def test_columns_are_found_by_name_among_others_in_any_order(iris, fill, capsys):
    fill(model_of_iris)
    capsys.readouterr()
    other = iris.select(["species", *reversed(NAMES)]).append_column("more", [["x"] * iris.num_rows])
    write_table(other, "other.tsv")
    run(["predict", "m.json", "iris.csv"])
    expected = capsys.readouterr().out
    assert run(["predict", "m.json", "other.tsv"]) == 0
    assert capsys.readouterr().out == expected


def test_the_same_table_in_any_format_gives_the_same_model(iris, monkeypatch):
    pyarrow.parquet.write_table(iris, "iris.parquet")
    head = "".join(f"@attribute '{name}' numeric\n" for name in NAMES)
    rows = "\n".join(",".join(map(str, row.values())) for row in iris.to_pylist())
    Path("iris.arff").write_text(
        f"@relation iris\n{head}@attribute species {{setosa,versicolor,virginica}}\n@data\n{rows}\n"
    )
    contents = set()
    for source in ("iris.csv", "iris.parquet", "iris.arff", "-"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("iris.csv").read_bytes())))
        assert run(["fit", source, "--class", "species", "-o", "m.json", *COUNTED]) == 0
        document = json.loads(Path("m.json").read_text())
        del document["class_dtype"]
        contents.add(json.dumps(document))
    assert len(contents) == 1


def test_texts_of_digits_are_matched_to_a_text_column(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text("code,y\n" + "1,a\n2,b\nx,a\n" * 10)
    (tmp_path / "new.csv").write_text("code\n1\n2\n")
    assert run(["fit", "train.csv", "--class", "y", "-o", "m.json"]) == 0
    assert run(["predict", "m.json", "new.csv"]) == 0
    assert capsys.readouterr() == ("y\na\nb\n", "")


def test_parts_take_options_in_brackets(iris):
    parts = ["--structure", "bckg(max_parents=1)", "--criterion", "bdeu(ess=5)", "--parameters", "frequency"]
    assert run(["fit", "iris.csv", "-c", "species", "-o", "m.json", *parts]) == 0
    expected = BayesianNetworkClassifier(BFSConsistent(1), BDeu(ess=5), "frequency", random_state=0)
    assert repr(load_model("m.json").get_params()) == repr(expected.get_params())


def test_the_model_goes_to_standard_output_where_asked(iris, capfdbinary):
    assert run(["fit", "iris.csv", "-c", "species", "-o", "m.json", *COUNTED]) == 0
    assert run(["fit", "iris.csv", "-c", "species", "-o", "-", *COUNTED]) == 0
    assert capfdbinary.readouterr() == (Path("m.json").read_bytes(), b"")


def test_fit_says_what_it_learnt_as_json(iris, capsys):
    assert run(["fit", "iris.csv", "-c", "species", "-o", "m.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    clf = load_model("m.json")
    assert found == {
        "model": "m.json",
        "rows": 150,
        "attributes": 4,
        "classes": clf.classes_.tolist(),
        "summary": clf.model_.summary,
        "edges": len(clf.model_.edges),
        "structure_score": None,
        "quality": clf.quality_.to_dict(),
        "decision": None,
    }


def test_demo_measures_and_saves_a_model_that_predicts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "-o", "a/b"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(
        word in out
        for word in (
            *("breast_cancer.csv: 569 rows", "accuracy", "base rate alone"),
            *("a/b/report.html", "tanager predict a/b/model.json"),
        )
    )
    assert run(["predict", "a/b/model.json", "a/b/breast_cancer.csv"]) == 0
    predicted = capsys.readouterr().out.splitlines()[1:]
    truth = read_table("a/b/breast_cancer.csv").column("diagnosis").to_pylist()
    assert accuracy_score(truth, predicted) > 0.95


def test_an_estimate_is_on_the_line_through_two_parts_and_writes_nothing(tmp_path, monkeypatch, capsys):
    """A clock that shows a microsecond for each row of the fit that just ended, and a millisecond for each fit."""
    monkeypatch.chdir(tmp_path)
    clock, fit = [0.0], BayesianNetworkClassifier.fit

    def timed(self, X, y, sample_weight=None):
        clock[0] += 1e-3 + 1e-6 * X.num_rows
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(BayesianNetworkClassifier, "fit", timed)
    monkeypatch.setattr("tanager.classifiers.estimate.time.perf_counter", lambda: clock[0])
    rows = [f"{k % 7},{'ab'[k % 2]}" for k in range(4_000)]
    Path("rows.csv").write_text("\n".join(["x,y", *rows]))
    command = ["fit", "rows.csv", "--class", "y", "--structure", "naive-bayes", "--estimate"]
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] == pytest.approx(1e-3 + 1e-6 * 4_000)
    assert 0 < found["bytes"] < found["available"]
    assert run(command) == 0
    assert "time: about 0.0 s;" in capsys.readouterr().out
    Path("few.csv").write_text("\n".join(["x,y", *rows[:700]]))
    assert run(["fit", "few.csv", "--class", "y", "--estimate"]) != 0
    assert "at least 800 rows; got 700" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["few.csv", "rows.csv"]


def test_warnings_are_one_line_each(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,empty,y\n" + "u,,a\nv,,b\n" * 10)
    assert run(["fit", "a.csv", "--class", "y", "-o", "m.json", "--structure", "naive-bayes"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("tanager: warning: column 'empty' holds no value")


def test_a_column_without_a_name_is_used_with_a_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(",x,y\n" + "".join(f"{k},{'uv'[k % 2]},{'ab'[k % 2]}\n" for k in range(20)))
    assert run(["fit", "a.csv", "--class", "y", "-o", "m.json"]) == 0
    assert capsys.readouterr().err.startswith("tanager: warning: a column has no name")
    assert load_model("m.json").model_.nodes == ("", "x", "y")


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_the_help_lists_every_registered_name(command, capsys):
    run([command, "--help"])
    words = capsys.readouterr().out.replace(",", " ").split()
    assert {*STRUCTURES, *SCORES, *PARAMETERS, *DISCRETIZERS, *ENGINES} <= set(words)


@pytest.mark.parametrize("command", [command.callback.__name__ for command in app.registered_commands])
def test_every_command_has_help_with_an_example(command, capsys):
    assert run([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"tanager {command}" in out.partition("Examples:")[2]


def test_version_is_printed(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tanager {__version__}\n"


def test_the_process_runs_and_help_loads_neither_scikit_learn_nor_pyarrow(iris):
    watch = "import sys; from tanager.cli.main import run; run(['--help']); "
    check = "print([name for name in ('sklearn', 'numpy', 'pyarrow', 'numba') if name in sys.modules], file=sys.stderr)"
    help_run = subprocess.run([sys.executable, "-c", watch + check], capture_output=True, text=True, check=True)
    assert help_run.stderr == "[]\n"
    command = [sys.executable, "-m", "tanager"]
    content = Path("iris.csv").read_bytes()
    subprocess.run([*command, "fit", "-", "--class", "species", "-o", "m.json", *COUNTED], check=True, input=content)
    done = subprocess.run([*command, "predict", "m.json", "iris.csv"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 151


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_is_printed_for_each_shell(shell, capsys):
    assert run(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"complete_{shell}" in out
    assert "tanager" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_takes_the_script(shell, capsys, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here.")
    run(["completion", shell])
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    subprocess.run([program, "-n", str(script)], check=True, capture_output=True)


def complete(words: str, number: int) -> list[str]:
    """What bash is told when a word is to be completed."""
    question = {"_TANAGER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = subprocess.run(
        [sys.executable, "-c", "from tanager.cli.main import app; app(prog_name='tanager')"],
        env={**os.environ, **question},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_and_names_of_parts_are_completed():
    assert set(complete("tanager ", 1)) == {command.callback.__name__ for command in app.registered_commands}
    assert complete("tanager fit --struc", 2) == ["--structure"]
    assert set(complete("tanager fit --structure ", 3)) == set(STRUCTURES)
