"""The commit that a generated page or a record is of."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def commit() -> str:
    """`commit 0123456`, and "with changes" where files of the package differ from it."""
    changed = _git("status", "--porcelain", "--", "src")
    return f"commit {_git('rev-parse', '--short=7', 'HEAD')}{' with changes' if changed else ''}"


def commit_of(file: Path) -> str:
    """The commit and date at which a record was written."""
    return _git("log", "-1", "--format=commit %h of %as", "--", str(file))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
