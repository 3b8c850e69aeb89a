"""Bad input: exit code 2, one line on stderr, nothing on stdout, and no file written or changed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.main import get_command

from tanager import NaiveBayesClassifier, apply_edits, load_model, read_network, save_model, write_network
from tanager.cli.main import app, run
from tanager.edits import Edit, Edits
from tanager.edits.edit import model_digest
from tanager.files import save_edits
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table

GOOD = "x,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5
FAST = ["--structure", "naive-bayes", "--parameters", "frequency", "--no-validate"]


def good_files() -> None:
    """good.csv; model.json of it, which is additive; tan.json, a network, with intervals; expert.bif of the network."""
    Path("good.csv").write_text(GOOD)
    assert run(["fit", "good.csv", "--class", "y", "-o", "model.json"]) == 0
    assert (
        run(["fit", "good.csv", "--class", "y", "-o", "tan.json", "--structure", "tan", *FAST[2:], "--intervals"]) == 0
    )
    write_network(read_network("tan.json"), "expert.bif")


def bad_files() -> None:
    """And what fits neither the models nor the commands."""
    good_files()
    Path("unlabelled.csv").write_text("x,c\n1,u\n")
    Path("gap.csv").write_text("x,c,y\n1,u,\n2,v,\n")
    Path("strange.csv").write_text("x,c,y\n1,u,z\n")
    Path("other.csv").write_text("x,d,y\n1,u,a\n")
    Path("hole.csv").write_text("x,c,y\n1,?,a\n5,v,b\n")
    Path("header.csv").write_text("x,c\n")
    Path("notes.md").write_text("# Notes\n")
    lines = GOOD.splitlines()
    more = [f"{line},s{k % 3},{k or ''}" for k, line in enumerate(lines[1:])]
    Path("more.csv").write_text("\n".join([f"{lines[0]},site,gap", *more]))
    Path("cut.bif").write_bytes(Path("expert.bif").read_bytes()[:-20])
    Path("old.json").write_text(json.dumps({**json.loads(Path("model.json").read_text()), "format": 0}))
    assert run(["check", "good.csv", "--drop", "c", "--fix", "recipe.json"]) == 0
    clf = load_model("model.json")
    save_edits(Edits((Edit.remove("c", reason="law"),), model_digest(clf.model_)), "edits.json")
    save_model(apply_edits(clf, Edit.remove("x", reason="noise")), "edited.json")


@pytest.fixture
def folder(tmp_path, monkeypatch, fill):
    """The working folder, with good tables and models in it."""
    monkeypatch.chdir(tmp_path)
    fill(good_files)
    return tmp_path


def refused(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """The one line of a command that must change nothing."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    capsys.readouterr()
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
    "a class of blanks": ("x,y\n1,  \n2,  \n", "holds nothing but blanks in 2 rows"),
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


