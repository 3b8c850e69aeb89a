"""Bad input: exit code 2, one line on stderr, nothing on stdout, and no file written or changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tanager import NaiveBayesClassifier, read_network, save_model
from tanager.cli.main import run
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table

GOOD = "x,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5


def good_files() -> None:
    Path("good.csv").write_text(GOOD)
    assert run(["fit", "good.csv", "--class", "y", "-o", "model.json"]) == 0


@pytest.fixture
def folder(tmp_path, monkeypatch, fill):
    """The working folder, with a good table and a good model in it."""
    monkeypatch.chdir(tmp_path)
    fill(good_files)
    return tmp_path


def refused(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """The one line of a command that must change nothing."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("tanager: error: ")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return err


BAD_TABLES = {
    "an empty file": ("", "is empty"),
    "a header without rows": ("x,y\n", "no row"),
    "one row": ("x,y\n1,a\n", "one class"),
    "one class": ("x,y\n1,a\n2,a\n", "one class"),
    "no column besides the class": ("y\na\nb\n", "no column besides the class"),
    "a class without values": ("x,y\n1,\n2,\n", "missing in"),
    "a class that is a quantity": ("x,y\n1,0.5\n2,1\n3,1.25\n", "holds 0.5 in row 0"),
    "infinite values": ("x,y\n1,a\ninf,b\n2,a\n", "infinity"),
    "the same name twice": ("x,x,y\n1,2,a\n3,4,b\n", "more than once: 'x'"),
    "ragged rows": ("x,y\n1,a\n2\n3,b\n", "line 3 has 1 cell(s), expected 2"),
    "a quote never closed": ('x,y\n1,"a\n2,b\n', "never closed"),
}


