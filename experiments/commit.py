"""The commit that a generated page is of."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def commit() -> str:
    """`commit 0123456`, and "with changes" where files of the package differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return f"commit {git('rev-parse', '--short=7', 'HEAD')}{' with changes' if changed else ''}"
