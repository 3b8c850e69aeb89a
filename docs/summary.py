"""Write the table "a billion rows" of docs/scale.md from benchmarks/RESULTS.md: part of `make summary`.

Rewrites the text between two HTML comments of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCALE, BENCHMARKS = ROOT / "docs/scale.md", ROOT / "benchmarks/RESULTS.md"

BILLION, ATTRIBUTES = 10**9, 200
MACHINES = (1, 10, 100)
ROUND_TRIP = 0.02
"""Seconds, of a gradient on a cluster."""


def main() -> None:
    SCALE.write_text(put_between(SCALE.read_text(), "a billion rows", "\n".join(billion(BENCHMARKS.read_text()))))


def put_between(text: str, name: str, part: str) -> str:
    """`part` in place of what stands between the two comments of this name."""
    begin, end = f"<!-- summary of {name}: begin, written by `make summary` -->", f"<!-- summary of {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"the page needs one {begin!r} and one {end!r}.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{part.strip()}\n\n{end}{rest.partition(end)[2]}"


def billion(page: str) -> Iterator[str]:
    """What many rows would take, by constants of the benchmarks on two cores."""
    streamed = list(rows_of(section(page, "scale_stream")))[-1]  # the most rows, of 50 attributes
    read = float(streamed[4]) / 1e6 / 50
    pair = measured(page, "counting", r"all pairs, 1,000,000 x 100, ") / (1e6 * 100**2 / 2)
    cell = measured(page, "conditional", r"value and gradient, 200,000 x 50, 2 classes") / (2e5 * 50)
    cells, pairs = BILLION * ATTRIBUTES, BILLION * ATTRIBUTES**2 / 2
    steps = (
        ("read and encode", "n m cells", f"{read * 1e9:.2g} ns a cell", read * cells),
        ("count all pairs", "n m² / 2 pairs of cells", f"{pair * 1e12:.2g} ps a pair", pair * pairs),
        ("one gradient of a tree", "n m cells", f"{cell * 1e9:.2g} ns a cell", cell * cells),
        ("`conditional`, some 10 gradients after a start from 10,000 rows", "", "", 10 * cell * cells),
    )
    yield "| step | work | constant | one machine | 10 | 100 |\n| --- | --- | ---: | ---: | ---: | ---: |"
    for step, work, constant, seconds in steps:
        yield f"| {step} | {work} | {constant} | {' | '.join(f'{rounded(seconds / n)} s' for n in MACHINES)} |"
    yield "| codes kept | n (m + 1) bytes | 1 byte a cell | 200 GB, on disk | 20 GB | 2 GB |"
    yield f"\nA gradient on [Dask](dask.md) has a round trip of 10 to {1_000 * ROUND_TRIP:.0f} ms. More workers do not"
    yield "help once the part of each worker takes about that long: for this table at about"
    yield f"{rounded(cell * cells / ROUND_TRIP)} machines."


def rounded(value: float) -> str:
    """Two digits that matter, written out."""
    return f"{float(f'{value:.2g}'):,g}"


def measured(page: str, name: str, workload: str) -> float:
    """Seconds of ours in the row of a workload."""
    (row,) = (row for row in rows_of(section(page, name)) if re.match(workload, row[0]))
    number, unit = row[1].split()
    return float(number) * {"ms": 1e-3, "s": 1.0}[unit]


def section(page: str, name: str) -> str:
    """From the heading of this name to the next of its level."""
    found = re.search(rf"^## {re.escape(name)}$(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    if not found:
        raise SystemExit(f"The page of results has no section {name!r}.")
    return found[1]


def rows_of(text: str) -> Iterator[list[str]]:
    """Cells of the Markdown tables; a bar with a letter on both sides of its blanks, as in P(a | b), is text."""
    for line in text.splitlines():
        if line.startswith("|") and not re.match(r"\|[\s:|-]+$", line):
            inner = re.sub(r"\(([^()|]*) \| ([^()|]*)\)", "(\\1 given \\2)", line)
            yield [cell.strip() for cell in inner.strip().strip("|").split("|")]


if __name__ == "__main__":
    main()