REFUSED = """
fit absent.csv -c y -o new.json | no such file
fit good.xls -c y -o new.json | expected one of .csv, .tsv
fit good.csv -c y -o new.json --structure tann | expected one of 'tan'
fit good.csv -c y -o new.json --criterion bic | --criterion is for a network
fit good.csv -c y -o new.json --engine torch | --engine is for a network
fit good.csv -c y -o new.json --pairs many | expected 'auto', a number from 0
fit good.csv -c y -o new.json --structure tan --no-trees | --no-trees is for the additive model, and --structure tan is
fit good.csv -c y -o new.json --structure tan --device cuda | no meaning for engine='auto'
fit good.csv -c y -o new.json --structure 'kdb(z=3)' | no option 'z'
fit good.csv -c y | Missing option '--output'
fit good.csv -o new.json | Missing option '--class'
fit | Missing argument
fit good.csv -c y -o new.json --surprise | No such option
fit good.csv -c y -o new.json --seed x | '--seed'
fit good.csv -c y -o - --json | both print to stdout
fit good.csv -c y -o new.json --recipe model.json | is not a recipe that can be read
fit good.csv -c y -o new.json --recipe absent.json | cannot read 'absent.json'
fit other.csv -c y -o new.json --recipe recipe.json | the recipe is for other columns: the data has no 'c'
fit good.csv -c y -o recipe.json --recipe recipe.json | which this command reads
fit good.csv -c why --stream -o new.json | no column 'why' to predict
fit - -c y --stream -o new.json | --stream needs a file
fit absent.parquet -c y --stream -o new.json | cannot read 'absent.parquet'
fly | No such command 'fly'
check good.csv -c why | no column 'why' to predict; its columns, nearest first
check good.csv --drop z | no column 'z'
check good.csv -c y --drop y | which is the class
check good.csv --fix good.csv | which this command reads
check good.csv --fix other.csv | is not a recipe of Tanager
start - | standard input has no place
start absent.csv | cannot read 'absent.csv'
start good.csv -c why | no column 'why' to predict
start good.csv -c y --drop x --drop c | no column besides the class 'y' and 'x', 'c', which are left out
evaluate good.csv -c y --folds 11 | fewer rows than the 11 folds
evaluate good.csv | Missing option '--class'
evaluate good.csv -c y --model model.json | leave one out
evaluate unlabelled.csv --model model.json | no column 'y', the class of the model
evaluate good.csv -c y --drop cc | no column 'cc' to drop; its columns, nearest first, are 'c'
evaluate good.csv -c y --drop y | which is the class
evaluate good.csv --drop c --model model.json | --drop and --recipe are for learning
evaluate good.csv --recipe recipe.json --model model.json | --drop and --recipe are for learning
evaluate more.csv -c y --group site | the number of groups is 3, fewer than the 5 folds. Hint: use 3 folds.
evaluate more.csv -c y --time site | times cannot be ordered: they are string, such as 's0'
evaluate more.csv -c y --time gap | the time is missing in 1 of 20 rows, the first of them row 0
evaluate more.csv -c y --group sites | no column 'sites' to --group by; its columns, nearest first, are 'site'
evaluate more.csv -c y --group y | no column 'y' to --group by
evaluate more.csv --model model.json --group site | --group and --time say how rows are held out
compare --data good.csv -c y | Missing argument 'CLASSIFIER...'
compare --data good.csv -c y tan tan | classifier 'tan' is named twice
compare --data good.csv -c why tan | no column 'why' to predict; its columns, nearest first, are
compare -c y tan | Missing option '--data'
predict absent.json good.csv | no such file
predict good.csv good.csv | not JSON
predict model.json good.csv -o out.xls | expected one of .csv, .tsv, .parquet
predict model.json good.csv -o out.csv --json | --output names a file
predict model.json good.csv --stream --json | --stream cannot go with it
predict model.json other.csv -o out.csv | lacks 1 of the 2 columns the model needs: 'c'
predict model.json other.csv --stream -o out.csv | lacks 1 of the 2 columns
predict model.json header.csv --stream -o out.csv | no row
predict old.json good.csv | format
predict model.json good.csv --keep cc | no column 'cc' to keep; its columns, nearest first, are 'c'
predict model.json good.csv --keep y | --keep 'y' has the name of a column that is predicted
predict model.json good.csv --interval 0.9 | has no intervals
predict tan.json good.csv --interval 90 | level=90.0 of an interval must be a number above 0 and below 1
explain model.json good.csv --against c | expected one of 'a'
explain model.json other.csv | the data lacks 1 of the 2 columns
explain model.json --change | no DATA was given
explain absent.json good.csv | absent.json
explain model.json good.csv --top 0 | --top
explain model.json good.csv --row 22 | --row 22 is not there: the data has rows 2 to 21
explain model.json good.csv --row -1 | --row -1 is not there
report absent.json | no such file
report model.json other.csv | lacks 1 of the 2 columns the model needs: 'c'
report model.json strange.csv | 'z'
report model.json gap.csv | class column is missing in 2 rows, all there are
fit good.csv -c y -o new.json --report page.html | --report is gone; write it by `tanager report
report model.json good.csv --curve | --curve is gone; use sklearn.model_selection.learning_curve
evaluate good.csv --class y --curve | --curve is gone; use sklearn.model_selection.learning_curve
predict model.json good.csv --set 0.9 | --set is gone; use mapie.classification
explain model.json good.csv --reason | --reason is gone; use --change
report model.json good.csv --event zz | --event='zz' is not known
report model.json good.csv -o page.md --card card.txt | neither .md nor .json
report model.json good.csv -o page.md --card model.json | which this command reads
report model.json good.csv -o page.md --card notes.md | is not a model card
report model.json good.csv -o page.md --card page.md | each needs a file of its own
fit good.csv -c y --monotone x=1 --monotone x=-1 -o out.json | --monotone says twice what holds for x
fit good.csv -c y --class-weight a=1 --class-weight a=3 -o out.json | --class-weight says twice what holds for a
export model.json --to sql --table t --key k --key k | 'k' twice
export model.json --to c --rename x=a --rename x=b | --rename says twice what holds for x
export model.json --to cobol | --to='cobol' is not known
export model.json --to c --rename x0 | expected COLUMN=NAME
export model.json --to python --view v | has no option 'view'
convert absent.bif out.net | cannot read 'absent.bif': no such file
convert expert.bif out.txt | expected one of .bif, .net, .json
convert good.csv out.bif | cannot tell the network format of 'good.csv'
convert cut.bif expert.bif | cut short
convert - out.net --from bif | --from is gone; name a file
convert expert.bif - | cannot tell the network format of '-'
convert expert.bif | Missing argument 'OUT'
convert | Missing argument 'IN'
tune expert.bif good.csv -q yy | the network has no node 'yy'; the nearest are 'y'
tune expert.bif hole.csv -q y | column 'c' holds '?' in row 0, which is no state
tune expert.bif other.csv -q y | a column 'd' that is no node of the network
tune expert.bif good.csv | Missing option '--query'
tune absent.bif good.csv -q y | cannot read 'absent.bif': no such file
tune expert.bif absent.csv -q y | absent.csv
tune expert.bif good.csv -q y -o out.txt | cannot tell the network format of 'out.txt'
tune expert.bif good.csv -q y --strength much | --strength 'much' is neither a number
tune expert.bif good.csv -q y -o - --to bif | --to is gone; name a file
edit model.json edits.json | -o names the file
edit model.json -o new.json | -o names the file
edit model.json edits.json --undo -o new.json | leave EDITS out
edit model.json --undo -o new.json | no edits to undo
edit model.json --undo --refit good.csv -o new.json | --refit goes with EDITS
edit model.json edits.json -o new.json --refit unlabelled.csv | no class column 'y'
edit edited.json edits.json -o new.json | made for another model
edit model.json edits.json -o model.json | cannot write 'model.json'
demo -o good.csv | good.csv
completion csh | 'csh' is not one of
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_bad_arguments_are_refused(folder, capsys, fill, line):
    fill(bad_files)
    command, words = line.split(" | ")
    assert words in refused(folder, capsys, shlex.split(command))


def test_a_model_without_column_names_is_refused(folder, capsys):
    save_model(NaiveBayesClassifier().fit(np.array([[1.0], [2.0]]), ["a", "b"]), "array.json")
    assert "without column names" in refused(folder, capsys, ["predict", "array.json", "good.csv"])


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


SINGLE = [
    (name, option.opts[0])
    for name, command in get_command(app).commands.items()
    for option in command.params
    if option.param_type_name == "option" and not option.multiple and not option.is_flag
]


@pytest.mark.parametrize(("command", "option"), SINGLE)
def test_an_option_of_one_value_is_given_once(command, option, capsys):
    """Of two values nobody would see which one holds."""
    assert run([command, option, "1", option, "2"]) == 2
    assert f"{option} is given 2 times, and takes one value" in capsys.readouterr().err
