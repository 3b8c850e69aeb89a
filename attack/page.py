"""The page of counts that an attack writes: docs/attack.md."""

from __future__ import annotations

import datetime
import platform
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from attack.documents import FELL
from attack.faults import FAULTS
from attack.files import CORPUS
from attack.properties import PROPERTIES

ROOT = Path(__file__).parent.parent
SORTS = {
    "corpus": "files and documents that once failed",
    "files": "valid files of every format, changed at random",
    "documents": "documents of models of every form, changed in one value",
    "learnt": "tables of odd cells, labels and weights: additive model, conditional tables, EM",
    "counted": "tables of odd cells, labels and weights: networks by counts",
    "properties": "properties of models of real tables",
    "faults": "signals, full disks, closed streams, two writers, each once",
    "signals": "SIGTERM, SIGINT, SIGHUP and SIGKILL at random moments of a fit",
}
INTRODUCTION = """<!-- written by attack/run.py; do not edit -->
# The attack

`make attack` tries hostile files, tables and options, properties of models of real tables, and faults of the system
while the command works. It runs `SECONDS` (60) for each of three fixed seeds and writes this page. The tests run a few
hundred of these cases, and every fault once. What must hold:

- A file is refused by one error of ours, or what is read of it works: rows of tables sum to one, a model predicts.
- A model whose document is changed in one value is refused; or writing it again gives that document, and it predicts
  what sums and products over the document give.
- A table is refused by one error, or its probabilities are finite, in [0, 1] and sum to one, the same for a row alone
  and among others; where learning is by counts alone, also for any order of rows and columns and for either engine. At
  least half of the tables that are learnt from go to models that learn by more than counts. Times of another kind, with
  a zone or without, are refused. An export of the model, to Python, SQLite, DuckDB or ONNX, also of one with the recipe
  that `check` proposes, is refused by one error, or where it gives a number it is the probability.
- A model of rows of a real table answers the same after each change below that must not matter, and by every other way.
- A file that is written is the old one or the new one as a whole, with nothing left beside it; the exit code says what
  happened, in one line at most.
"""


@dataclass
class Tally:
    """Cases of one sort: how many, which were accepted, counted by property where they have one, and which failed."""

    name: str
    n_cases: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)

    @classmethod
    def of_all_sorts(cls) -> dict[str, Tally]:
        return {name: cls(name) for name in SORTS}

    @property
    def n_accepted(self) -> int:
        return self.accepted.total()

    def __add__(self, other: Tally) -> Tally:
        n_cases, failed = self.n_cases + other.n_cases, self.failed + other.failed
        return Tally(self.name, n_cases, self.accepted + other.accepted, failed)

    def add(self, answer: object) -> None:
        if answer:
            self.accepted[answer if isinstance(answer, str) else ""] += 1


def write_page(tallies: dict[str, Tally], seeds: list[int], seconds: float) -> None:
    """What was tried, what failed, and on which commit."""
    rows = [
        f"| {what} | {tally.n_cases:,} | {'' if name in ('faults', 'signals') else f'{tally.n_accepted:,}'} "
        f"| {len(tally.failed)} |"
        for (name, what), tally in zip(SORTS.items(), tallies.values(), strict=True)
    ]
    failed = [f"- {tally.name}: {case}" for tally in tallies.values() for case in tally.failed]
    held = tallies["properties"].accepted
    lines = [
        INTRODUCTION,
        f"Run on {datetime.date.today().isoformat()} with Python {platform.python_version()}, commit {commit()} of the "
        f"package, seeds {', '.join(map(str, seeds))}, {seconds:,.0f} s each. Accepted "
        "are files that were read and tables that were learnt from.",
        "",
        "| cases | tried | accepted | failed |",
        "| --- | ---: | ---: | ---: |",
        *rows,
        "",
        "| property of a model of a real table | held |",
        "| --- | ---: |",
        *(f"| {name} | {held[name]:,} |" for name in PROPERTIES),
        "",
        *(["## Failed", "", *failed, ""] if failed else []),
        "## In every run",
        "",
        *(f"- a file that failed: {name}" for name in CORPUS),
        *(f"- a document that failed: {name}" for name in FELL),
        *(f"- a fault: {name}" for name in FAULTS),
        "",
    ]
    (ROOT / "docs" / "attack.md").write_text("\n".join(lines))


def commit() -> str:
    """The last commit that changed the package, and whether files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return f"`{git('log', '-1', '--format=%h', '--abbrev=10', '--', 'src')}`{' with changes' if changed else ''}"
