"""Laws of the house, read from the source: nobody sorts parts by class, nothing public lacks an example."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tanager
from tanager.parameters import PARAMETERS
from tanager.scores import SCORES
from tanager.structure import STRUCTURES
from tanager.table.rows import LEVELS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tanager"
FILES = sorted(SOURCE.rglob("*.py"))
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "methods").glob("*.md")]
PARTS = [(name, part) for registry in (STRUCTURES, SCORES, PARAMETERS) for name, part in registry.items()]
# A file and a picture are of one kind of network; nobody else may ask for it.
MAY_ASK = {"files", "plots"}
KINDS = {part.__name__ for registry in (STRUCTURES, PARAMETERS) for part in registry.values()}
KINDS |= {"Fixed", "Network", "AdditiveModel"}
# Errors and warnings are met, not called.
CALLED = [name for name in tanager.__all__ if not name.endswith(("Error", "Warning"))]
DOCTEST = re.compile(r"^\s*(?:>>>|\.\.\.) (.*)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def questions_of_kind(source: str) -> list[str]:
    """What is asked by `isinstance`, `issubclass`, `type(...)` or `match` for a kind of part or network."""
    asked: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked.append(ast.unparse(node.args[1]))
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            asked.append(ast.unparse(node))
        elif isinstance(node, ast.MatchClass):
            asked.append(ast.unparse(node.cls))
    return [question for question in asked if KINDS & set(re.findall(r"\w+", question))]


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(learner, HillClimb)",
        "isinstance(network, (Network, tanager.additive.AdditiveModel))",
        "type(self.structure) is Tree",
        "type(part) in (Frequency, EM)",
        "match network:\n    case AdditiveModel():\n        pass",
    ],
)
def test_a_question_of_kind_is_seen(question: str):
    assert len(questions_of_kind(question)) == 1


def test_nobody_but_files_and_plots_asks_what_class_a_part_or_a_network_is():
    rooms = {file: file.relative_to(SOURCE).parts[0] for file in FILES}
    asked = {file: questions_of_kind(file.read_text()) for file in FILES if rooms[file] not in MAY_ASK}
    assert {file.name: questions for file, questions in asked.items() if questions} == {}


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_every_registered_part_declares_what_it_needs_of_the_rows(name: str, part: type):
    assert part().needs in LEVELS


def test_files_are_below_600_lines_and_functions_below_60():
    assert {file.name for file in FILES if file.read_text().count("\n") >= 600} == set()
    assert {name: length for file in FILES for name, length in body_lengths(file) if length >= 60} == {}


def body_lengths(file: Path) -> Iterator[tuple[str, int]]:
    """Lines of the body of every function, without its signature and docstring."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            begin = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
            yield f"{file.name}: {node.name}", node.end_lineno - begin


@pytest.fixture(scope="module")
def code() -> str:
    """All code that the tests of pages, example scripts and docstrings run."""
    blocks = [block for page in PAGES for block in BLOCK.findall(page.read_text())]
    scripts = [script.read_text() for script in (ROOT / "examples").glob("*.py")]
    lines = [line for file in FILES for line in DOCTEST.findall(file.read_text())]
    return "\n".join([*blocks, *scripts, *lines])


@pytest.mark.parametrize("name", CALLED)
def test_every_public_name_has_an_example(name: str, code: str):
    assert re.search(rf"\b{name}\(", code)


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_every_registered_part_has_an_example(name: str, part: type, code: str):
    assert re.search(rf"\b{part.__name__}\(|\"{name}\"", code)


# Left out: an extended summary and "see also" for everybody, and what a file of our style has no need of.
NOT_ASKED = {"ES01", "SA01", "EX01"}


@pytest.mark.parametrize("name", CALLED)
def test_the_docstring_of_a_public_name_is_what_numpydoc_asks(name: str):
    from numpydoc.validate import validate

    faults = [f"{code}: {text}" for code, text in validate(f"tanager.{name}")["errors"] if code not in NOT_ASKED]
    assert not faults
