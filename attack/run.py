"""Attack for some minutes from a fixed seed and write docs/attack.md: `python -m attack.run fuzz` or `faults`."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np

from attack.documents import FELL, attack_document, check_change
from attack.faults import FAULTS, signal_at_random
from attack.files import CORPUS, attack_file, check_file
from attack.page import Tally, write_page
from attack.tables import attack_table

ROOT = Path(__file__).parent.parent
STATE = ROOT / "attack" / "last_run.json"
"""What the last run of each kind found: a run renews the rows of its own kind on the page."""
SLOW = 10.0
"""Seconds of processor time from which a case counts as one that hangs."""
Case = tuple[str, Callable[[], bool | None]]


def fuzz_cases(seed: int, folder: Path) -> Iterator[Case]:
    """The corpus, then files, documents and tables without an end, twenty files for one document and one table."""
    for name, (file, content) in CORPUS.items():
        yield f"corpus: {name}", partial(check_file, file, content, folder)
    for name, (model, place, value) in FELL.items():
        yield f"corpus: {name}", partial(check_change, model, place, value)
    for number in count():
        yield f"files: case {number}", partial(attack_file, number, seed, folder)
        if number % 20 == 0:
            yield f"documents: case {number}", partial(attack_document, number // 20, seed)
            yield f"tables: case {number}", partial(attack_table, number, seed)


def fault_cases(seed: int, folder: Path) -> Iterator[Case]:
    """Every fault once, each in a folder of its own, then signals at random moments."""
    rng = np.random.default_rng(seed)
    for number, (name, fault) in enumerate(FAULTS.items()):
        yield f"faults: {name}", partial(fault, _new(folder / f"fault{number}"))
    for number in count():
        yield f"signals: case {number}", partial(signal_at_random, _new(folder / f"signal{number}"), rng)


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


KINDS = {"fuzz": fuzz_cases, "faults": fault_cases}


def attack(kind: str, seed: int, seconds: float = np.inf, n_cases: int | None = None) -> list[Tally]:
    """Cases until the time is up or so many are tried, and what fell among them. No case may warn of a number."""
    tallies: dict[str, Tally] = {}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, case) in enumerate(KINDS[kind](seed, Path(folder))):
            if time.monotonic() - begin > seconds or number == n_cases:
                break
            tally = tallies.setdefault(name.split(":")[0], Tally(name.split(":")[0]))
            started = time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    tally.n_accepted += bool(case())
            except Exception:
                tally.fell.append(f"{name}: {traceback.format_exc().splitlines()[-1][:200]}")
                print(name, traceback.format_exc(), flush=True)
            if time.process_time() - started > SLOW:
                tally.fell.append(f"{name}: more than {SLOW:g} s")
            tally.n_cases += 1
    return list(tallies.values())


def joined(runs: list[list[Tally]]) -> list[Tally]:
    """The counts of several seeds together."""
    tallies: dict[str, Tally] = {}
    for tally in (tally for run in runs for tally in run):
        total = tallies.setdefault(tally.name, Tally(tally.name))
        total.n_cases += tally.n_cases
        total.n_accepted += tally.n_accepted
        total.fell += tally.fell
    return list(tallies.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=60.0, help="when to stop, for each seed")
    parser.add_argument("--cases", type=int, help="when to stop, if earlier, for each seed")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="which cases")
    options = parser.parse_args()
    tallies = joined([attack(options.kind, seed, options.seconds, options.cases) for seed in options.seed])
    known = json.loads(STATE.read_text()) if STATE.exists() else {}
    known |= {tally.name: {**vars(tally), "seed": ", ".join(map(str, options.seed))} for tally in tallies}
    STATE.write_text(json.dumps(known, indent=1) + "\n")
    write_page(ROOT, known)
    for tally in tallies:
        print(f"{tally.name}: {tally.n_cases:,} cases, {tally.n_accepted:,} accepted, {len(tally.fell)} fell")
    raise SystemExit(any(tally.fell for tally in tallies))


if __name__ == "__main__":
    main()
