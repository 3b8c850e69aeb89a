"""Two halves of the benchmark tables: rules of the additive model are settled on the first, confirmed on the second.

    python -m experiments.halves [FOLDER]

writes experiments/halves.json from the names in FOLDER/manifest.json ($TANAGER_DATA, ../shared/data by default). A
table is assigned by a hash of the name of its family, so that tables with common rows are in one half.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path

FILE = Path(__file__).parent / "halves.json"
RELATIVES = {
    "heart": r"cleve|heart.*",
    "pima": r"diabetes|pima",
    "glass": r"glass2?",
    "shuttle": r"shuttle.*",
    "waveform": r"waveform.*",
    "credit approval": r"australian|crx",
}


def family(name: str) -> str:
    """The tables of one family share rows, or the process that made them: binding sites go by their protein."""
    site = re.fullmatch(r"tfbs-[^-]+-(.+)-\d+", name)
    if site:
        return f"tfbs {site[1]}"
    return next((key for key, pattern in RELATIVES.items() if re.fullmatch(pattern, name)), name)


def half(name: str) -> str:
    """ "first" or "second"."""
    return ("first", "second")[hashlib.sha256(family(name).encode()).digest()[0] % 2]


def write_halves(folder: Path, file: Path = FILE) -> dict[str, list[str]]:
    """Assign every table of a manifest, and keep that in a file."""
    names = sorted(entry["name"] for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
    halves = {which: [name for name in names if half(name) == which] for which in ("first", "second")}
    file.write_text(json.dumps(halves, indent=1) + "\n", encoding="utf-8")
    return halves


if __name__ == "__main__":
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TANAGER_DATA", "../shared/data"))
    for which, names in write_halves(data).items():
        print(f"{which}: {len(names)} tables")