@pytest.mark.parametrize("command", ["fit", "evaluate"])
@pytest.mark.parametrize(("content", "words"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_is_refused(folder, capsys, command, content, words):
    (folder / "bad.csv").write_text(content)
    output = ["-o", "new.json"] if command == "fit" else []
    assert words in refused(folder, capsys, [command, "bad.csv", "--class", "y", *output])


@pytest.mark.parametrize("labels", [[[1], [2], [1]], [b"a", b"\xff", b"a"]], ids=["lists", "bytes"])
def test_cells_that_are_no_classes_are_refused(folder, capsys, labels):
    pyarrow.parquet.write_table(pa.table({"x": [1, 2, 3], "y": labels}), "bad.parquet")
    message = refused(folder, capsys, ["fit", "bad.parquet", "--class", "y", "-o", "new.json"])
    assert "expected text, numbers, booleans or dates" in message


def test_a_table_of_arff_without_rows_is_refused(folder, capsys):
    header = "@relation r\n@attribute x numeric\n@attribute d date yyyy-MM-dd\n@attribute c {u,v}\n@attribute y {a,b}\n"
    (folder / "empty.arff").write_text(header + "@data\n")
    assert "no row" in refused(folder, capsys, ["fit", "empty.arff", "--class", "y", "-o", "new.json"])
    assert "no row" in refused(folder, capsys, ["predict", "model.json", "empty.arff"])


def test_a_column_of_numbers_may_come_as_text_without_a_cell(folder, capsys):
    pyarrow.parquet.write_table(pa.table({"x": pa.nulls(2, pa.string()), "c": ["u", "v"]}), "gaps.parquet")
    (folder / "gaps.csv").write_text("x,c\n,u\n,v\n")
    assert run(["predict", "model.json", "gaps.csv", "--proba"]) == 0
    expected = capsys.readouterr().out
    assert run(["predict", "model.json", "gaps.parquet", "--proba"]) == 0
    assert capsys.readouterr().out == expected


def test_an_absent_class_column_is_refused_with_the_nearest_names_first(folder, capsys):
    (folder / "names.csv").write_text("age,clas,income\n1,a,2\n")
    message = refused(folder, capsys, ["fit", "names.csv", "--class", "class", "-o", "new.json"])
    assert "no column 'class'" in message
    assert message.index("'clas'") < message.index("'age'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "absent.csv", "--class", "y", "-o", "new.json"], "no such file"),
        (["fit", "good.xls", "--class", "y", "-o", "new.json"], "expected one of .csv, .tsv"),
        (["fit", "good.csv", "--class", "y", "-o", "absent/new.json"], "does not exist"),
        (["fit", "good.csv", "--class", "y", "-o", "."], "is a folder"),
        (["fit", "good.csv", "--class", "y", "-o", "good.csv/new.json"], "does not exist"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "tann"], "expected one of 'tan'"),
        (["evaluate", "good.csv", "--class", "y", "--structure", "tan", "--criterion", "bicc"], "one of 'bic'"),
        (
            ["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "kdb", "--criterion", "bic"],
            "is chosen without one",
        ),
        (
            ["fit", "good.csv", "--class", "y", "-o", "n.json", "--structure", "tan", "--parameters", "freq"],
            "'frequency'",
        ),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--criterion", "bic"], "--criterion is for a network"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--engine", "torch"], "--engine is for a network"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--pairs", "many"], "expected auto or a number from 0"),
        (
            ["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "tan", "--no-trees"],
            "--no-trees is for the additive model, and --structure tan is a network",
        ),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--discretizer", "x"], "'mdlp'"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "tan", "--engine", "x"], "'numpy'"),
        (
            ["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "tan", "--device", "cuda"],
            "no meaning for engine='auto'",
        ),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--categorical", "z"], "'z'"),
        (["fit", "good.csv", "--class", "y"], "Missing option '--output'"),
        (["fit", "good.csv", "-o", "new.json"], "Missing option '--class'"),
        (["fit"], "Missing argument"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--surprise"], "No such option"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--seed", "x"], "'--seed'"),
        (["fly"], "No such command 'fly'"),
        (["evaluate", "good.csv", "--class", "y", "--folds", "1"], "at least 2"),
        (["evaluate", "good.csv", "--class", "y", "--folds", "11"], "fewer rows than the 11 folds"),
        (["evaluate", "good.csv", "--class", "z"], "nearest first"),
        (["predict", "absent.json", "good.csv"], "no such file"),
        (["predict", "good.csv", "good.csv"], "not JSON"),
        (["predict", "model.json", "absent.csv"], "no such file"),
        (["predict", "model.json", "good.csv", "-o", "out.xls"], "expected one of .csv, .tsv, .parquet"),
        (["predict", "model.json", "good.csv", "-o", "absent/out.csv"], "does not exist"),
        (["demo", "-o", "good.csv"], "good.csv"),
        (["fit", "good.csv", "--class", "y", "-o", "-", "--json"], "both print to stdout"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "kdb(k=3"], "cannot be read"),
        (["fit", "good.csv", "--class", "y", "-o", "new.json", "--structure", "kdb(z=3)"], "no option 'z'"),
        (["predict", "model.json", "good.csv", "-o", "out.csv", "--json"], "--output names a file"),
        (["evaluate", "good.csv"], "Missing option '--class'"),
        (["evaluate", "good.csv", "--class", "y", "--model", "model.json"], "leave one out"),
        (["evaluate", "unlabelled.csv", "--model", "model.json"], "no column 'y', the class of the model"),
        (["evaluate", "gap.csv", "--model", "model.json"], "missing in 2 rows, all there are"),
        (["evaluate", "strange.csv", "--model", "model.json"], "'z'"),
        (["completion", "csh"], "'csh' is not one of"),
    ],
)
def test_bad_arguments_are_refused(folder, capsys, arguments, words):
    (folder / "unlabelled.csv").write_text("x,c\n1,u\n")
    (folder / "gap.csv").write_text("x,c,y\n1,u,\n2,v,\n")
    (folder / "strange.csv").write_text("x,c,y\n1,u,z\n")
    assert words in refused(folder, capsys, arguments)


BAD_ROWS = {
    "a column is missing": ("x\n1\n", "lacks 1 of the 2 columns the model needs: 'c'"),
    "text in place of numbers": ("x,c\nten,u\n", "column 'x'"),
    "no rows": ("x,c\n", "no row"),
    "infinite values": ("x,c\ninf,u\n", "infinity"),
    "ragged rows": ("x,c\n1\n", "line 2 has 1 cell(s), expected 2"),
}


