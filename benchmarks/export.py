"""Exports: rows per second of processor time on each engine, of a model of 20 numbers, and the size of its files.

The model is the additive model without trees: effects of attributes and pairs. DuckDB and onnxruntime use all cores, so
they are faster by the clock. SQLite, node and Python run on fewer rows. Writes docs/export_speed.md.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from experiments.commit import commit
from tanager import AdditiveClassifier, export, save_model

N_ROWS, N_TRAINING, N_ATTRIBUTES = 1_000_000, 20_000, 20
PAGE = Path(__file__).parents[1] / "docs" / "export_speed.md"
C_DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "model.h"
int main(int argc, char **argv) {
    const size_t n = (size_t)atol(argv[2]);
    double p[model_n_classes], sum = 0.0;
    model_row *rows = malloc(n * sizeof *rows);
    FILE *file = fopen(argv[1], "rb");
    if (argc < 3 || !rows || !file || fread(rows, sizeof *rows, n, file) != n) return 1;
    const clock_t start = clock();
    for (size_t r = 0; r < n; r++) { model_predict(&rows[r], p); sum += p[0]; }
    fprintf(stderr, "%g\\n", sum);
    printf("%g\\n", (double)(clock() - start) / CLOCKS_PER_SEC);
    return 0;
}
"""
JS_DRIVER = """
import { readFileSync } from "node:fs";
import { predictProba } from "./model.mjs";
const cells = new Float64Array(readFileSync("rows.bin").buffer), width = 20;
const rows = Array.from({ length: cells.length / width }, (_, r) =>
  Object.fromEntries(Array.from({ length: width }, (_, k) => [`x${k}`, cells[r * width + k]])));
const start = process.cpuUsage();
let sum = 0;
for (const row of rows) sum += predictProba(row)[0];
console.error(sum);
console.log(process.cpuUsage(start).user / 1e6);
"""


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_ATTRIBUTES))
    names = [f"x{k}" for k in range(N_ATTRIBUTES)]
    logits = 0.4 * X.sum(axis=1) + X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
    y = rng.random(N_TRAINING) < 1 / (1 + np.exp(-logits[:N_TRAINING]))
    table = pa.table(dict(zip(names, X.T.copy(), strict=True)))
    clf = AdditiveClassifier(trees=False).fit(table.slice(0, N_TRAINING), y)
    n_bins = max(len(column.states) for column in clf.model_.columns)
    lines = [
        f"A model of {N_ATTRIBUTES} numbers in {n_bins} bins each and {len(clf.model_.pairs)} pairs, on a machine "
        f"with {os.cpu_count()} cores ({time.strftime('%Y-%m-%d')}, {commit()}, load {os.getloadavg()[0]:.0f}):",
        "\n| engine | rows per second of a core | aim |\n| --- | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        engines: dict[str, tuple[Callable[[], float], str]] = {
            "predict_proba": (lambda: N_ROWS / core_time(lambda: clf.predict_proba(table)), ""),
            "C, gcc -O2": (lambda: in_c(clf, X, Path(folder)), "at least 5,000,000"),
            "DuckDB": (lambda: in_duckdb(clf, table), "at least 1,000,000"),
            "onnxruntime": (lambda: in_onnx(clf, X), ""),
            "SQLite": (lambda: in_sqlite(clf, X[:50_000]), ""),
            "JavaScript, node": (lambda: in_node(clf, X[:100_000], Path(folder)), ""),
            "Python": (lambda: in_python(clf, table.slice(0, 2_000)), ""),
        }
        for name, (measure, asked) in engines.items():
            try:
                lines.append(f"| {name} | {measure():,.0f} | {asked} |")
            except (ImportError, FileNotFoundError) as error:
                lines.append(f"| {name} | not here: {error} | {asked} |")
            print(lines[-1], flush=True)
        save_model(clf, Path(folder, "model.json"))
        size = Path(folder, "model.json").stat().st_size
        lines.append(f"\n| file | times the model's JSON, {size:,} bytes | aim |\n| --- | ---: | ---: |")
        options = {"sql": {"table": "t", "key": "id"}}
        for to, most in {"onnx": "at most 2", "sql": "", "c": "", "js": "", "python": "", "excel": ""}.items():
            content = export(clf, to, **options.get(to, {}))
            lines.append(f"| {to} | {len(content) / size:.2f} | {most} |")
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.read_text())


def core_time(work: Callable[[], object], n_times: int = 3) -> float:
    """Seconds that all threads work, in the quickest of several runs."""
    times = []
    for _ in range(n_times):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def in_c(clf: AdditiveClassifier, X: np.ndarray, folder: Path) -> float:
    text = str(export(clf, "c"))
    fields = [
        line.split("/* ")[1].split(" */")[0].strip('"') for line in text.splitlines() if line.startswith("    double x")
    ]
    X[:, [int(name[1:]) for name in fields]].tofile(folder / "rows.bin")
    (folder / "model.h").write_text(text)
    (folder / "run.c").write_text(C_DRIVER)
    subprocess.run(["gcc", "-O2", "run.c", "-o", "run", "-lm"], cwd=folder, check=True)
    return max(len(X) / _seconds(["./run", "rows.bin", str(len(X))], folder) for _ in range(3))


def in_node(clf: AdditiveClassifier, X: np.ndarray, folder: Path) -> float:
    if shutil.which("node") is None:
        raise FileNotFoundError("node")
    (folder / "model.mjs").write_text(str(export(clf, "js")))
    (folder / "run.mjs").write_text(JS_DRIVER)
    np.ascontiguousarray(X).tofile(folder / "rows.bin")
    return len(X) / _seconds(["node", "run.mjs"], folder)


def in_duckdb(clf: AdditiveClassifier, table: pa.Table) -> float:
    import duckdb

    query = str(export(clf, "sql", dialect="duckdb", table="t", key="id"))
    with duckdb.connect() as base:
        base.register("arrow", table.append_column("id", pa.array(np.arange(len(table)))))
        base.execute("CREATE TABLE t AS SELECT * FROM arrow")
        return len(table) / core_time(lambda: base.execute(f"CREATE OR REPLACE TABLE found AS {query}"))


def in_sqlite(clf: AdditiveClassifier, X: np.ndarray) -> float:
    query = str(export(clf, "sql", dialect="sqlite", table="t", key="id"))
    names = ", ".join(f"x{k}" for k in range(X.shape[1]))
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE t (id, {names})")
        rows = [(k, *row) for k, row in enumerate(X.tolist())]
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (X.shape[1] + 1))})", rows)
        return len(X) / core_time(lambda: base.execute(query).fetchall())


def in_onnx(clf: AdditiveClassifier, X: np.ndarray) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(export(clf, "onnx"))
    cells = {value.name: X[:, [int(value.name[1:])]] for value in session.get_inputs()}
    return len(X) / core_time(lambda: session.run(["probabilities"], cells))


def in_python(clf: AdditiveClassifier, table: pa.Table) -> float:
    scope: dict = {}
    exec(str(export(clf, "python")), scope)
    rows = table.to_pylist()
    return len(rows) / core_time(lambda: [scope["predict_proba"](row) for row in rows])


def _seconds(command: list[str], folder: Path) -> float:
    return float(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)


if __name__ == "__main__":
    main()
