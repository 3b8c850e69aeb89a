"""Pages, docstrings and messages use the field's words: a few private ones of earlier versions are refused."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PRIVATE = re.compile(
    r"\b(fillers?|gappy|gap\s+rule|how\s+sure|sceptics?|doctors?|dealt|kept\s+and\s+rest)\b", re.IGNORECASE
)
GENERATED = {"_build", "generated"}
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not GENERATED.intersection(page.parts)),
    *sorted((ROOT / "examples").glob("*.py")),
]
SOURCES = sorted(path for path in (ROOT / "src").rglob("*.*") if path.suffix in (".py", ".js", ".html", ".css"))


def texts_of(file: Path) -> list[str]:
    """Docstrings and messages of a Python file, every line of another."""
    if file.suffix != ".py" or file in PAGES:
        return [file.read_text(encoding="utf-8")]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize("files", [PAGES, SOURCES], ids=["pages", "source"])
def test_no_page_docstring_or_message_has_a_private_word(files):
    found = {
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in files
        for t in texts_of(file)
        for match in PRIVATE.finditer(t)
    }
    assert len(files) > 50
    assert found == set()


def test_a_private_word_in_a_docstring_or_a_message_is_found(tmp_path):
    file = tmp_path / "part.py"
    file.write_text(
        'def f():\n    """How\n    sure a row is."""\n    raise ValueError(f"rows are dealt to {3} folds")  # gappy\n'
    )
    matches = [match[0] for text in texts_of(file) for match in PRIVATE.finditer(text)]
    assert [" ".join(match.lower().split()) for match in matches] == ["how sure", "dealt"]
