"""Try a sample of the mutants of four folders and write docs/mutants.md: `python -m mutation.run`.

A mutant once killed is not tried again while its file is the same; those that survived are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tanager"
STATE = ROOT / "build" / "mutants"
ROOMS = ("structure", "scores", "parameters", "missing")
# Some promises of these rooms are kept by what a classifier hands to them.
TESTS = [f"tests/classifiers/test_{name}.py" for name in ("selection", "hidden")]
# Kernels run as plain Python, so that a mutated one is neither compiled nor kept on disk; as in tests/conftest.py.
os.environ.update(NUMBA_DISABLE_JIT="1", SCIPY_ARRAY_API="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import pytest  # noqa: E402

from mutation.mutants import Mutant, mutants_of  # noqa: E402
from mutation.page import Verdict, write_page  # noqa: E402
from mutation.trial import find_reach, fork, try_mutant, warm_up  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.1, help="the share of all mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="which sample of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS, help="without all, no page is written")
    options = parser.parse_args()
    files = [file for room in options.rooms for file in sorted((PACKAGE / room).rglob("*.py"))]
    possible = [mutant for file in files for mutant in mutants_of(file, PACKAGE)]
    sample = [mutant for mutant in possible if mutant.drawn(options.share, options.seed)]
    print(f"{len(sample)} of {len(possible)} mutants")
    STATE.mkdir(parents=True, exist_ok=True)
    warm_up()
    tests = find_tests(options.rooms)
    check_trials(tests, sample[0].file)
    verdicts = try_all(sample, options.jobs, tests)
    if tuple(options.rooms) == ROOMS:
        write_page(ROOT, possible, verdicts, options.share, options.seed)


@dataclass(frozen=True)
class Tests:
    """Which tests call which functions and files, the quickest first, and the seconds of each test."""

    calling: dict[str, list[str]]
    seconds: dict[str, float]

    def of(self, mutant: Mutant) -> dict[str, float]:
        """Those that call the function around it. What runs on import any test of the room may notice."""
        chosen = self.calling.get(mutant.file if mutant.on_import else f"{mutant.file} {mutant.scope}", [])
        if mutant.on_import:
            of_room = (f"tests/{mutant.file.split('/')[0]}/", *TESTS)
            chosen = [*chosen, *(test for test in self.seconds if test.startswith(of_room) and test not in chosen)]
        return {test: self.seconds[test] for test in chosen}


def find_tests(rooms: list[str]) -> Tests:
    """Run all tests of the rooms once, on the package as it is."""
    file = STATE / "reach.json"
    tests = [str(ROOT / path) for path in (*(f"tests/{room}" for room in rooms), *TESTS)]
    _, status = os.waitpid(fork(lambda: find_reach(PACKAGE, tests, file)), 0)
    if status:
        raise SystemExit("The tests must pass before a mutant is tried; run them with pytest.")
    return Tests(**json.loads(file.read_text()))


def check_trials(tests: Tests, file: str) -> None:
    """A fault that changes nothing must live; if it does not, trials fail whatever the fault."""
    nothing = Mutant(file, "module", True, "", "", 0, 0)
    _, status = os.waitpid(fork(partial(try_mutant, nothing, PACKAGE, tests.of(nothing))), 0)
    if status:
        raise SystemExit(f"The tests of {file} pass on their own, and fail in a trial without a fault.")


def try_all(sample: list[Mutant], jobs: int, tests: Tests) -> list[Verdict]:
    """A verdict on every mutant of the sample."""
    log = STATE / "killed.txt"
    killed = set(log.read_text().splitlines()) if log.exists() else set()
    verdicts = {}
    running: dict[int, Mutant] = {}

    def wait() -> None:
        pid, status = os.wait()
        mutant = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        if code > pytest.ExitCode.INTERRUPTED:
            raise SystemExit(f"pytest could not run the tests of {mutant.name}")
        verdicts[mutant] = "killed" if code else "survived"
        print(f"{verdicts[mutant]:9} {mutant.name}", flush=True)
        if code:
            with log.open("a") as lines:
                print(_key(mutant), file=lines)

    for mutant in sample:
        chosen = tests.of(mutant)
        if _key(mutant) in killed:
            verdicts[mutant] = "killed"
        elif not chosen:
            verdicts[mutant] = "not reached"
        else:
            if len(running) == jobs:
                wait()
            running[fork(partial(try_mutant, mutant, PACKAGE, chosen))] = mutant
    while running:
        wait()
    return [Verdict(mutant, verdicts[mutant]) for mutant in sample]


def _key(mutant: Mutant) -> str:
    return f"{hashlib.sha256((PACKAGE / mutant.file).read_bytes()).hexdigest()[:16]} {mutant.name}"


if __name__ == "__main__":
    main()
