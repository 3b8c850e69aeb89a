"""`python -m experiments.compare` on folders of tables: what it prints, keeps, resumes and refuses."""

from __future__ import annotations

from experiments.compare import main as run


def test_tables_are_printed_and_pictures_drawn(sets, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
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
