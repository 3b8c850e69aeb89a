"""`predict --set`: the sets of the command are those of Python, in every form of output."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from cli.test_decision import FIT
from tanager import conformal_sets, load_model
from tanager.cli.main import run
from tanager.files.read_table import read_table


def test_sets_are_those_of_python_however_they_are_written(iris, capsys):
    assert run(FIT) == 0
    expected = conformal_sets(load_model("m.json"), iris.drop_columns(["species"]), 0.9)
    assert 0 < (expected.sizes == 1).sum() < 150
    capsys.readouterr()
    predict = ["predict", "m.json", "iris.csv", "--set", "0.9"]
    assert run([*predict, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [tuple(row["set(species)"]) for row in rows] == expected.labels
    assert run([*predict, "--proba", "-o", "sets.parquet"]) == 0
    table = pq.read_table("sets.parquet")
    assert table.column_names[-1] == "set(species)"
    assert table.num_columns == 5
    assert list(map(tuple, table["set(species)"].to_pylist())) == expected.labels
    for stream in ("--stream", "--no-stream"):
        assert run([*predict, stream, "-o", "sets.csv", "--force"]) == 0
        words = [cell or "" for cell in read_table("sets.csv")["set(species)"].to_pylist()]
        assert words == [" | ".join(labels) for labels in expected.labels]


def test_a_level_that_the_rows_cannot_certify_is_said(iris, capsys):
    assert run(FIT) == 0
    capsys.readouterr()
    assert run(["predict", "m.json", "iris.csv", "--set", "0.99"]) == 0
    shown = capsys.readouterr()
    assert "in every set: 'setosa', 'versicolor', 'virginica', of which fewer than 99 rows are known" in shown.err
    assert shown.out.count("setosa | versicolor | virginica") == 150


@pytest.mark.parametrize(
    ("fit", "level", "message"),
    [
        (["--no-validate"], "0.95", "keeps no probabilities of rows that it has not learnt from"),
        ([], "95", "level=95.0 is no share of rows; expected a number above 0 and below 1"),
    ],
)
def test_what_cannot_be_is_one_line_before_any_output(iris, capsys, fit, level, message):
    assert run([*FIT, *fit]) == 0
    capsys.readouterr()
    assert run(["predict", "m.json", "iris.csv", "--set", level]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
    assert run(["predict", "m.json", "iris.csv", "--keep", "set(species)", "--set", "0.9"]) == 2
