"""Files of every kind in a folder, and commands that must leave them as they are."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tanager import load_model, read_network, report, write_network
from tanager.cli.main import run
from tanager.edits import Edit, Edits
from tanager.files import save_edits
from tanager.files.write_table import write_table

ROWS = "x,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5
RAGGED = "1\n"
"""A last line that makes a table unreadable: what is said of the output has been said before the table was read."""

FIT = "fit t.csv -c y --structure naive-bayes --parameters frequency -o"


def write_kinds(folder: Path) -> None:
    """Everything that the commands read, and a file of every kind in `kinds`."""
    for name in ("sets", "kinds"):
        (folder / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("t.csv", "sets/a.csv", "kinds/table"):
            Path(name).write_text(ROWS)
        for structure, model in ("naive-bayes", "kinds/model"), ("tan", "m.json"):
            assert run([*FIT.replace("naive-bayes", structure).split(), model]) == 0
        assert run(["check", "t.csv", "-c", "y", "--fix", "kinds/recipe"]) == 0
        shutil.copy("kinds/recipe", "r.json")
        assert run(["fit", "t.csv", "-c", "y", "--no-validate", "-o", "p.json"]) == 0
        when = "2026-01-01T00:00:00+00:00"  # else two runs differ by the second of the edit
        save_edits(Edits((replace(Edit.remove("c", reason="by hand"), when=when),)), "edits.json")
        write_network(read_network("m.json"), "e.bif")
        write_network(read_network("m.json"), "network.json")
        Path("network.json").rename("kinds/network")
        shutil.copy("e.bif", "kinds/bif")
        Path("kinds/page").write_text(report(load_model("m.json")))
        Path("kinds/html").write_text("<!doctype html><title>mine</title>")
        Path("kinds/json").write_text('{"format": 1, "versions": {}, "classifier": "mine"}')
        Path("kinds/classes").write_text("y\na\nb\n")
        write_table(pa.table({"y": ["a"]}), "y.parquet")
        Path("y.parquet").rename("kinds/parquet")


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
