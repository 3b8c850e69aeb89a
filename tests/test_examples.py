"""The documentation tells the truth: its code runs, its output is what is printed, and nothing public is left out."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

import tanager
import tanager.parameters
import tanager.plots
import tanager.scores
import tanager.structure
from tanager.cli.main import run
from tanager.cli.options import registered_names
from tanager.counts.engine import ENGINES, choose_engine
from tanager.parameters import PARAMETERS
from tanager.scores import SCORES
from tanager.structure import STRUCTURES

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_every_example_runs_and_prints(script: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_examples_are_numbered_and_shown_in_the_documentation():
    shown = re.findall(r"examples/(\w+\.py)", (ROOT / "docs" / "examples.md").read_text())
    assert shown == [script.name for script in EXAMPLES]
    assert [int(name[:2]) for name in shown] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.stem
)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for printed, shown in run_page(page, {}):
        # A text block below code that prints nothing is no output: a formula, a line of a registry.
        assert not printed or printed.split() == shown.split()


def test_the_commands_of_the_command_line_page_run(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = BLOCK.findall((ROOT / "docs" / "command_line.md").read_text())
    lines = [line for language, block in found if language == "sh" for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("tanager ")]
    assert {command.split()[1] for command in commands} == {"fit", "predict", "evaluate", "demo"}
    for command in commands:
        assert run(shlex.split(command)[1:]) == 0, command
    assert {"nb.json", "classes.csv", "probabilities.parquet"} <= {path.name for path in tmp_path.iterdir()}


def test_one_line_in_a_registry_gives_a_part_its_name(monkeypatch):
    page: dict[str, object] = {}
    list(run_page(ROOT / "docs" / "adding_parts.md", page))
    X, y = page["X"], page["y"]
    monkeypatch.setitem(SCORES, "hannan-quinn", page["HannanQuinn"])
    monkeypatch.setitem(STRUCTURES, "chain", page["Chain"])
    monkeypatch.setitem(PARAMETERS, "softened", page["Softened"])
    monkeypatch.setitem(ENGINES, "add-at", page["AddAtEngine"])
    named = tanager.BayesianNetworkClassifier("chain", "hannan-quinn", "softened", engine="add-at").fit(X, y)
    given = tanager.BayesianNetworkClassifier(page["Chain"](), page["HannanQuinn"](), page["Softened"]()).fit(X, y)
    assert named.structure_score_ == given.structure_score_
    assert (named.predict_proba(X) == given.predict_proba(X)).all()
    assert isinstance(choose_engine("add-at"), page["AddAtEngine"])
    names = registered_names()
    assert {"chain", "hannan-quinn", "softened", "add-at"} <= {name for kind in names.values() for name in kind}


@pytest.mark.parametrize(
    ("page", "names"),
    [("structures.md", STRUCTURES), ("scores.md", SCORES), ("parameters.md", PARAMETERS)],
    ids=["structures", "scores", "parameters"],
)
def test_every_registered_name_has_a_section_and_no_section_promises_another(page: str, names: Iterable[str]):
    headings = re.findall(r"^## `(.+)`$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    assert headings == list(names)


@pytest.mark.parametrize(
    "module",
    [tanager, tanager.structure, tanager.scores, tanager.parameters, tanager.plots],
    ids=lambda module: module.__name__,
)
def test_every_public_name_is_in_the_reference(module):
    assert set(module.__all__) <= set(names_in_reference()[module.__name__])


def names_in_reference() -> dict[str, list[str]]:
    """Module -> names listed below its `currentmodule`."""
    found: dict[str, list[str]] = {}
    module = ""
    for line in (ROOT / "docs" / "api.md").read_text().splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.match(r"(?:   |\.\. py:data:: )(\w+)$", line):
            found.setdefault(module, []).append(match[1])
    return found


def run_page(page: Path, namespace: dict[str, object]) -> Iterable[tuple[str, str]]:
    """Run the Python blocks of a page one after the other: what each prints, and what the page shows right below it."""
    text = page.read_text()
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block[2], page.name, "exec", dont_inherit=True), namespace)
            shown = OUTPUT.match(text, block.end())
            yield stream.getvalue(), shown[1] if shown else ""
