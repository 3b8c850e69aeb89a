"""`tanager report`: a page from a model file and a table; one clear line when they do not fit."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zlib
from base64 import b64decode
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from tanager import load_model
from tanager.cli.main import run

TABLE = "x,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5


def table_and_model() -> None:
    Path("table.csv").write_text(TABLE)
    assert run(["fit", "table.csv", "--class", "y", "-o", "model.json"]) == 0


@pytest.fixture
def folder(tmp_path, monkeypatch, fill) -> Path:
    monkeypatch.chdir(tmp_path)
    fill(table_and_model)
    return tmp_path


def content(page: str) -> dict:
    return json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])


def test_a_model_alone_gives_a_page_with_the_quality_it_knows_of(folder, capsys):
    assert run(["report", "model.json"]) == 0
    assert capsys.readouterr().out == ""
    found = content((folder / "report.html").read_text("utf-8"))
    assert [node["name"] for node in found["network"]["nodes"]] == ["x", "c", "y"]
    assert (found["rows"], found["quality"]["split"]) == (None, "5 folds")
    assert run(["fit", "table.csv", "--class", "y", "-o", "model.json", "--no-validate"]) == 0
    assert run(["report", "model.json"]) == 0
    assert content((folder / "report.html").read_text("utf-8"))["quality"] is None


def test_the_training_table_is_judged_by_cross_validation_and_any_other_as_it_is(folder, tmp_path):
    rows = [f"{k % 9},{'uv'[k % 2]},{'ab'[k % 3 == 0]}" for k in range(60)]
    (folder / "hard.csv").write_text("\n".join(["x,c,y", *rows]))
    (folder / "rest.csv").write_text("\n".join(["x,c,y", *rows[1:]]))
    assert run(["fit", "hard.csv", "--class", "y", "-o", "hard.json", "--structure", "tan"]) == 0
    kept = load_model("hard.json").quality_
    assert run(["report", "hard.json", "hard.csv"]) == 0
    found = content((folder / "report.html").read_text("utf-8"))["quality"]
    assert (found["split"], found["n_rows"]) == ("5 folds", 60)
    assert found["log_loss"] == kept.measures.log_loss
    assert found["base_rate"]["log_loss"] == kept.base.log_loss
    assert found["confusion"] == kept.confusion.tolist()
    assert run(["report", "hard.json", "rest.csv"]) == 0
    assert content((folder / "report.html").read_text("utf-8"))["quality"]["split"] == ""


def test_a_class_of_digits_kept_as_text_is_recognised(folder):
    (folder / "text.csv").write_text("x,y\n" + "1,1\n5,2\n1,1\n6,b\n" * 5)
    assert run(["fit", "text.csv", "--class", "y", "-o", "text.json"]) == 0
    (folder / "digits.csv").write_text("x,y\n1,1\n5,2\n")
    assert run(["report", "text.json", "digits.csv", "-o", "page.html"]) == 0
    assert content((folder / "page.html").read_text("utf-8"))["quality"]["n_rows"] == 2


def test_rows_come_from_standard_input_and_the_page_goes_to_standard_output(folder, capfdbinary, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode())))
    assert run(["report", "model.json", "-", "-o", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert err == b""
    assert content(out.decode())["quality"]["n_rows"] == 20


def test_the_card_is_written_beside_the_page_and_the_title_is_the_name_of_the_table(folder, capsys):
    command = ["report", "model.json", "table.csv", "--card", "card.json", "--purpose", "To try it", "--author", "Me"]
    assert run(command) == 0
    card = json.loads((folder / "card.json").read_text("utf-8"))["model_card"]
    assert card["title"] == "table"
    page = unescape((folder / "report.html").read_text("utf-8"))
    assert "<title>table</title>" in page
    assert all(f"<li>{line}</li>" in page for _, lines in card["sections"] for line in lines)
    for kind, file in (("model file", "model.json"), ("table", "table.csv")):
        hashed = hashlib.sha256((folder / file).read_bytes()).hexdigest()
        assert f"SHA-256 of the {kind}: {hashed}." in dict(card["sections"])["Model"]
    assert dict(card["sections"])["Purpose"] == ["To try it"]
    assert run([*command, "--title", "Mine"]) == 0  # over the older page and card
    assert "<title>Mine</title>" in (folder / "report.html").read_text("utf-8")
    assert run(["report", "model.json", "--card", "card.md"]) == 0
    assert (folder / "card.md").read_text("utf-8").startswith("# model\n\nAdditive model: ")
    assert run(["report", "model.json", "--card", "card.md"]) == 0


def test_rows_are_inside_the_page_unless_they_are_left_out_and_the_page_says_so(folder):
    for options, words, inside in (
        ([], "of the table, with every value", True),
        (["--no-rows"], "but no row of", False),
    ):
        assert run(["report", "model.json", "table.csv", *options]) == 0
        page = (folder / "report.html").read_text("utf-8")
        assert words in page
        assert (content(page)["rows"] is not None) == inside
        assert ("data-row=" in page) == inside
        assert content(page)["quality"] is not None


def test_row_numbers_are_those_of_the_file_and_rows_without_a_class_leave_a_gap(folder):
    (folder / "gap.csv").write_text("note\n\nx,c,y\n1,u,a\n1,u,\n5,v,a\n1.5,u,b\n")
    assert run(["report", "model.json", "gap.csv"]) == 0
    found = content((folder / "report.html").read_text("utf-8"))
    assert np.frombuffer(zlib.decompress(b64decode(found["rows"]["numbers"])), np.uint32).cumsum().tolist() == [4, 6, 7]
    assert sorted(row for row, *_ in found["mistakes"]) == [6, 7]


def test_the_event_asked_for_is_on_the_page(folder):
    assert run(["report", "model.json", "table.csv", "--event", "a"]) == 0
    page = (folder / "report.html").read_text("utf-8")
    assert "The event is a." in page
    assert content(page)["base"]["shown"] == 0
