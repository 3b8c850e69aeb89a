"""Files that a call passes through, changes of file, and copies of the codes that a fit holds.

A change of file is a call from a file of `src/tanager` to another one. Copies are arrays of whole columns of codes that
are in memory at once, as multiples of the table's cells at one byte each. They are found by their size: the number of
rows is prime. Everything runs on one thread, so that every call is seen. `--pairs` lists the changes of file of a
default fit by caller and callee.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import tanager
from tanager import AdditiveClassifier, BayesianNetworkClassifier

ROOM = str(Path(tanager.__file__).parent)
N_ROWS, N_NUMERIC, N_TEXT = 200_003, 5, 5
LONGEST = ("fit_additive", "minimize", "choose_trees", "grow")
"""The functions at whose beginning memory is looked at."""
COPIES_ASKED = 2.5
SAMPLED = 1e-4
"""A sample of 200,000 rows is an array of nearly all rows."""

Pairs = Counter[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="list the changes of file of the default fit")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    arguments = parser.parse_args()
    X, y = mixed_table(arguments.rows)
    clf = AdditiveClassifier(n_jobs=1)
    fit = walk(lambda: clf.fit(X, y))
    if arguments.pairs:
        print("\n".join(f"{caller} -> {callee} {hops}" for (caller, callee), hops in fit.most_common()))
        return
    tan = BayesianNetworkClassifier("tan", parameters="frequency", n_jobs=1)
    print("| walk | files | asked | changes of file | asked |\n| --- | ---: | ---: | ---: | ---: |")
    print_walk("default fit", fit, "at most 35", "at most 600")
    print_walk("prediction", walk(lambda: clf.predict_proba(X)), "at most 12", "")
    print_walk("TAN by frequencies, fit", walk(lambda: tan.fit(X, y)), "at most 30", "")
    print(f"\nCopies of the codes alive at once: {copies(X, y):.2f}, asked at most {COPIES_ASKED}.")


def print_walk(name: str, pairs: Pairs, files_asked: str, changes_asked: str) -> None:
    n_files = len({file for pair in pairs for file in pair})
    print(f"| {name} | {n_files} | {files_asked} | {pairs.total():,} | {changes_asked} |")


def mixed_table(n_rows: int) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers and text, the class depending on a few of both."""
    generator = np.random.default_rng(0)
    numbers = {f"n{k}": generator.normal(size=n_rows) for k in range(N_NUMERIC)}
    letters = {f"t{k}": generator.integers(0, 4 + k, n_rows) for k in range(N_TEXT)}
    odds = numbers["n0"] + numbers["n1"] * numbers["n2"] + (letters["t0"] == 1) - (letters["t1"] == letters["t2"])
    y = pd.Series(generator.random(n_rows) < 1 / (1 + np.exp(-odds)), name="outcome").astype(int)
    text = {
        name: pd.Categorical.from_codes(codes, list("abcdefgh")[: codes.max() + 1]) for name, codes in letters.items()
    }
    return pd.DataFrame({**numbers, **text}), y


def walk(work: Callable[[], object]) -> Pairs:
    """How often one file calls another, by their paths below the package."""
    pairs: Pairs = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or frame.f_back is None:
            return
        caller, callee = frame.f_back.f_code.co_filename, frame.f_code.co_filename
        if caller != callee and caller.startswith(ROOM) and callee.startswith(ROOM):
            pairs[str(Path(caller).relative_to(ROOM)), str(Path(callee).relative_to(ROOM))] += 1

    work()  # imports and compiles
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return pairs


def copies(X: pd.DataFrame, y: pd.Series) -> float:
    """The most bytes of codes that are alive at one call of a fit, over the cells of the table."""
    most, looked = 0, False

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal most, looked
        if event == "call" and frame.f_code.co_filename.startswith(ROOM) and frame.f_code.co_name in LONGEST:
            looked = True
            snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, 389047)])
            sizes = [trace.size for trace in snapshot.traces if is_codes(trace.size, len(X))]
            most = max(most, sum(sizes))

    tracemalloc.start()
    sys.setprofile(note)
    try:
        AdditiveClassifier().fit(X, y)
    finally:
        sys.setprofile(None)
        tracemalloc.stop()
    if not looked:
        raise RuntimeError(f"no function of {LONGEST} was called: name those that take longest now.")
    return most / X.size


def is_codes(size: int, n_rows: int) -> bool:
    """Whole columns of bytes: a multiple of the numeric columns, of all rows or of all but a few."""
    columns = size / n_rows
    return columns > 1 and abs(columns / N_NUMERIC - round(columns / N_NUMERIC)) < SAMPLED


if __name__ == "__main__":
    main()
