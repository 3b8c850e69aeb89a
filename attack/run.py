"""Attack from fixed seeds, and write what was tried and what failed to docs/attack.md: `python -m attack.run`."""

from __future__ import annotations

import argparse
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from attack.documents import FELL, attack_document, check_change
from attack.faults import FAULTS, signal_at_random
from attack.files import CORPUS, attack_file, check_file
from attack.page import Tally, write_page
from attack.properties import attack_property
from attack.tables import attack_table

SLOW = 60.0
"""Seconds of processor time from which a case counts as one that hangs."""
Case = tuple[str, str, Callable[[], object]]
"""The sort of the case, its name, and what tries it: the answer is true if the case was accepted."""


def cases_that_failed(folder: Path) -> Iterator[Case]:
    """Files and documents that ever failed, and every fault of the system once."""
    for name, (file, content) in CORPUS.items():
        yield "corpus", name, partial(check_file, file, content, folder)
    for name, (model, place, value) in FELL.items():
        yield "corpus", name, partial(check_change, model, place, value)
    for number, (name, fault) in enumerate(FAULTS.items()):
        yield "faults", name, partial(fault, _new(folder / f"fault{number}"))


def random_cases(seed: int, folder: Path, tallies: dict[str, Tally]) -> Iterator[Case]:
    """Without an end: twenty files for two documents, two tables and two properties, now and then a signal.

    Of tables, the sort of which fewer were accepted comes next: refused ones do not count.
    """
    rng = np.random.default_rng(seed)
    for number in count():
        yield "files", f"seed {seed}, case {number}", partial(attack_file, number, seed, folder)
        if number % 10 == 0:
            each = number // 10
            name = f"seed {seed}, case {each}"
            yield "documents", name, partial(attack_document, each, seed)
            counted = tallies["counted"].n_accepted < tallies["learnt"].n_accepted
            yield "counted" if counted else "learnt", name, partial(attack_table, each, seed, counted)
            yield "properties", name, partial(attack_property, each, seed)
        if number % 400 == 399:
            yield "signals", f"seed {seed}, case {number}", partial(signal_at_random, _new(folder / f"{number}"), rng)


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def attack(cases: Iterator[Case], tallies: dict[str, Tally], seconds: float = np.inf, most: int | None = None) -> None:
    """Try cases until the time is up or so many were tried. No case may warn of a number, or take too long."""
    begin = time.monotonic()
    for number, (sort, name, case) in enumerate(cases):
        if time.monotonic() - begin > seconds or number == most:
            break
        tally, started = tallies[sort], time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                tally.add(case())
        except Exception:
            tally.failed.append(f"{name}: {traceback.format_exc().splitlines()[-1][:200]}")
            print(sort, name, traceback.format_exc(), flush=True)
        if time.process_time() - started > SLOW:
            tally.failed.append(f"{name}: more than {SLOW:g} s")
        tally.n_cases += 1


def attack_from(seed: int | None, seconds: float) -> dict[str, Tally]:
    """The random cases of a seed; without one, the cases that are tried once."""
    tallies = Tally.of_all_sorts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        attack(cases_that_failed(folder) if seed is None else random_cases(seed, folder, tallies), tallies, seconds)
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="when to stop, for each seed")
    parser.add_argument("--seed", type=int, nargs="+", default=[1, 2, 3], help="which random cases, a process each")
    options = parser.parse_args()
    seeds, seconds = [None, *options.seed], [np.inf, *[options.seconds] * len(options.seed)]
    with ProcessPoolExecutor(len(seeds), mp_context=get_context("spawn")) as pool:
        found = pool.map(attack_from, seeds, seconds)
        tallies = reduce(lambda total, more: {name: total[name] + more[name] for name in total}, found)
    write_page(tallies, options.seed, options.seconds)
    for tally in tallies.values():
        print(f"{tally.name}: {tally.n_cases:,} cases, {tally.n_accepted:,} accepted, {len(tally.failed)} failed")
    raise SystemExit(any(tally.failed for tally in tallies.values()))


if __name__ == "__main__":
    main()
