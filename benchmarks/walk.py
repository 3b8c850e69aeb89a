"""The walk of a default fit through the house: files it passes, hops between them, and copies of the codes it holds.

A hop is a call from a file of `src/tanager` to another one; pairs are the distinct (caller file, callee file). Copies
are the arrays of whole columns of codes alive at once, as multiples of the table's cells at one byte each.
"""

from __future__ import annotations

import sys
import threading
import tracemalloc
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import tanager
from tanager import BayesianNetworkClassifier

ROOM = str(Path(tanager.__file__).parent)
N_ROWS, N_NUMERIC, N_TEXT = 200_000, 5, 5
LONGEST = ("descend", "minimize_closely")
"""The functions at whose beginning memory is looked at."""
# Of version 0.1, by this script.
FILES_BEFORE, PAIRS_BEFORE, COPIES_BEFORE = 63, 152, 4.5


def main() -> None:
    X, y = mixed_table()
    BayesianNetworkClassifier().fit(X, y)  # imports and compiles
    files, hops, pairs = walk(X, y)
    print("| default fit | now | before | asked |\n| --- | ---: | ---: | ---: |")
    print(f"| files passed | {files} | {FILES_BEFORE} | |")
    print(f"| hops from file to file, thousands | {hops / 1e3:.1f} | | |")
    print(f"| distinct pairs of files | {pairs} | {PAIRS_BEFORE} | a third fewer |")
    print(f"| copies of the codes alive at once | {copies(X, y):.2f} | {COPIES_BEFORE} | at most 2.5 |")


def mixed_table() -> tuple[pd.DataFrame, pd.Series]:
    """Numbers and text, the class depending on a few of both."""
    generator = np.random.default_rng(0)
    numbers = {f"n{k}": generator.normal(size=N_ROWS) for k in range(N_NUMERIC)}
    letters = {f"t{k}": generator.integers(0, 4 + k, N_ROWS) for k in range(N_TEXT)}
    odds = numbers["n0"] + numbers["n1"] * numbers["n2"] + (letters["t0"] == 1) - (letters["t1"] == letters["t2"])
    y = pd.Series(generator.random(N_ROWS) < 1 / (1 + np.exp(-odds)), name="outcome").astype(int)
    text = {
        name: pd.Categorical.from_codes(codes, list("abcdefgh")[: codes.max() + 1]) for name, codes in letters.items()
    }
    return pd.DataFrame({**numbers, **text}), y


def walk(X: pd.DataFrame, y: pd.Series) -> tuple[int, int, int]:
    """Files, hops and distinct pairs of files of one fit, over all threads."""
    pairs: dict[tuple[str, str], int] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or frame.f_back is None:
            return
        caller, callee = frame.f_back.f_code.co_filename, frame.f_code.co_filename
        if caller != callee and caller.startswith(ROOM) and callee.startswith(ROOM):
            pairs[caller, callee] = pairs.get((caller, callee), 0) + 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        BayesianNetworkClassifier().fit(X, y)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len({file for pair in pairs for file in pair}), sum(pairs.values()), len(pairs)


def copies(X: pd.DataFrame, y: pd.Series) -> float:
    """The most bytes of codes that are alive at one call of a fit, over the cells of the table."""
    most, looked = 0, False

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal most, looked
        if event == "call" and frame.f_code.co_filename.startswith(ROOM) and frame.f_code.co_name in LONGEST:
            looked = True
            snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, 389047)])
            sizes = [trace.size for trace in snapshot.traces if is_codes(trace.size)]
            most = max(most, sum(sizes))

    tracemalloc.start()
    sys.setprofile(note)
    try:
        BayesianNetworkClassifier().fit(X, y)
    finally:
        sys.setprofile(None)
        tracemalloc.stop()
    if not looked:
        raise RuntimeError(f"no function of {LONGEST} was called: name those that take longest now.")
    return most / X.size


def is_codes(size: int) -> bool:
    """Whole columns of bytes, several of them; one column may be the classes."""
    return size % N_ROWS == 0 and size >= 2 * N_ROWS


if __name__ == "__main__":
    main()
