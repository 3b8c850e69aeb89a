"""`python -m experiments.compare` on folders of tables: what it prints, keeps, resumes and refuses."""

from __future__ import annotations

import pytest

from experiments.compare import main as run
from studies.small_sets import write_sets


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """The working folder, with data sets in `sets`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sets").mkdir()
    return write_sets(tmp_path / "sets")


def test_tables_are_printed_and_pictures_drawn(sets, tmp_path, capsys):
    command = ["nb=naive-bayes:frequency", "tan:ll:frequency", "--data", "sets", "--folds", "3", "--jobs", "1", "-oout"]
    assert run([*command, "--page", "page.md"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(word in out for word in ("error in %", "log-loss", "nb against the others", "| mixed"))
    assert (tmp_path / "page.md").read_text().startswith("# Experiments")
    assert (tmp_path / "pictures" / "compare-calibration.svg").exists()
    lines = (tmp_path / "out" / "compare" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 3 * 2 * 3
    assert run(command) == 0
    assert capsys.readouterr().out == out
    assert (tmp_path / "out" / "compare" / "results.jsonl").read_text().splitlines() == lines


def test_a_folder_of_csv_files_needs_only_the_class(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    (tmp_path / "a.csv").write_text("x,y\n" + "u,p\nv,q\n" * 10)
    assert run(["naive-bayes:frequency", "--class", "y", "--folds", "2", "--jobs", "1"]) == 0
    assert "### a: error in %" in capsys.readouterr().out


def test_nothing_that_could_be_measured_is_an_error(sets, capsys):
    command = ["sklearn.cluster.KMeans(n_clusters=0)", "--data", "sets", "--sets", "easy", "--jobs", "1"]
    assert run(command) == 2
    assert "nothing could be measured; sklearn.cluster.KMeans(n_clusters=0) on easy" in capsys.readouterr().err


BAD = {
    "nothing to compare": ([], "nothing to compare"),
    "an unknown spec": (["tna"], "structure='tna' is not known; expected one of 'tan'"),
    "an unknown set": (["tan", "--sets", "eesy"], "no data set 'eesy'; the nearest are 'easy'"),
    "an unknown group": (["tan", "--group", "big"], "no group 'big'"),
    "no such folder": (["tan", "--data", "nowhere"], "no folder 'nowhere'"),
    "a page in no folder": (["tan", "--page", "no/page.md"], "its folder"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_nothing_is_written(sets, tmp_path, capsys, arguments, words):
    before = sorted(tmp_path.rglob("*"))
    assert run(["--data", "sets", "--jobs", "1", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert words in err
    assert sorted(tmp_path.rglob("*")) == before
