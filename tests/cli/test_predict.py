"""`tanager predict` for work: kept columns, every row in its place, and nothing a spreadsheet would run."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.iris_table import NAMES
from tanager import load_model
from tanager.cli.main import run
from tanager.files import read_table as read_table_module
from tanager.files.read_table import read_table
from tanager.files.write_table import escape_formula, write_table
from tanager.table.stream import source as stream_source

FAST = ["--structure", "naive-bayes", "--parameters", "frequency", "--no-validate"]


@pytest.fixture
def model(iris, monkeypatch):
    """m.json, and new.csv: the rows backwards, with identifiers and some gaps."""
    monkeypatch.setattr(stream_source, "BATCH_ROWS", 40)
    monkeypatch.setattr(read_table_module, "STREAM_BLOCK", 1_500)
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", *FAST]) == 0
    rows = iris.take(list(range(149, -1, -1))).drop_columns(["species"])
    rows = rows.set_column(0, NAMES[0], [[None if k % 10 == 0 else v for k, v in enumerate(rows[0].to_pylist())]])
    for name in ("new.csv", "new.parquet"):
        write_table(rows.append_column("id", [[f"{k:04d}" for k in range(150)]]), name)
    return rows


@pytest.mark.parametrize("more", ["--stream", "--no-stream"])
@pytest.mark.parametrize("data", ["new.csv", "new.parquet"])
@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.parquet", "-"])
def test_every_row_is_there_once_in_its_order_beside_what_was_kept(model, capfdbinary, data, output, more):
    capfdbinary.readouterr()
    assert run(["predict", "m.json", data, "--keep", "id", "--keep", NAMES[1], "--proba", "-o", output, more]) == 0
    if output == "-":
        output = "out.csv"
        Path(output).write_bytes(capfdbinary.readouterr().out)
    found = read_table(output)
    ids = found.column("id").to_pylist()
    if not output.endswith("parquet"):
        with Path(output).open(newline="") as stream:
            ids = [row["id"] for row in csv.DictReader(stream, delimiter="," if output == "out.csv" else "\t")]
    assert ids == [f"{k:04d}" for k in range(150)]
    assert found.column_names[:3] == ["id", NAMES[1], "species"]
    assert found.column(NAMES[1]).to_pylist() == model.column(NAMES[1]).to_pylist()
    clf = load_model("m.json")
    assert found.column("species").to_pylist() == clf.predict(model).tolist()
    shares = np.column_stack([found.column(f"P(species={label})").to_numpy() for label in clf.classes_])
    np.testing.assert_allclose(shares, clf.predict_proba(model), rtol=1e-12)


def test_text_like_a_formula_is_escaped_in_text_files_and_not_in_others(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("train.csv").write_text("x,=y\n" + "u,=1+1\nv,-\n" * 6)
    assert run(["fit", "train.csv", "--class", "=y", "-o", "m.json", *FAST]) == 0
    cells = ["@SUM(A1)", "+cmd|' /C calc'!A0", "-5", "-x", "plain", "=", "+", "-1e5", "a=b"]
    with Path("new.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["x", "id"], *zip("uvuvuvuvu", cells, strict=True)])
    assert run(["predict", "m.json", "new.csv", "--keep", "id", "-o", "out.csv"]) == 0
    with Path("out.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["id", "'=y"]
    assert [row[0] for row in rows] == [
        "'@SUM(A1)",
        "'+cmd|' /C calc'!A0",
        "-5",
        "'-x",
        "plain",
        "=",
        "+",
        "-1e5",
        "a=b",
    ]
    assert [row[1] for row in rows] == ["'=1+1" if k % 2 == 0 else "-" for k in range(9)]
    assert run(["predict", "m.json", "new.csv", "--keep", "id", "-o", "out.csv"]) == 0  # it is known again
    assert run(["predict", "m.json", "new.csv", "--keep", "id", "-o", "out.parquet"]) == 0
    assert read_table("out.parquet").column("id").to_pylist() == cells
    capsys.readouterr()
    assert run(["predict", "m.json", "new.csv", "--keep", "id", "--json"]) == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == cells


@given(st.text(alphabet="=+-@1.e \ta'", max_size=6))
def test_no_escaped_text_begins_as_a_formula_and_the_text_is_behind_the_apostrophe(text):
    found = escape_formula(text)
    assert found in (text, f"'{text}")
    if found == text and len(text) > 1 and text[0] in "=+-@\t":
        float(text)  # only a number may begin so
