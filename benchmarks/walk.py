"""The walk of a default fit through the house: files it passes, hops between them, and copies of the codes it holds.

A hop is a call from a file of `src/tanager` to another one; pairs are the distinct (caller file, callee file). Copies
are the arrays of whole columns of codes alive at once, as multiples of the table's cells at one byte each. Fits are on
one thread, so that every call is seen; the threads of version 0.1 may have hidden a pair or two of its 152. Version 0.1
had no trees, so a fit without trees is counted too. `--pairs` lists every pair.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import tanager
from tanager import AdditiveClassifier

ROOM = str(Path(tanager.__file__).parent)
N_ROWS, N_NUMERIC, N_TEXT = 200_000, 5, 5
LONGEST = ("minimize", "grow")
"""The functions at whose beginning memory is looked at."""
# Of version 0.1, by this script; a third fewer pairs were asked for.
FILES_BEFORE, PAIRS_BEFORE, COPIES_BEFORE = 63, 152, 4.5
PAIRS_ASKED, COPIES_ASKED = 101, 2.5

Pairs = Counter[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", action="store_true", help="list the pairs of the default fit, and their hops")
    listed = parser.parse_args().pairs
    X, y = mixed_table()
    pairs = walk(AdditiveClassifier(n_jobs=1), X, y)
    if listed:
        print("\n".join(f"{caller} -> {callee} {hops}" for (caller, callee), hops in sorted(pairs.items())))
        return
    without_trees = walk(AdditiveClassifier(trees=False, n_jobs=1), X, y)
    print("| default fit | now | version 0.1 | asked |\n| --- | ---: | ---: | ---: |")
    print(f"| files passed | {len({file for pair in pairs for file in pair})} | {FILES_BEFORE} | |")
    print(f"| hops from file to file, thousands | {pairs.total() / 1e3:.1f} | | |")
    print(f"| distinct pairs of files | {len(pairs)} | {PAIRS_BEFORE} | {PAIRS_ASKED} |")
    print(f"| distinct pairs with trees=False | {len(without_trees)} | {PAIRS_BEFORE} | {PAIRS_ASKED} |")
    print(f"| copies of the codes alive at once | {copies(X, y):.2f} | {COPIES_BEFORE} | at most {COPIES_ASKED} |")


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


def walk(clf: AdditiveClassifier, X: pd.DataFrame, y: pd.Series) -> Pairs:
    """How often one file calls another in a fit, by their paths below the package."""
    pairs: Pairs = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or frame.f_back is None:
            return
        caller, callee = frame.f_back.f_code.co_filename, frame.f_code.co_filename
        if caller != callee and caller.startswith(ROOM) and callee.startswith(ROOM):
            pairs[str(Path(caller).relative_to(ROOM)), str(Path(callee).relative_to(ROOM))] += 1

    clf.fit(X, y)  # imports and compiles
    sys.setprofile(note)
    try:
        clf.fit(X, y)
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
            sizes = [trace.size for trace in snapshot.traces if is_codes(trace.size)]
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


def is_codes(size: int) -> bool:
    """Whole columns of bytes, several of them; one column may be the classes."""
    return size % N_ROWS == 0 and size >= 2 * N_ROWS


if __name__ == "__main__":
    main()
