"""A bar is shown on a terminal, after a while, on stderr alone; elsewhere nothing is."""

from __future__ import annotations

import time

from tanager.cli.main import run
from tanager.runtime import progress
from terminal import on_a_terminal

WORK = """
import time
from tanager.runtime import progress
progress.LONG = {long}
with progress.working("Reading [b]a.csv[/b]") as update:
    for fold in range(4):
        time.sleep(0.15)
        update("Fold {{}} of 4".format(fold + 1), fold, 4)
print("done")
progress.say("said")
"""


def test_long_work_shows_a_bar_that_says_how_far_it_is():
    out, shown = on_a_terminal(WORK.format(long=0.0))
    assert out == "done\n"
    assert "Fold 4 of 4" in shown
    assert "━" in shown
    assert " s left" in shown
    assert "Reading [b]a.csv[/b]" in shown
    assert shown.rstrip().endswith("said")


def test_short_work_shows_nothing():
    out, shown = on_a_terminal(WORK.format(long=60.0))
    assert out == "done\n"
    assert "Fold" not in shown


def test_without_a_terminal_nothing_is_shown(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.0)
    with progress.working("Reading") as update:
        time.sleep(0.05)
        update("Fold 1", 0, 2)
    progress.say("said")
    assert capsys.readouterr() == ("", "")


def test_evaluate_says_every_fold(tmp_path, monkeypatch):
    said: list[tuple[str, int, int | None]] = []

    class Spy:
        def __init__(self, message: str) -> None:
            pass

        def __enter__(self):
            return lambda message, done=0, total=None: said.append((message, done, total))

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n" + "u,a\nv,b\n" * 10)
    monkeypatch.setattr("tanager.cli.evaluate.working", Spy)
    assert run(["evaluate", "a.csv", "--class", "y", "--folds", "3", "--json"]) == 0
    assert said == [(f"Fold {k + 1} of 3", k, 3) for k in range(3)]


def test_the_time_left_is_that_of_the_steps_left_at_the_pace_of_those_done():
    assert progress.time_left(10.0, 0, 4) == ""
    assert progress.time_left(10.0, 1, 4) == "about 30 s left"
    assert progress.time_left(90.0, 3, 4) == "about 30 s left"
    assert progress.time_left(300.0, 1, 3) == "about 10 min left"
    assert progress.time_left(10.0, 4, 4) == ""


FIT = """
import numpy as np
from tanager import TANClassifier
from tanager.runtime import progress
progress.LONG = 0.0
rng = np.random.default_rng(0)
X = rng.integers(0, 3, (300, 4))
y = (X[:, 0] > 0) ^ (rng.random(300) < 0.1)
TANClassifier(categorical_features="all", verbose=1).fit(X, y)
"""


def test_a_verbose_fit_shows_a_bar_and_a_few_lines_without_internals():
    _, shown = on_a_terminal(FIT)
    assert "Learning" in shown
    assert "━" in shown
    assert "Trying" not in shown
