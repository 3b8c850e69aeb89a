"""Write docs/lines_run.md from what coverage.py counted: `make coverage`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "lines_run.md"


def main(report: Path) -> None:
    PAGE.write_text(page(json.loads(report.read_text())["files"]))


def page(files: dict[str, dict[str, dict[str, int]]]) -> str:
    """Statements and those that ran, by folder of the package; files at its top together."""
    statements, ran = Counter[str](), Counter[str]()
    for name, found in files.items():
        inside = Path(name).parts[Path(name).parts.index("tanager") + 1 :]
        folder = f"{inside[0]}/" if len(inside) > 1 else "(top)"
        statements[folder] += found["summary"]["num_statements"]
        ran[folder] += found["summary"]["covered_lines"]
    lines = [
        "# What the tests run",
        "",
        "Written by `make coverage`: the share of statements that `make test` runs. Kernels are left out, since they",
        "are compiled; what tests *notice* is on [the page of mutants](mutants.md).",
        "",
        "| folder | statements | run |",
        "| --- | ---: | ---: |",
    ]
    lines += [
        f"| `{folder}` | {statements[folder]:,} | {ran[folder] / max(statements[folder], 1):.1%} |"
        for folder in sorted(statements)
    ]
    total, covered = statements.total(), ran.total()
    lines.append(f"| **all** | **{total:,}** | **{covered / max(total, 1):.1%}** |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
