"""Laws that no test has the time for, on every benchmark set and on noise of many seeds.

    .venv/bin/python -m experiments.laws [noise] [evidence] [optimum] [--minutes N]

Measures what is not yet among the records in experiments/results/laws, and writes docs/laws.md from all of them. Delete
the records of a law to measure it anew. After N minutes it begins no case more, and says how many are left: the same
command goes on with these. The section of a law without records stays as it is on the page. The benchmark sets are in
the folder TANAGER_DATA.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

import tanager
from experiments import law_evidence, law_noise, law_optimum
from tanager.errors import DataWarning

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "laws.md"
RECORDS = ROOT / "experiments" / "results" / "laws"
LAWS: dict[str, ModuleType] = {"noise": law_noise, "evidence": law_evidence, "optimum": law_optimum}
HEAD = """<!-- written by experiments/laws.py; do not edit -->

# Laws, measured

What should hold of every fit, and takes too long for a test.
"""


def main() -> None:
    warnings.simplefilter("ignore", DataWarning)  # classes with fewer rows than folds
    parser = argparse.ArgumentParser()
    parser.add_argument("laws", nargs="*", choices=[*LAWS, []])
    parser.add_argument("--minutes", type=float, default=float("inf"))
    asked = parser.parse_args()
    until = time.monotonic() + 60.0 * asked.minutes
    for name in asked.laws or LAWS:
        left = measure(name, until)
        if left:
            print(f"{name}: {left} cases are left.", flush=True)
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(write_page(old), encoding="utf-8")


def measure(name: str, until: float = float("inf")) -> int:
    """Measure the cases without a record, up to a time by the monotonic clock; how many are left."""
    law, path = LAWS[name], RECORDS / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {tuple(record[key] for key in law.KEYS) for record in read(name)}
    cases = [case for case in law.cases() if case not in known]
    for position, case in enumerate(cases):
        if time.monotonic() >= until:
            return len(cases) - position
        found = {
            **dict(zip(law.KEYS, case, strict=True)),
            **law.measure(*case),
            "version": f"{datetime.date.today()}, Tanager {tanager.__version__}, NumPy {np.__version__}",
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        print(found, flush=True)
    return 0


def read(name: str) -> list[dict[str, Any]]:
    path = RECORDS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write_page(old: str) -> str:
    """The page from all records; a section without any is that of the `old` page."""
    lines = [HEAD]
    for name, law in LAWS.items():
        if records := pd.DataFrame(read(name)).to_dict("records"):
            versions = "; ".join(sorted({record["version"] for record in records}))
            lines += law.section(pd.DataFrame(records))
            lines += [f"Written by `python -m experiments.laws {name}`; measured on {versions}.", ""]
        else:
            lines += old_section(old, name)
    return "\n".join(lines)


def old_section(page: str, law: str) -> list[str]:
    """Its lines, up to the one that names the law's command."""
    for section in page.split("\n## ")[1:]:
        if f"`python -m experiments.laws {law}`" in section:
            return [*f"## {section}".rstrip().splitlines(), ""]
    return []


if __name__ == "__main__":
    main()
