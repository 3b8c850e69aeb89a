"""The room of the additive model: how many numbers were chosen in it, how long it is, and what a cold start needs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "src" / "tanager" / "additive"
FILES = sorted(FOLDER.glob("*.py"))
NOT_CHOSEN = (-1, 0, 1, 2)
MAX_CHOSEN = 40
MAX_LINES = 3_500


def chosen_numbers(source: str) -> list[tuple[int, float]]:
    """(line, number) of all numeric literals but -1, 0, 1 and 2, wherever they stand."""
    found = []
    tree = ast.parse(source)
    negated = {id(node.operand): node for node in ast.walk(tree) if isinstance(node, ast.UnaryOp)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, complex):
            above = negated.get(id(node))
            value = -node.value if above is not None and isinstance(above.op, ast.USub) else node.value
            if value not in NOT_CHOSEN:
                found.append((node.lineno, value))
    return sorted(found)


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("A, B = 1 << 19, (0.5, [4, -7])", [19, 0.5, 4, -7]),
        ("def f(x, most=12, *, rate=.1):\\n    return x[:, 3] ** -2 + 2.0 * rate", [12, 0.1, 3, -2]),
        ("A = -1 + 0 + 1.0 + 2 + -1.0", []),
        ('"""A docstring of 12 words."""\\nA = True, "3", None', []),
    ],
)
def test_a_number_that_is_chosen_is_seen(source, numbers):
    source = source.replace("\\n", "\n")
    assert sorted(value for _, value in chosen_numbers(source)) == sorted(numbers)


def test_at_most_forty_numbers_are_chosen():
    chosen = {file.name: chosen_numbers(file.read_text()) for file in FILES}
    for name, numbers in chosen.items():
        if numbers:
            print(f"{name}: {', '.join(f'{value} (line {line})' for line, value in numbers)}")
    total = sum(map(len, chosen.values()))
    print(f"{total} in all")
    assert total <= MAX_CHOSEN


def test_the_room_has_at_most_3500_lines():
    assert sum(file.read_text().count("\n") for file in FILES) <= MAX_LINES


COLD = """
import sys
from sklearn.datasets import load_iris
from tanager import AdditiveClassifier
X, y = load_iris(return_X_y=True, as_frame=True)
clf = AdditiveClassifier().fit(X, y)
clf.predict_proba(X)
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("numba", "llvmlite")))
"""


def test_the_first_fit_of_a_small_table_compiles_nothing(tmp_path):
    """With trees tried, and an empty kernel cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(FOLDER.parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", COLD], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
    assert not list(tmp_path.iterdir())
