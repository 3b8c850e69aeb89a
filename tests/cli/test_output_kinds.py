"""A file gives way to one of its own kind alone: of its format, its columns, its language, its run or its demo."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cli.kept_files import refused
from tanager import read_network, write_network
from tanager.cli import demo
from tanager.cli.main import run
from tanager.export.targets import TARGETS
from tanager.files.network_file import FORMATS


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
        for _ in range(2):
            assert run(["export", "m.json", "--to", to, *options, "-o", f"out.{to}"]) == 0
    for to, options in EXPORTS.items():
        for other in EXPORTS.keys() - {to} - ({"js", "ts"} if to in ("js", "ts") else set()):
            command = ["export", "m.json", "--to", to, *options, "-o", f"out.{other}"]
            assert "--force" in refused(capsys, command, f"out.{other}")


@pytest.mark.parametrize("change", ["a row", "a sheet"])
def test_a_workbook_that_somebody_filled_in_is_kept(folder, capsys, change):
    openpyxl = pytest.importorskip("openpyxl")
    command = ["export", "m.json", "--to", "excel", "-o", "m.xlsx"]
    assert run(command) == 0
    book = openpyxl.load_workbook("m.xlsx")
    if change == "a row":
        book["Rows"]["A2"] = 5.0
    else:
        book.create_sheet("mine")
    book.save("m.xlsx")
    assert "is not an empty workbook" in refused(capsys, command, "m.xlsx")
    assert run([*command, "--force"]) == 0
    assert run(command) == 0


def test_demo_keeps_a_model_and_a_page_that_are_not_beside_its_table(folder, capsys):
    for name, kind in ("model.json", "model"), ("report.html", "page"):
        Path("work").mkdir(exist_ok=True)
        Path("kinds", kind).rename(Path("work", name))
        assert "--force" in refused(capsys, ["demo", "-o", "work"], f"work/{name}")
        Path("work", name).unlink()


def test_demo_replaces_its_own_files_and_no_other(folder, capsys, monkeypatch):
    X, y = demo._breast_cancer()
    monkeypatch.setattr(demo, "_breast_cancer", lambda: (X.select(X.column_names[:3]).slice(0, 60), y[:60]))
    for _ in range(2):
        assert run(["demo", "-o", "demo"]) == 0
    others = {"model.json": "network", "breast_cancer.csv": "table", "report.html": "html"}
    written = {name: Path("demo", name).read_bytes() for name in others}
    for name, kind in others.items():
        shutil.copy(Path("kinds", kind), Path("demo", name))
        assert "--force" in refused(capsys, ["demo", "-o", "demo"], f"demo/{name}")
        Path("demo", name).write_bytes(written[name])

    def without_time(content: bytes) -> bytes:
        return re.sub(rb"Learning took [^.]*\.?[^.]* s", b"", content)

    for name, kind in others.items():
        shutil.copy(Path("kinds", kind), Path("demo", name))
    assert run(["demo", "-o", "demo", "--force"]) == 0
    for name in others:
        same = without_time(Path("demo", name).read_bytes()) == without_time(written[name])
        assert same, name  # the files are long: pytest would compare them letter by letter
