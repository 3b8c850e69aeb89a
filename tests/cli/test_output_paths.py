"""No command changes a file that it reads, nor a file of another kind without --force; it says so before the work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import typer

from experiments.small_sets import write_sets
from tanager import Edit, Edits, load_model, read_network, report, save_edits, save_model, write_network
from tanager.cli import demo
from tanager.cli.main import app, run
from tanager.files.network_file import FORMATS
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table

ROWS = "x,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5
RAGGED = "1\n"
"""A last line that makes a table unreadable: what is said of the output has been said before the table was read."""

FIT = "fit t.csv -c y --structure naive-bayes --parameters frequency -o"
COMPARE = "compare naive-bayes:frequency tan:ll:frequency --data sets -c y --folds 2 --jobs 1 -o"
COMMANDS = {
    ("fit", "output"): (FIT, ".json", ["t.csv"]),
    ("predict", "output"): ("predict m.json t.csv -o", ".csv", ["m.json", "t.csv"]),
    ("report", "output"): ("report m.json t.csv -o", ".html", ["m.json", "t.csv"]),
    ("report", "card"): ("report m.json t.csv -o page.html --card", ".md", ["m.json", "t.csv"]),
    ("export", "output"): ("export m.json --to python -o", ".py", ["m.json"]),
    ("convert", "output"): ("convert e.bif", ".bif", ["e.bif"]),
    ("tune", "output"): ("tune e.bif t.csv -q y --strength 1 --folds 2 -o", ".bif", ["e.bif", "t.csv"]),
    ("edit", "output"): ("edit p.json edits.json --refit t.csv -o", ".json", ["p.json", "edits.json", "t.csv"]),
    ("check", "fix"): ("check t.csv -c y --fix", ".json", ["t.csv"]),
    ("compare", "page"): (f"{COMPARE} results --page", ".md", ["sets/a.csv"]),
}
"""For each option that names a file to write: the command up to it, a suffix, what is read."""
FOLDERS = {("compare", "output"), ("demo", "output")}
"""The options that name a folder; they have tests of their own."""
READ_ONLY = {
    ("compare", "data"),
    ("evaluate", "model"),
    ("evaluate", "recipe"),
    ("fit", "recipe"),
    ("stability", "recipe"),
}

SPELLINGS = {
    "the same": lambda read, suffix: read,
    "a dot": lambda read, suffix: f"./{read}",
    "a detour": lambda read, suffix: f"sets/../{read}",
    "absolute": lambda read, suffix: os.path.abspath(read),
    "a symbolic link": lambda read, suffix: linked(os.symlink, os.path.abspath(read), suffix),
    "a hard link": lambda read, suffix: linked(os.link, read, suffix),
}


def linked(link, read: str, suffix: str) -> str:
    link(read, f"link{suffix}")
    return f"link{suffix}"


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> Path:
    """Everything that the commands read, and a file of every kind in `kinds`."""
    folder = tmp_path_factory.mktemp("originals")
    for name in ("sets", "kinds"):
        (folder / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("t.csv", "sets/a.csv", "kinds/table"):
            Path(name).write_text(ROWS)
        for structure, model in ("naive-bayes", "kinds/model"), ("tan", "m.json"):
            assert run([*FIT.replace("naive-bayes", structure).split(), model]) == 0
        assert run(["check", "t.csv", "--fix", "kinds/recipe"]) == 0
        assert run(["fit", "t.csv", "-c", "y", "--no-validate", "-o", "p.json"]) == 0
        save_edits(Edits((Edit.remove("c", reason="by hand"),)), "edits.json")
        write_network(read_network("m.json"), "e.bif")
        write_network(read_network("m.json"), "network.json")
        Path("network.json").rename("kinds/network")
        shutil.copy("e.bif", "kinds/bif")
        Path("kinds/page").write_text(report(load_model("m.json")))
        Path("kinds/html").write_text("<!doctype html><title>mine</title>")
        Path("kinds/json").write_text('{"format": 1, "versions": {}, "classifier": "mine"}')
        Path("kinds/classes").write_text("y\na\nb\n")
        Path("kinds/study").write_text("# Experiments\n\nGenerated; do not edit.\n")
        write_table(pa.table({"y": ["a"]}), "y.parquet")
        Path("y.parquet").rename("kinds/parquet")
    return folder


KINDS = ("table", "model", "recipe", "network", "bif", "page", "html", "json", "classes", "study", "parquet")
OWN = {
    "check": "recipe",
    "fit": "model",
    "predict": "classes",
    "report": "page",
    "convert": "bif",
    "export": "python",
    "tune": "bif",
    "edit": "model",
    "compare": "study",
}


@pytest.fixture
def folder(originals, tmp_path, monkeypatch) -> Path:
    """The working folder, with a copy of all that."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str], named: str) -> str:
    """The one line about the file named, of a command that changes nothing, although no table can be read."""
    for table in {Path("t.csv"), *Path("sets").glob("*.csv")}:
        if not table.read_text().endswith(RAGGED):
            table.write_text(ROWS + RAGGED)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("tanager: error: cannot ")
    assert f"'{named.removeprefix('./')}'" in err.replace("'./", "'")
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return err


