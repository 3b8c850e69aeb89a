"""A folder of small data sets with a manifest, as the experiments read them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np


def write_sets(folder: Path) -> Path:
    """Three sets: `easy` (numbers say the class), `mixed` (categories, numbers, gaps, digits as text), `split`."""
    random = np.random.default_rng(0)
    entries = []

    def add(name: str, header: str, rows: list[str], kinds: dict[str, str], **more: object) -> None:
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            file.write("\n".join([header, *rows]) + "\n")
        entries.append(
            {"name": name, "file": f"{name}.csv.gz", "rows": len(rows), "classes": 2, "kinds": kinds, "split": None}
            | {"group": ["small"]}
            | more
        )

    classes = ["a", "b"] * 20
    add(
        "easy",
        "x,u,class",
        [f"{(k == 'b') + random.normal(0, 0.4):.3f},{random.normal():.3f},{k}" for k in classes],
        {"x": "numeric", "u": "numeric"},
    )
    rare = [k == "b" or random.random() < 0.3 for k in classes]
    cells = [f"{random.integers(1, 4)},{'' if random.random() < 0.2 else round(random.normal(), 2)}" for _ in classes]
    rows = [f"{cell},{'none' if own else ''},{k}" for cell, own, k in zip(cells, rare, classes, strict=True)]
    add("mixed", "code,x,none,class", rows, {"code": "categorical", "x": "numeric", "none": "categorical"})
    rows = [f"{'pq'[random.integers(2)]},{'rs'[k == 'b']},{k}" for k in classes]
    kinds = {"v": "categorical", "w": "categorical"}
    add("split", "v,w,class", rows, kinds, split={"train": 30, "test": 10}, group=["small", "other"])
    (folder / "manifest.json").write_text(json.dumps(entries))
    return folder
