"""Laws of the faults that `make mutants` puts into the package."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from mutation.mutants import mutants_of

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "tanager"
FILES = [PACKAGE / "structure" / "hill_climb.py", PACKAGE / "missing" / "average.py"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_mutant_is_another_program_and_has_a_name_of_its_own(file: Path):
    source = file.read_bytes()
    mutants = mutants_of(file, PACKAGE)
    programs = {ast.dump(ast.parse(mutant.text(source))) for mutant in mutants}
    assert ast.dump(ast.parse(source)) not in programs
    assert len({mutant.name for mutant in mutants}) == len(mutants) > 50


def test_the_mutants_of_a_line_are_those_listed_by_hand(tmp_path: Path):
    file = tmp_path / "line.py"
    file.write_text("def f(a: int = 2, *, b=True):\n    return not a < b or g(a, b, c=None)\n")
    lines = {mutant.text(file.read_bytes()).decode() for mutant in mutants_of(file, tmp_path)}
    head, body = "def f(a: int = 2, *, b=True):\n    return ", "not a < b or g(a, b, c=None)\n"
    assert lines == {
        head.replace("2", "(3)") + body,
        head.replace("True", "(False)") + body,
        head + "(not a < b and g(a, b, c=None))\n",
        head + body.replace("not a < b", "(a < b)"),
        head + body.replace("a < b", "(a <= b)"),
        head + body.replace("g(a, b, c=None)", "(g(b, a, c=None))"),
        head + body.replace("g(a, b, c=None)", "(g(a, b))"),
    }


def test_a_larger_share_holds_the_sample_of_a_smaller_one_and_the_share_one_holds_all():
    mutants = mutants_of(FILES[0], PACKAGE)
    drawn = [{mutant for mutant in mutants if mutant.drawn(share, 1)} for share in (0.1, 0.3, 1.0)]
    assert set() < drawn[0] < drawn[1] < drawn[2] == set(mutants)


def test_every_reason_is_of_a_fault_in_a_function_that_exists():
    reasons = tomllib.loads((ROOT / "mutation" / "reasons.toml").read_text())
    places = {name.partition(":")[0] for name in reasons}
    files = {place.partition(" ")[0] for place in places}
    there = {f"{mutant.file} {mutant.scope}" for file in files for mutant in mutants_of(PACKAGE / file, PACKAGE)}
    assert places - there == set()
