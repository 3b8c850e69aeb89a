"""docs/mutants.md: how many mutants of each folder the tests kill, and which they let live."""

from __future__ import annotations

import datetime
import platform
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from experiments.commit import commit
from mutation.mutants import Mutant


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed, survived or not reached."""

    mutant: Mutant
    outcome: str

    @property
    def lives(self) -> bool:
        return self.outcome != "killed"


HEAD = """\
# Mutants

`make mutants` puts small faults into `structure/`, `scores/`, `parameters/` and `missing/`, one at a time, and runs the
tests of these folders that call the function around it: a comparison or an operator turned, a constant one higher,
a `not` gone, arguments swapped, a keyword or a statement left out. A mutant is killed when a test fails or takes far
longer than it should; one that no test notices is a promise without a test, unless it changes nothing. The
command writes this page; the reasons are from `mutation/reasons.toml`.

Run on {date} at {commit}, Python {python}, pytest {pytest} and hypothesis {hypothesis}: a share
of {share:g} of all mutants, seed {seed}. Kernels run as plain Python.

| folder | possible | made | killed | survived |
| --- | ---: | ---: | ---: | ---: |
"""


def write_page(root: Path, possible: Sequence[Mutant], verdicts: Sequence[Verdict], share: float, seed: int) -> None:
    """The table by folder, and every survivor with its reason; one without a reason is open."""
    reasons = tomllib.loads((root / "mutation" / "reasons.toml").read_text())
    head = HEAD.format(
        date=datetime.date.today(),
        commit=commit(),
        python=platform.python_version(),
        pytest=version("pytest"),
        hypothesis=version("hypothesis"),
        share=share,
        seed=seed,
    )
    rooms = dict.fromkeys(mutant.file.split("/")[0] for mutant in possible)
    rows = [_row(f"{room}/", possible, verdicts) for room in rooms] + [_row("", possible, verdicts)]
    survivors = [_line(verdict, reasons) for verdict in verdicts if verdict.lives]
    (root / "docs" / "mutants.md").write_text(head + "\n".join([*rows, "", "## Survivors", "", *survivors]) + "\n")


def _row(room: str, possible: Sequence[Mutant], verdicts: Sequence[Verdict]) -> str:
    """The numbers of a folder; of all if it has no name."""
    among = sum(mutant.file.startswith(room) for mutant in possible)
    outcomes = [verdict for verdict in verdicts if verdict.mutant.file.startswith(room)]
    lives = sum(verdict.lives for verdict in outcomes)
    name = f"`{room}`" if room else "all"
    return f"| {name} | {among} | {len(outcomes)} | {len(outcomes) - lives} | {lives} |"


def _line(verdict: Verdict, reasons: Mapping[str, str]) -> str:
    mutant = verdict.mutant
    unknown = "**open**" if verdict.outcome == "survived" else "**open: no test reaches it**"
    before = " ".join(mutant.before.split())
    why = reasons.get(mutant.name, unknown)
    return f"- `{mutant.file}`, `{mutant.scope}`: ``{before}`` → ``{mutant.after}``. {why}"
