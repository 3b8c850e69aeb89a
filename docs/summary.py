"""Write the README's speed and accuracy summary from the generated pages of results: `make summary`.

Reads benchmarks/RESULTS.md and experiments/RESULTS.md and rewrites what stands between two HTML comments of README.md.
A page that is not there is said so on standard error, and its part of the README stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
README, BENCHMARKS, EXPERIMENTS = (
    ROOT / name for name in ("README.md", "benchmarks/RESULTS.md", "experiments/RESULTS.md")
)

# The rows of the speed table: every one with a peer whose workload and peer match one of these.
SPEED = (
    ("trees", r"^TAN fit, ", r"Weka|pyAgrum|pgmpy"),
    ("naive_bayes", r": (fit|predict_proba)$", r"CategoricalNB"),
    ("inference", r"^P\(class", r"pyAgrum"),
    ("mdlp", r"^MDLP", r"Orange3"),
    ("conditional", r"^TAN \+ conditional fit", r"LogisticRegression"),
)
OURS = "TAN + conditional"
SAME_ROWS = ("diabetes", "pima")


def main() -> None:
    text = README.read_text()
    parts: tuple[tuple[str, Path, Callable[[str], Iterator[str]]], ...] = (
        ("speed", BENCHMARKS, speed),
        ("accuracy", BENCHMARKS, accuracy),
        ("experiments", EXPERIMENTS, experiments),
    )
    for name, page, summarise in parts:
        if page.exists():
            text = put_between(text, name, "\n".join(summarise(page.read_text())))
        else:
            print(f"{page.relative_to(ROOT)} is not there: the part '{name}' stays as it is.", file=sys.stderr)
    README.write_text(text)


def put_between(text: str, name: str, part: str) -> str:
    """`part` in place of what stands between the two comments of this name."""
    begin, end = f"<!-- summary of {name}: begin, written by `make summary` -->", f"<!-- summary of {name}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"README.md needs one {begin!r} and one {end!r}.")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{part.strip()}\n\n{end}{rest.partition(end)[2]}"


def speed(page: str) -> Iterator[str]:
    """The benchmark's own rows against other packages, those where we are not faster included."""
    yield "| workload | Tanager | other | ratio |\n| --- | ---: | ---: | ---: |"
    for name, workload, peer in SPEED:
        for row in rows_of(section(page, name)):
            if len(row) >= 4 and re.search(workload, row[0]) and re.search(peer, row[2]):
                yield f"| {' | '.join(row[:4])} |"
    scaled = re.findall(r"[^.\n]*its time is scaled[^.]*\.", section(page, "inference"))
    yield "\n" + " ".join([*(each.strip() for each in scaled), versions(page)])


def accuracy(page: str) -> Iterator[str]:
    """Means over the tables, and on how many of them ours is better and worse than each of the others."""
    part = section(page, "conditional")
    means = [row for row in rows_of(part) if len(row) == 4 and row[2].endswith("%")]
    (tables,) = re.findall(r"held-out, mean of (\d+) tables", part)
    header = next(row for row in rows_of(part) if row[0].startswith("log-loss / error"))
    by_table = {row[0]: [tuple(map(float, cell.split("/"))) for cell in row[1:]] for row in rows_of(part) if pairs(row)}
    place = header.index(OURS) - 1
    yield f"| {tables} tables, 5 folds | log-loss | error | {OURS}: lower log-loss, lower error |"
    yield "| --- | ---: | ---: | ---: |"
    for name, loss, error, _ in means:
        column = header.index(name) - 1
        won = [
            f"{sum(cells[place][k] < cells[column][k] for cells in by_table.values())} of {len(by_table)}"
            for k in range(2)
        ]
        yield f"| {name} | {loss} | {error} | {'' if column == place else ', '.join(won)} |"
    yield "\nThe grid of strengths of `conditional` was settled while looking at these tables, so its figures are"
    yield "somewhat optimistic for new ones; the other classifiers were not tuned. Counts are from rounded figures,"
    yield "and a tie counts for neither."
    if all(name in by_table for name in SAME_ROWS):
        yield f"{' and '.join(f'`{name}`' for name in SAME_ROWS)} hold the same rows."


def experiments(page: str) -> Iterator[str]:
    """How many of the papers' claims show, and the mean ranks of the field."""
    claims = [row[1] for part in titled(page, "What ought to show") for row in rows_of(part) if row[0] != "claim"]
    if claims:
        yield f"Of {len(claims)} claims of the papers, {claims.count('yes')} show here.\n"
    for ranks in titled(page, "Mean ranks")[-1:]:  # the field is the last study
        yield ranks.strip()
    yield "\nEverything, with date and versions: [experiments/RESULTS.md](experiments/RESULTS.md)."


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


def pairs(row: list[str]) -> bool:
    return len(row) > 1 and all(re.fullmatch(r"[\d.]+ / [\d.]+", cell) for cell in row[1:])


def versions(page: str) -> str:
    """The line that names machine and versions."""
    return next(line for line in page.splitlines() if line.startswith("Python "))


if __name__ == "__main__":
    main()
