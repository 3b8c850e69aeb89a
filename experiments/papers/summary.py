"""How near the papers' figures and tests come: counted from experiments/RESULTS.md into docs/papers_table.md.

python -m experiments.papers.summary
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "experiments/RESULTS.md", ROOT / "docs/papers_table.md"
LEVEL = 0.05

SOURCE = (
    "Written by `python -m experiments.papers.summary` from `experiments/RESULTS.md`, which has dates and versions."
)
BY_TRYING = (
    "Found by trying other readings of the protocol. A reading that was chosen because it shows a result is no "
    "evidence for it, so these are not counted above:"
)
AS_PRINTED = {
    "Zhou 2002, table 4-2": "Zhou 2002, table 4-2: complete data",
    "Zhou 2002, table 4-3": "Zhou 2002, table 4-3: a quarter of all cells removed at random",
    "fCLL 2011, tables 3 and 4": "fCLL 2011, tables 3 and 4: accuracy on the 25 sets",
    "aCLL 2013, table 1": "aCLL 2013, table 1: CLL of TANs on binding sites, two classes, by frequencies",
    "aCLL 2013, table 2": "aCLL 2013, table 2: CLL of TANs on binding sites, three classes, by frequencies",
}
AS_READ = {
    "aCLL 2013, table 1": "aCLL 2013, table 1: CLL of TANs on binding sites, two classes",
    "aCLL 2013, table 2": "aCLL 2013, table 2: CLL of TANs on binding sites, three classes",
}
"""Sections of the protocol that a paper prints, and of a reading of it that was found by trying."""
FIGURES = (*list(AS_PRINTED.values())[:2], "Roos et al. 2005, tables I to III")
READ_FIGURES = ("Roos et al. 2005 again, with the cuts that give its figures",)


def main() -> None:
    page = RESULTS.read_text(encoding="utf-8")
    PAGE.write_text("\n".join(write(page)) + "\n", encoding="utf-8")


def write(page: str) -> Iterator[str]:
    yield "<!-- written by experiments/papers/summary.py; do not edit -->"
    yield from ("", SOURCE)
    yield from ("", "| paper | published tests with p < .05 | same sign and p < .05 here | which are not |")
    yield "| --- | ---: | ---: | --- |"
    counted = {paper: count_tests(page, title) for paper, title in AS_PRINTED.items()}
    for paper, tests in counted.items():
        missed = [name for name, holds in tests.items() if not holds]
        yield f"| {paper} | {len(tests)} | {len(tests) - len(missed)} | {'; '.join(missed) or 'none'} |"
    every = [holds for tests in counted.values() for holds in tests.values()]
    yield f"| **all, by the protocol as printed** | **{len(every)}** | **{sum(every)}** | |"
    yield from ("", BY_TRYING, "")
    for paper, title in AS_READ.items():
        tests = count_tests(page, title)
        yield f"- {paper}: {sum(tests.values())} of {len(tests)}, with the reading in its section of the results."
    yield from ("", "| figures | measure | cells | mean absolute distance | ours less published |")
    yield "| --- | --- | ---: | ---: | ---: |"
    for title in (*FIGURES, *READ_FIGURES):
        for measure, differences in distances(page, title).items():
            size, sign = float(np.mean(np.abs(differences))), float(np.mean(differences))
            digits = 3 if "nats" in measure else 2
            yield f"| {title} | {measure} | {len(differences)} | {size:.{digits}f} | {sign:+.{digits}f} |"


def count_tests(page: str, title: str) -> dict[str, bool]:
    """By published test with p below the level, or the arrow for it: whether ours has the same sign and such a p."""
    result = {}
    for heading, _, *rows in tables(page, title):
        if not heading.startswith("Signed-rank tests"):
            continue
        for name, z, z_published, p, p_published, *_ in rows:
            if "⇐" in p_published or float(re.sub(r"[<(t) ]", "", p_published)) < LEVEL:
                # Where the paper prints no Z the first classifier is the better one.
                sign = 1.0 if z_published == "-" else np.sign(float(z_published))
                result[name] = z != "-" and float(z) * sign > 0 and float(p) < LEVEL
    return result


def distances(page: str, title: str) -> dict[str, list[float]]:
    """By measure: ours less the published figure, of every set that is the paper's own and every classifier."""
    result = {}
    for heading, _, *rows in tables(page, title):
        if heading.endswith(": ours / published"):
            result[heading.removesuffix(": ours / published")] = [
                float(ours.split("±")[0]) - float(published.split("±")[0])
                for name, *cells in rows
                if not name.startswith("**") and not name.endswith("*")
                for ours, published in (cell.split(" / ") for cell in cells)
                if "-" not in (ours, published)
            ]
    return result


def tables(page: str, title: str) -> Iterator[tuple[Any, ...]]:
    """Of each table of a section its heading, its header and its rows."""
    (section,) = (part for part in re.split(r"^## ", page, flags=re.MULTILINE) if part.split("\n", 1)[0] == title)
    for part in re.split(r"^### ", section, flags=re.MULTILINE)[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")]
        header, _, *rows = ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines)
        yield part.split("\n", 1)[0], header, *rows


if __name__ == "__main__":
    main()
