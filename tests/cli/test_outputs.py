"""No command changes a file that it reads, nor a file of another kind without --force; it says so before the work.

A file gives way to one of its own kind alone: of its format, its columns, its language, its run or its demo.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

from cli.kept_files import FIT, refused
from tanager import load_model, read_network, report, save_model, write_network
from tanager.cli.main import app, run
from tanager.export.targets import TARGETS
from tanager.files.network_file import FORMATS
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table

COMMANDS = {
    ("fit", "output"): (FIT.replace("-o", "--recipe r.json -o"), ".json", {"data": "t.csv", "recipe": "r.json"}),
    ("predict", "output"): ("predict m.json t.csv -o", ".csv", {"model": "m.json", "data": "t.csv"}),
    ("report", "output"): ("report m.json t.csv -o", ".html", {"model": "m.json", "data": "t.csv"}),
    ("report", "card"): ("report m.json t.csv -o page.html --card", ".md", {"model": "m.json", "data": "t.csv"}),
    ("export", "output"): ("export m.json --to python -o", ".py", {"model": "m.json"}),
    ("convert", "output"): ("convert e.bif", ".bif", {"source": "e.bif"}),
    ("tune", "output"): (
        "tune e.bif t.csv -q y --strength 1 --folds 2 -o",
        ".bif",
        {"expert": "e.bif", "data": "t.csv"},
    ),
    ("edit", "output"): (
        "edit p.json edits.json --refit t.csv -o",
        ".json",
        {"model": "p.json", "edits": "edits.json", "refit": "t.csv"},
    ),
    ("check", "fix"): ("check t.csv -c y --recipe r.json --fix", ".json", {"data": "t.csv", "recipe": "r.json"}),
    ("check", "fixed"): ("check t.csv -c y --recipe r.json --fixed", ".csv", {"data": "t.csv", "recipe": "r.json"}),
}
"""For each option that names a file to write: the command up to it, a suffix, and the file read for each parameter."""
FOLDERS = {("demo", "output")}
"""The options that name a folder; they have tests of their own."""
NAMES_ITSELF = {"start"}
"""The command that names its files itself, and has tests of its own for that."""
PRINTS = {
    "evaluate": ["t.csv -c y --folds 2 --structure naive-bayes --parameters frequency --recipe r.json"],
    "explain": ["m.json t.csv --change", "m.json"],
    "compare": ["naive-bayes --data t.csv -c y --folds 2 --recipe r.json"],
    "stability": ["t.csv -c y --draws 2 --structure naive-bayes --parameters frequency"],
    "completion": ["bash"],
}
"""The commands that write no file, with arguments."""
WRITTEN = {"output", "card", "fix", "fixed"}
READ = {"data", "model", "source", "expert", "edits", "refit", "recipe"}
WORDS = set(
    re.findall(
        r"\w+",
        """against author categorical class_column class_weight classifiers cost criterion device dialect discretizer
        drop engine event form group impossible keep key lock missing monotone name pairs parameters purpose
        query rename sensitivity sheet specificity strength structure table threshold time title to
        view who""",
    )
)
"""Parameters whose text names no file."""

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


KINDS = ("table", "model", "recipe", "network", "bif", "page", "html", "json", "classes", "parquet")
OWN = {
    "check": "recipe",
    "fit": "model",
    "predict": "classes",
    "report": "page",
    "convert": "bif",
    "export": "python",
    "tune": "bif",
    "edit": "model",
}


def own_kind(command: str, option: str) -> str:
    return "none" if option == "fixed" else OWN[command]


def texts_of(command: typer.models.CommandInfo) -> set[str]:
    """The parameters of a command that take text or paths, alone or in a list."""

    def kinds(hint: object) -> set[object]:
        return {hint}.union(*map(kinds, get_args(hint)))

    return {name for name, hint in get_type_hints(command.callback).items() if kinds(hint) & {str, Path}}


def test_every_parameter_of_every_command_is_known_to_these_laws():
    """A new command, or a new option that takes text, fails here until it is said what it reads and writes."""
    writes = set()
    for command in app.registered_commands:
        name, texts = command.callback.__name__, texts_of(command)
        assert texts <= WRITTEN | READ | WORDS, name
        writes |= {(name, option) for option in texts & WRITTEN}
        assert (name in PRINTS | dict.fromkeys(NAMES_ITSELF)) == texts.isdisjoint(WRITTEN), name
        for option in texts & WRITTEN:
            assert "force" in get_type_hints(command.callback)
            assert (name, option) in FOLDERS or COMMANDS[name, option][2].keys() == texts & READ
    assert writes == COMMANDS.keys() | FOLDERS


@pytest.mark.parametrize("command", PRINTS)
def test_a_command_without_an_output_changes_no_file(folder, command):
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for arguments in PRINTS[command]:
        assert run([command, *arguments.split()]) == 0
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("command", "suffix", "read"),
    [(command, suffix, read) for command, suffix, reads in COMMANDS.values() for read in reads.values()],
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
    ],
)
def test_a_file_is_recognised_behind_standard_input_and_output(folder, line, named):
    before = Path("t.csv").read_bytes()
    done = subprocess.run(f"'{sys.executable}' -m tanager {line}", shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tanager: error: cannot write '{named}': that would change ")
    assert Path("t.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("option", "kind"), [(option, kind) for option in COMMANDS for kind in KINDS if own_kind(*option) != kind]
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
    same = written == Path("kinds/html").read_bytes()  # plain values: a diff of pages has no end
    assert not same
    # `check --fixed` cannot know its own table from a person's; mktemp makes an empty file.
    for older in (b"",) if option == ("check", "fixed") else (written, b""):
        output.write_bytes(older)
        number = output.stat().st_ino
        assert run([*command.split(), str(output)]) == 0
        assert output.stat().st_ino != number
        same = output.read_bytes() == written
        assert same


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


@pytest.mark.parametrize("suffix", [*FORMATS, ".json"])
def test_a_network_replaces_one_of_its_format_alone(folder, capsys, suffix):
    output = f"out{suffix}"
    for _ in range(2):
        assert run(["convert", "e.bif", output]) == 0
    write_network(read_network("e.bif"), "other.bif" if suffix == ".net" else "other.net")
    Path("other.bif" if suffix == ".net" else "other.net").replace(output)
    assert "--force" in refused(capsys, ["convert", "e.bif", output], output)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_predictions_replace_a_table_with_the_same_columns_alone(folder, capsys, suffix):
    output = f"out{suffix}"
    for options in [], ["--proba"]:
        assert run(["predict", "m.json", "t.csv", "-o", output, *options, "--force"]) == 0
        assert run(["predict", "m.json", "t.csv", "-o", output, *options]) == 0
    assert "--force" in refused(capsys, ["predict", "m.json", "t.csv", "-o", output], output)


EXPORTS = {
    "sql": ["--dialect", "sqlite", "--table", "t", "--key", "id"],
    **{to: [] for to in ("python", "js", "c", "onnx", "scorecard", "excel")},
}


def test_an_export_replaces_one_of_its_language_alone(folder, capsys):
    assert EXPORTS.keys() == TARGETS.keys()
    for to, options in EXPORTS.items():
        command = ["export", "m.json", "--to", to, *options, "-o", f"out.{to}"]
        assert run(command) == 0
        if to == "excel":  # somebody may have filled the workbook in
            assert "--force" in refused(capsys, command, f"out.{to}")
        else:
            assert run(command) == 0
    for to, options in EXPORTS.items():
        for other in EXPORTS.keys() - {to} - ({"js", "ts"} if to in ("js", "ts") else set()):
            command = ["export", "m.json", "--to", to, *options, "-o", f"out.{other}"]
            assert "--force" in refused(capsys, command, f"out.{other}")


def test_demo_replaces_its_own_files_and_no_other(folder, capsys):
    Path("work").mkdir()
    Path("work", "model.json").write_bytes(Path("kinds", "model").read_bytes())
    assert "the folder holds files of others" in refused(capsys, ["demo", "-o", "work"], "work")
    for _ in range(2):
        assert run(["demo", "-o", "demo"]) == 0
    for name, kind in {"model.json": "network", "breast_cancer.csv": "table", "report.html": "html"}.items():
        written = Path("demo", name).read_bytes()
        shutil.copy(Path("kinds", kind), Path("demo", name))
        assert "--force" in refused(capsys, ["demo", "-o", "demo"], f"demo/{name}")
        Path("demo", name).write_bytes(written)
    assert run(["demo", "-o", "work", "--force"]) == 0
