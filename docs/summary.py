"""Write the README's speed and accuracy, and the constants of docs/scale.md, from the pages of results: `make summary`.

Reads benchmarks/RESULTS.md and experiments/RESULTS.md and rewrites what stands between two HTML comments of a page.
Where results are not there this is said on standard error, and the part stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
README, SCALE, BENCHMARKS, EXPERIMENTS = (
    ROOT / name for name in ("README.md", "docs/scale.md", "benchmarks/RESULTS.md", "experiments/RESULTS.md")
)

# The rows of the speed table: every one with a peer whose workload and peer match one of these.
SPEED = (
    ("default", r"^default.*(geometric mean|slowest)", r"LightGBM"),
    ("trees", r"^TAN fit, ", r"Weka|pyAgrum|pgmpy"),
    ("naive_bayes", r": (fit|predict_proba)$", r"CategoricalNB"),
    ("inference", r"^P\(class", r"pyAgrum"),
    ("mdlp", r"^MDLP", r"Orange3"),
    ("conditional", r"^TAN \+ conditional fit", r"LogisticRegression"),
)


BILLION, ATTRIBUTES = 10**9, 200
MACHINES = (1, 10, 100)
ROUND_TRIP = 0.02
"""Seconds, of a gradient on a cluster."""


def main() -> None:
    parts: tuple[tuple[Path, str, Path, Callable[[str], Iterator[str]]], ...] = (
        (README, "speed", BENCHMARKS, speed),
        (README, "accuracy", EXPERIMENTS, accuracy),
        (SCALE, "a billion rows", BENCHMARKS, billion),
    )
    for target, name, page, summarise in parts:
        if page.exists():
            target.write_text(put_between(target.read_text(), name, "\n".join(summarise(page.read_text()))))
        else:
            print(f"{page.relative_to(ROOT)} is not there: the part '{name}' stays as it is.", file=sys.stderr)


def put_between(text: str, name: str, part: str) -> str:
    """`part` in place of what stands between the two comments of this name."""
    begin, end = f"<!-- summary of {name}: begin, written by `make summary` -->", f"<!-- summary of {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"the page needs one {begin!r} and one {end!r}.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{part.strip()}\n\n{end}{rest.partition(end)[2]}"


def speed(page: str) -> Iterator[str]:
    """The benchmark's own rows against other packages, those where we are not faster included."""
    yield "| workload | Tanager | other | ratio |\n| --- | ---: | ---: | ---: |"
    for name, workload, peer in SPEED:
        if name == "default" and f"\n## {name}\n" not in page:  # not measured yet
            continue
        for row in rows_of(section(page, name)):
            if len(row) >= 4 and re.search(workload, row[0]) and re.search(peer, row[2]):
                yield f"| {' | '.join(row[:4])} |"
    scaled = re.findall(r"[^.\n]*its time is scaled[^.]*\.", section(page, "inference"))
    yield "\n" + " ".join(
        [*(each.strip() for each in scaled), "Date, machine and versions are beside each section there."]
    )


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
    yield f"\nA gradient on [Dask](dask.md) has a round trip of 10 to {1_000 * ROUND_TRIP:.0f} ms, so more workers stop"
    yield "paying where their own part takes about that long: for this table near"
    yield f"{rounded(cell * cells / ROUND_TRIP)} machines."


def rounded(value: float) -> str:
    """Two digits that matter, written out."""
    return f"{float(f'{value:.2g}'):,g}"


def measured(page: str, name: str, workload: str) -> float:
    """Seconds of ours in the row of a workload."""
    (row,) = (row for row in rows_of(section(page, name)) if re.match(workload, row[0]))
    number, unit = row[1].split()
    return float(number) * {"ms": 1e-3, "s": 1.0}[unit]


def accuracy(page: str) -> Iterator[str]:
    """The mean ranks of the field by log-loss and by error, and how many of the papers' claims show."""
    ranks = titled(page, "Mean ranks")[-1]  # the field is the last study
    rows = list(rows_of(ranks))
    n_sets = re.search(r"log-loss.*?: (\d+) sets", ranks)
    yield f"| {n_sets[1] if n_sets else ''} tables, 5 folds | rank, log-loss | log-loss | rank, error | error in % |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for row in rows[1:]:
        yield f"| {' | '.join(row[:5])} |"
    yield "\nMean ranks and means; nobody was tuned beyond the defaults of their library. The paths and rules of our"
    yield "default were settled on these tables, so its figures are somewhat optimistic for new ones."
    yield from claims(page)
    yield "Everything, with date and versions: [experiments/RESULTS.md](experiments/RESULTS.md), by `make experiments`."


def claims(page: str) -> Iterator[str]:
    """How many of the claims of each kind show."""
    rows = [row for part in titled(page, "What ought to show") for row in rows_of(part) if row[0] != "claim"]
    printed, read, ours = ([row[2] for row in rows if row[1] == kind] for kind in ("as printed", "as read", "ours"))
    yield f"Claims of the papers that show here: {shown(printed)} with the protocol as printed,"
    yield f"{shown(read)} under a reading of it that was found afterwards, by trying."
    yield f"Of checks of our own on the same sets {shown(ours)} hold. The page says why others do not."


def shown(answers: list[str]) -> str:
    return f"{answers.count('yes')} of {len(answers)}"


def titled(page: str, title: str) -> list[str]:
    """What stands below each heading of this name, up to the next heading."""
    return re.findall(rf"^### {re.escape(title)}$(.*?)(?=^#|\Z)", page, re.DOTALL | re.MULTILINE)


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