def test_every_option_that_names_a_file_is_known_here():
    commands = typer.main.get_command(app).commands
    hints = {command.callback.__name__: command.callback.__annotations__ for command in app.registered_commands}
    found = {
        (name, option.name)
        for name, command in commands.items()
        for option in command.params
        if option.metavar in ("FILE", "FOLDER", "OUT") or "Path" in str(hints[name].get(option.name))
    }
    assert found == COMMANDS.keys() | FOLDERS | READ_ONLY
    for name, _ in COMMANDS.keys() | FOLDERS:
        assert "force" in {option.name for option in commands[name].params}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("command", "suffix", "read"),
    [(command, suffix, read) for command, suffix, reads in COMMANDS.values() for read in reads],
)
def test_no_command_writes_over_a_file_that_it_reads(folder, capsys, command, suffix, read, spelling):
    output = SPELLINGS[spelling](read, suffix)
    for force in [], ["--force"]:
        message = refused(capsys, [*command.split(), output, *force], output)
        if not (Path(output).suffix != suffix and "suffix" in message):  # a name that does not even fit the command
            assert f"that would change '{read}', which this command reads. Hint: name another file" in message


@pytest.mark.parametrize("output", ["parts/new{}", "parts/a.parquet", "parts/deeper/b.parquet", "link{}"])
@pytest.mark.parametrize("command", ["fit parts -c y -o", "predict m.json parts -o", "report m.json parts -o"])
def test_no_command_writes_into_a_folder_that_it_reads(folder, capsys, command, output):
    Path("parts/deeper").mkdir(parents=True)
    for name in ("a", "deeper/b"):
        write_table(read_table("t.csv"), f"parts/{name}.parquet")
    suffix = ".parquet" if command.startswith("predict") else ".json"
    os.link("parts/deeper/b.parquet", f"link{suffix}")
    output = output.format(suffix)
    message = refused(capsys, [*command.split(), output, "--force"], output)
    assert "that would change 'parts', which this command reads" in message


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("fit - -c y -o t.csv --force < t.csv", "t.csv"),
        ("predict m.json t.csv >> t.csv", "-"),
        ("convert - - --from bif --to net < e.bif >> e.bif", "-"),
    ],
)
def test_a_file_is_recognised_behind_standard_input_and_output(folder, line, named):
    before = Path("t.csv").read_bytes(), Path("e.bif").read_bytes()
    done = subprocess.run(f"'{sys.executable}' -m tanager {line}", shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tanager: error: cannot write '{named}': that would change ")
    assert (Path("t.csv").read_bytes(), Path("e.bif").read_bytes()) == before


@pytest.mark.parametrize(
    ("option", "kind"), [(option, kind) for option in COMMANDS for kind in KINDS if OWN[option[0]] != kind]
)
def test_a_file_of_another_kind_is_kept(folder, capsys, option, kind):
    command, suffix, _ = COMMANDS[option]
    output = f"old{suffix}"
    Path("kinds", kind).rename(output)
    message = refused(capsys, [*command.split(), output], output)
    assert "the file that is there is not a" in message
    assert "Hint: name another file, or replace this one with --force." in message


@pytest.mark.parametrize("option", COMMANDS)
def test_force_replaces_a_file_of_another_kind_which_is_then_one_of_its_own(folder, option):
    command, suffix, _ = COMMANDS[option]
    output = Path(f"old{suffix}")
    shutil.copy("kinds/html", output)
    assert run([*command.split(), str(output), "--force"]) == 0
    written = output.read_bytes()
    assert written != Path("kinds/html").read_bytes()
    for older in written, b"":  # mktemp makes an empty file
        output.write_bytes(older)
        number = output.stat().st_ino
        assert run([*command.split(), str(output)]) == 0
        assert output.stat().st_ino != number
        assert output.read_bytes() == written


@pytest.mark.parametrize("suffix", [*FORMATS, ".json"])
def test_a_network_replaces_one_of_its_format_alone(folder, capsys, suffix):
    output = f"out{suffix}"
    for _ in range(2):
        assert run(["convert", "e.bif", output]) == 0
    write_network(read_network("e.bif"), "other.uai" if suffix == ".net" else "other.net")
    Path("other.uai" if suffix == ".net" else "other.net").replace(output)
    assert "--force" in refused(capsys, ["convert", "e.bif", output], output)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_predictions_replace_a_table_with_the_same_columns_alone(folder, capsys, suffix):
    output = f"out{suffix}"
    for options in [], ["--proba"]:
        assert run(["predict", "m.json", "t.csv", "-o", output, *options, "--force"]) == 0
        assert run(["predict", "m.json", "t.csv", "-o", output, *options]) == 0
    assert "--force" in refused(capsys, ["predict", "m.json", "t.csv", "-o", output], output)


@pytest.mark.parametrize("change", [{"format": 0}, {"versions": {"tanager": "9.1", "numpy": "3"}}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_model_of_another_version_or_layout_is_a_model(folder, change, indent):
    Path("old.json").write_text(json.dumps({**json.loads(Path("m.json").read_text()), **change}, indent=indent))
    assert run([*FIT.split(), "old.json"]) == 0


def test_a_device_or_a_pipe_may_be_written(folder):
    assert run([*FIT.split(), os.devnull]) == 0
    os.mkfifo("pipe")
    for output, shell in ("pipe", "cat pipe & {}; wait"), ("/dev/stdout", "{} | cat"):
        command = shell.format(f"'{sys.executable}' -m tanager {FIT} {output}")
        done = subprocess.run(command, shell=True, capture_output=True, timeout=60)
        assert (done.stdout, done.stderr) == (Path("kinds/model").read_bytes(), b"")


def test_python_may_write_over_any_file(folder):
    save_model(load_model("m.json"), "t.csv")
    assert Path("t.csv").read_bytes() == Path("m.json").read_bytes()
    shutil.copy("kinds/table", "t.bif")
    write_network(read_network("m.json"), "t.bif")
    assert Path("t.bif").read_bytes() == Path("e.bif").read_bytes()
    report(load_model("m.json"), path="t.csv")
    assert Path("t.csv").read_bytes() == Path("kinds/page").read_bytes()


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize(
    "name", ["compare/results.jsonl", "compare/settings.json", "compare/lock", "pictures/compare-x.png"]
)
def test_compare_keeps_nothing_in_a_data_set(folder, capsys, name, link):
    output = Path("results", name)
    output.parent.mkdir(parents=True)
    link(os.path.abspath("sets/a.csv"), output)
    message = refused(capsys, [*COMPARE.split(), "results", "--force"], str(output))
    assert "that would change 'sets/a.csv', which this command reads" in message


def test_compare_keeps_the_manifest_of_its_data_sets(folder, capsys):
    write_sets(Path("sets"))
    page = "sets/../sets/manifest.json"
    message = refused(capsys, [*COMPARE.split(), "results", "--page", page, "--force"], page)
    assert "that would change 'sets/manifest.json'" in message


@pytest.mark.parametrize("name", ["results.jsonl", "settings.json"])
def test_compare_adds_nothing_to_a_folder_of_something_else(folder, capsys, name):
    Path("results/compare").mkdir(parents=True)
    Path("results/compare", name).write_text('{"mine": 1}\n{"cut')
    for force in [], ["--force"]:
        assert run([*COMPARE.split(), "results", *force]) == 2
        assert "does not say what the results beside it are of" in capsys.readouterr().err
    assert [path.name for path in Path("results").rglob("*")] == ["compare", name]
    assert Path("results/compare", name).read_text() == '{"mine": 1}\n{"cut'


def test_compare_replaces_its_pictures_and_no_other(folder, capsys):
    Path("results/compare").mkdir(parents=True)
    Path("results/compare/lock").write_text("mine")
    assert run([*COMPARE.split(), "results"]) == 0
    assert Path("results/compare/lock").read_text() == "mine"
    pictures = {path: path.read_bytes() for path in Path("results/pictures").iterdir()}
    assert {path.suffix for path in pictures} == {".png", ".svg"}
    assert run([*COMPARE.split(), "results"]) == 0
    for picture, drawn in pictures.items():
        picture.write_bytes(b"mine")
        assert "--force" in refused(capsys, [*COMPARE.split(), "results"], str(picture))
        picture.write_bytes(drawn)
    picture.write_bytes(b"mine")
    Path("sets/a.csv").write_text(ROWS)
    assert run([*COMPARE.split(), "results", "--force"]) == 0
    assert {path: path.read_bytes() for path in Path("results/pictures").iterdir()} == pictures


def test_demo_replaces_its_own_files_and_no_other(folder, capsys, monkeypatch):
    X, y = demo._breast_cancer()
    monkeypatch.setattr(demo, "_breast_cancer", lambda: (X.select(X.column_names[:3]).slice(0, 60), y[:60]))
    monkeypatch.setattr(demo, "MODELS", {"naive Bayes": ("naive-bayes", "frequency")})
    for _ in range(2):
        assert run(["demo", "-o", "demo"]) == 0
    others = {"model.json": "network", "breast_cancer.csv": "table", "report.html": "html"}
    written = {name: Path("demo", name).read_bytes() for name in others}
    for name, kind in others.items():
        shutil.copy(Path("kinds", kind), Path("demo", name))
        assert "--force" in refused(capsys, ["demo", "-o", "demo"], f"demo/{name}")
        Path("demo", name).write_bytes(written[name])
    for name, kind in others.items():
        shutil.copy(Path("kinds", kind), Path("demo", name))
    assert run(["demo", "-o", "demo", "--force"]) == 0
    assert {name: Path("demo", name).read_bytes() for name in others} == written
