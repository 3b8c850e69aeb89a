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
    ("default", r"^default.*(geometric mean|slowest)", r"LightGBM"),
    ("trees", r"^TAN fit, ", r"Weka|pyAgrum|pgmpy"),
    ("naive_bayes", r": (fit|predict_proba)$", r"CategoricalNB"),
    ("inference", r"^P\(class", r"pyAgrum"),
    ("mdlp", r"^MDLP", r"Orange3"),
    ("conditional", r"^TAN \+ conditional fit", r"LogisticRegression"),
)


def main() -> None:
    text = README.read_text()
    parts: tuple[tuple[str, Path, Callable[[str], Iterator[str]]], ...] = (
        ("speed", BENCHMARKS, speed),
        ("accuracy", EXPERIMENTS, accuracy),
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
        if name == "default" and f"\n## {name}\n" not in page:  # not measured yet
            continue
        for row in rows_of(section(page, name)):
            if len(row) >= 4 and re.search(workload, row[0]) and re.search(peer, row[2]):
                yield f"| {' | '.join(row[:4])} |"
    scaled = re.findall(r"[^.\n]*its time is scaled[^.]*\.", section(page, "inference"))
    yield "\n" + " ".join(
        [*(each.strip() for each in scaled), "Date, machine and versions are beside each section there."]
    )


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