@pytest.mark.parametrize(("content", "words"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_rows_a_model_cannot_take_are_refused(folder, capsys, content, words):
    (folder / "new.csv").write_text(content)
    (folder / "out.csv").write_text("y\na\n")
    assert words in refused(folder, capsys, ["predict", "model.json", "new.csv", "-o", "out.csv"])


def test_a_model_without_column_names_is_refused(folder, capsys):
    save_model(NaiveBayesClassifier().fit(np.array([[1.0], [2.0]]), ["a", "b"]), "array.json")
    assert "without column names" in refused(folder, capsys, ["predict", "array.json", "good.csv"])


@pytest.mark.parametrize("command", ["predict", "explain", "report"])
def test_a_model_of_another_format_is_refused(folder, capsys, command):
    document = json.loads((folder / "model.json").read_text())
    for number in (0, 99, None):
        (folder / "other.json").write_text(json.dumps({**document, "format": number}))
        assert "format" in refused(folder, capsys, [command, "other.json", "good.csv"])


STRANGE = (
    "\"quoted\" 'twice'",
    "<script>alert(1)</script>",
    "\N{GRINNING FACE}[red]",
    "n" * 200,
    "__proto__",
    "a, b\nc",
)


def test_strange_names_pass_through_every_command(folder, capsys):
    columns = {name: [STRANGE[(row + k) % 4] for row in range(40)] for k, name in enumerate(STRANGE)}
    write_table(pa.table({**columns, "<b>&amp;": [STRANGE[row % 2] for row in range(40)]}), "strange.csv")
    assert run(["fit", "strange.csv", "--class", "<b>&amp;", "-o", "strange.json"]) == 0
    capsys.readouterr()
    for command in ("predict", "explain"):
        assert run([command, "strange.json", "strange.csv", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert len(found) == 40
    assert {row["attribute"] for row in found[0]["contributions"]} >= set(STRANGE)  # and their pairs
    assert run(["predict", "strange.json", "strange.csv", "-o", "classes.csv"]) == 0
    assert set(read_table("classes.csv").column("<b>&amp;").to_pylist()) <= set(STRANGE[:2])
    for arguments in (["explain", "strange.json", "strange.csv"], ["explain", "strange.json"]):
        assert run(arguments) == 0
    assert run(["report", "strange.json", "strange.csv", "-o", "page.html"]) == 0
    assert "<script>alert" not in Path("page.html").read_text("utf-8")
    assert run(["fit", "strange.csv", "--class", "<b>&amp;", "--structure", "tan", "-o", "tan.json"]) == 0
    assert run(["convert", "tan.json", "strange.bif"]) == 0
    assert run(["convert", "strange.bif", "again.json"]) == 0
    assert set(read_network("again.json").nodes) == {*STRANGE, "<b>&amp;"}


def test_errors_of_a_process_have_no_traceback(folder):
    done = subprocess.run(
        [sys.executable, "-m", "tanager", "predict", "model.json", "absent.csv"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "tanager: error: cannot read 'absent.csv': no such file or directory.\n"


def test_a_fault_of_the_program_is_one_line_and_code_1(folder, capsys, monkeypatch):
    def fail(*args: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("tanager.classifiers.base.TableClassifier.fit", fail)
    assert run(["fit", "good.csv", "--class", "y", "-o", "new.json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "unexpected KeyError: 'lost'" in err
    monkeypatch.setenv("TANAGER_DEBUG", "1")
    with pytest.raises(KeyError):
        run(["fit", "good.csv", "--class", "y", "-o", "new.json"])


@pytest.mark.parametrize("command", ["fit good.csv -o new.json", "evaluate good.csv", "stability good.csv"])
@pytest.mark.parametrize("seed", ["-1", str(2**32), "99999999999999999999"])
def test_a_seed_that_no_generator_takes_is_refused_before_the_work(folder, capsys, command, seed):
    assert "--seed" in refused(folder, capsys, [*command.split(), "--class", "y", "--seed", seed])
