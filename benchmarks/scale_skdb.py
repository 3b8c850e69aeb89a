"""SKDB from a Parquet file under a limit of 2 GB: seconds by the wall and the processor, and the peak of memory.

    python -m benchmarks.scale_skdb [--rows 1000000 4000000 20000000]

The files are those of `scale_stream`, n rows x 50 attributes of 5 values, and every fit is a process of its own. A fit
counts pairs, counts the families of the structures to be judged, and judges each row without itself: three passes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.scale_stream import LIMIT, MemoryLimit, run_child, write_file

ASKED = "20,000,000 rows under 5 minutes"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000, 20_000_000])
    options = parser.parse_args()
    limit = MemoryLimit()
    how = "RLIMIT_DATA" if limit.group is None else "a control group"
    print(f"{LIMIT / 1e9:g} GB enforced by {how}; asked: {ASKED}.\n")
    print("| rows x 50 | fit | processor | processor, s per million rows | peak, MB |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    try:
        for n_rows in options.rows:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "rows.parquet")
                write_file(path, n_rows)
                fit = run_child(limit, "fit", str(path), "--structure", "skdb", "--parameters", "frequency")
            per_million = fit["processor"] / n_rows * 1e6
            print(
                f"| {n_rows:,} | {fit['seconds']:.1f} s | {fit['processor']:.1f} s | {per_million:.2f} | "
                f"{fit['peak']:.0f} |",
                flush=True,
            )
    finally:
        limit.close()


if __name__ == "__main__":
    main()
