"""Laws that no test has the time for, on every benchmark set and on noise of many seeds.

    .venv/bin/python -m experiments.laws [noise] [evidence] [optimum]

Measures what is not yet among the records in experiments/results/laws, and writes docs/laws.md from all of them. Delete
the records of a law to measure it anew. The benchmark sets are in the folder TANAGER_DATA.
"""

from __future__ import annotations

import datetime
import json
import sys
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
    for name in sys.argv[1:] or LAWS:
        measure(name)
    PAGE.write_text(write_page(), encoding="utf-8")


def measure(name: str) -> None:
    law, path = LAWS[name], RECORDS / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {tuple(record[key] for key in law.KEYS) for record in read(name)}
    for case in law.cases():
        if case not in known:
            found = {
                **dict(zip(law.KEYS, case, strict=True)),
                **law.measure(*case),
                "version": f"{datetime.date.today()}, Tanager {tanager.__version__}, NumPy {np.__version__}",
            }
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
            print(found, flush=True)


def read(name: str) -> list[dict[str, Any]]:
    path = RECORDS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write_page() -> str:
    lines = [HEAD]
    for name, law in LAWS.items():
        if records := pd.DataFrame(read(name)).to_dict("records"):
            lines += law.section(pd.DataFrame(records))
            versions = "; ".join(sorted({record["version"] for record in records}))
            lines += [f"Written by `python -m experiments.laws {name}`; measured on {versions}.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
