"""The page of counts that an attack writes: docs/attack.md."""

from __future__ import annotations

import datetime
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attack.documents import FELL
from attack.faults import FAULTS
from attack.files import CORPUS

WHAT = {
    "corpus": "files and documents that once fell",
    "files": "valid files of every format, changed at random",
    "documents": "documents of models of every form, changed in one value",
    "tables": "tables of odd cells, labels and weights, with options",
    "faults": "signals, full disks, closed streams, two writers, each once",
    "signals": "SIGTERM, SIGINT, SIGHUP and SIGKILL at random moments of a fit",
}
INTRODUCTION = """# The attack

`make fuzz` tries hostile files, tables and options, `make faults` faults of the system while the command works; both
for `SECONDS` (60) from a fixed seed, and both write this page. The tests run a few hundred cases of the first and every
fault once. The laws, from `attack/` of the repository:

- A file is refused by one error of ours, or what is read of it works: rows of tables sum to one, a model predicts.
- A model whose document is changed in one value is refused; or writing it again gives that document, and it predicts
  what sums and products over the document give.
- A table is refused by one error, or its probabilities are finite, in [0, 1] and sum to one, the same for a row alone
  and among others; where learning is by counts alone, also for any order of rows and columns and for either engine.
- A file that is written is the old one or the new one as a whole, with nothing left beside it; the exit code says what
  happened, in one line at most.
"""


@dataclass
class Tally:
    """Cases of one kind: how many, how many of them were accepted, and which broke a law."""

    name: str
    n_cases: int = 0
    n_accepted: int = 0
    fell: list[str] = field(default_factory=list)


def write_page(root: Path, known: dict[str, dict[str, Any]]) -> None:
    """The last run of each kind."""
    day, python = datetime.date.today().isoformat(), platform.python_version()
    rows = [_row(name, known[name]) for name in WHAT if name in known]
    fell = [f"- {case}" for found in known.values() for case in found["fell"]]
    lines = [
        INTRODUCTION,
        f"Run on {day} with Python {python}. Accepted are files that were read and tables that were learnt from.",
        "",
        "| cases | tried | accepted | fell | seeds |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        "",
        *(["## Fell", "", *fell, ""] if fell else []),
        "## In every run",
        "",
        *(f"- a file that fell: {name}" for name in CORPUS),
        *(f"- a document that fell: {name}" for name in FELL),
        *(f"- a fault: {name}" for name in FAULTS),
        "",
    ]
    (root / "docs" / "attack.md").write_text("\n".join(lines))


def _row(name: str, found: dict[str, Any]) -> str:
    accepted = "" if name in ("faults", "signals") else f"{found['n_accepted']:,}"
    return f"| {WHAT[name]} | {found['n_cases']:,} | {accepted} | {len(found['fell'])} | {found['seed']} |"
