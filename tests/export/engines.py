"""Engines that run exports: of every row of an Arrow table the probabilities, in the order of the classes."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tanager import export

Model = object

JS_DRIVER = """
import { readFileSync } from "node:fs";
import { classes, predict, predictProba } from "./model.mjs";
const rows = JSON.parse(readFileSync(0, "utf8")).map((row) => new Map(row));
const cell = (value) => (value && typeof value === "object" ? Number(value.number) : value);
for (const row of rows) {
  const cells = Object.create(null);
  for (const [name, value] of row) Object.defineProperty(cells, name, { value: cell(value), enumerable: true });
  const shares = predictProba(cells), best = predict(cells);
  console.log(JSON.stringify([classes.indexOf(best), ...shares.map(String)]));
}
"""
C_DRIVER = """
#include <stdio.h>
#include "model.h"
static const model_row rows[] = {{
{rows}
}};
int main(void) {{
    double p[model_n_classes];
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {{
        printf("%d", model_predict(&rows[r], p));
        for (int c = 0; c < model_n_classes; c++) printf(" %.17g", p[c]);
        printf("\\n");
    }}
    return 0;
}}
"""


def micro(cell: object) -> object:
    """Dates and times as microseconds since 1970, durations as microseconds."""
    if isinstance(cell, datetime.timedelta):
        return cell / datetime.timedelta(microseconds=1)
    if isinstance(cell, datetime.datetime):
        return (cell - datetime.datetime(1970, 1, 1, tzinfo=cell.tzinfo)) / datetime.timedelta(microseconds=1)
    if isinstance(cell, datetime.date):
        return micro(datetime.datetime.combine(cell, datetime.time()))
    return cell


def check_best(clf: Model, best: list[int | None], shares: np.ndarray) -> np.ndarray:
    """The shares, if the class given with them is their greatest, or what the model decides for.

    None (-1) goes with no shares, and with a person to ask.
    """
    rule = clf.decision_
    for chosen, share in zip(best, shares, strict=True):
        if math.isnan(share[0]):
            assert chosen in (None, -1)
        elif rule is None:
            assert share[chosen] >= share.max() - 1e-12
        elif rule.explain(share[np.newaxis])[0].distance > 1e-9:
            decided = int(rule.choose(share[np.newaxis])[0])
            assert chosen == decided or (decided == len(share) and chosen in (None, -1))
    return shares


def by_python(clf: Model, table: pa.Table, folder: Path, **options: object) -> np.ndarray:
    scope: dict = {}
    exec(compile(export(clf, "python", **options), "model.py", "exec"), scope)
    rows = table.to_pylist()
    shares = np.array([scope["predict_proba"](row) for row in rows])
    labels = list(scope["CLASSES"])
    return check_best(clf, [None if (b := scope["predict"](row)) is None else labels.index(b) for row in rows], shares)


def by_node(clf: Model, table: pa.Table, folder: Path, **options: object) -> np.ndarray:
    if shutil.which("node") is None:
        pytest.skip("no node here")
    (folder / "model.mjs").write_text(export(clf, "js", **options))
    (folder / "run.mjs").write_text(JS_DRIVER)

    def cell(value: object) -> object:
        # JSON has no NaN, and cannot tell -0.0 or 1e308 from its own writing: numbers go as text.
        return {"number": repr(float(value))} if isinstance(value, float) else value

    def moment(value: object) -> object:
        return value.isoformat() if isinstance(value, datetime.date) else micro(value)

    rows = [[[name, cell(moment(value))] for name, value in row.items()] for row in table.to_pylist()]
    text = json.dumps(rows).replace('"nan"', '"NaN"').replace('inf"', 'Infinity"')
    done = subprocess.run(["node", "run.mjs"], cwd=folder, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return check_best(clf, [line[0] for line in lines], np.array([[float(p) for p in line[1:]] for line in lines]))


def by_gcc(clf: Model, table: pa.Table, folder: Path, **options: object) -> np.ndarray:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    export(clf, "c", folder / "model.h", **options)
    fields = [
        line for line in (folder / "model.h").read_text().splitlines() if line.startswith("    ") and '/* "' in line
    ]
    kinds = ["text" if line.lstrip().startswith("const char") else "number" for line in fields[: table.num_columns]]
    # A column that no number of the model depends on has no field.
    names = [json.loads(line[line.index('/* "') + 3 : line.rindex(" */")]) for line in fields[: table.num_columns]]

    def cell(value: object, kind: str) -> str:
        if kind == "text":
            return "0" if value is None else '"' + "".join(f"\\{b:03o}" for b in str(value).encode()) + '"'
        number = float(micro(value)) if value is not None else math.nan
        return repr(number).replace("inf", "INFINITY") if not math.isnan(number) else "NAN"

    rows = ([row[name] for name in names] for row in table.to_pylist())
    lines = [f"{{{', '.join(map(cell, row, kinds)) or '0'}}}," for row in rows]
    (folder / "run.c").write_text(C_DRIVER.format(rows="\n".join(lines)))
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-function"]
    done = subprocess.run(["gcc", *flags, "run.c", "-o", "run", "-lm"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    out = subprocess.run(["./run"], cwd=folder, capture_output=True, text=True, check=True).stdout
    numbers = np.array([[float(word) for word in line.split()] for line in out.splitlines()])
    return check_best(clf, [int(best) for best in numbers[:, 0]], numbers[:, 1:])


def check_result(clf: Model, rows: list[tuple]) -> np.ndarray:
    """Key, class and probabilities of a query, in the order of the key."""
    rows = sorted(rows)
    shares = np.array([[math.nan if p is None else p for p in row[2:]] for row in rows])
    # SQLite has 0 and 1 for booleans.
    labels = [{str(label), str(int(label) if isinstance(label, bool) else label)} for label in clf.classes_.tolist()]
    best = [None if row[1] is None else next(k for k, each in enumerate(labels) if str(row[1]) in each) for row in rows]
    return check_best(clf, best, shares)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sqlite_cell(cell: object) -> object:
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, datetime.date) else micro(cell)


def by_sqlite(clf: Model, table: pa.Table, folder: Path, name: str = "t", **options: object) -> np.ndarray:
    key = "the key"
    columns = [key, *table.column_names]
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE {quoted(name)} ({', '.join(map(quoted, columns))})")
        rows = [(k, *map(sqlite_cell, row.values())) for k, row in enumerate(table.to_pylist())]
        marks = ", ".join("?" * len(columns))
        base.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows)
        query = export(clf, "sql", dialect="sqlite", table=name, key=key, **options)
        return check_result(clf, base.execute(query).fetchall())


def by_duckdb(clf: Model, table: pa.Table, folder: Path, name: str = "t", **options: object) -> np.ndarray:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        source = pa.table(
            {"the key": np.arange(table.num_rows)} | dict(zip(table.column_names, table.columns, strict=True))
        )
        base.register("arrow rows", source)
        base.execute(f'CREATE TABLE {quoted(name)} AS SELECT * FROM "arrow rows"')
        query = export(clf, "sql", dialect="duckdb", table=name, key="the key", **options)
        return check_result(clf, base.execute(query).fetchall())


def by_onnxruntime(clf: Model, table: pa.Table, folder: Path, **options: object) -> np.ndarray:
    onnxruntime = pytest.importorskip("onnxruntime")
    content = export(clf, "onnx", **options)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    columns = dict(zip(table.column_names, table.columns, strict=True))
    cells = {}
    for value in (each for each in session.get_inputs() if each.name in columns):
        column = columns[value.name].to_pylist()
        if value.type == "tensor(string)":
            # Strings have no null; where the empty one is a category, a NUL takes its place.
            (schema,) = (each for each in clf.encoder_.schema.attributes if each.name == value.name)
            nothing = "\0" if "" in schema.categories else ""
            texts = [nothing if cell is None else "unseen" if cell == nothing else cell for cell in column]
            cells[value.name] = np.array(texts, dtype=object).reshape(-1, 1)
        else:
            numbers = [math.nan if cell is None else float(micro(cell)) for cell in column]
            cells[value.name] = np.array(numbers, dtype=np.float64).reshape(-1, 1)
    label, shares = session.run(["label", "probabilities"], cells)
    labels = [str(each) for each in clf.classes_.tolist()]
    refused = np.isnan(shares[:, 0])
    asks = clf.decision_ is not None and "" not in labels
    nobody = refused | (asks & (np.asarray(label, dtype=object).ravel() == ""))
    best = [None if no else labels.index(str(one)) for one, no in zip(label, nobody, strict=True)]
    return check_best(clf, best, shares)


def by_libreoffice(clf: Model, table: pa.Table, folder: Path, **options: object) -> np.ndarray:
    """LibreOffice recalculates the workbook, whose "Rows" are filled in here, and writes that sheet as CSV."""
    office, openpyxl = shutil.which("soffice"), pytest.importorskip("openpyxl")
    if office is None:
        pytest.skip("no LibreOffice here; `make test-exports` installs it")
    export(clf, "excel", folder / "model.xlsx", rows=table.num_rows, **options)
    book = openpyxl.load_workbook(folder / "model.xlsx")
    names = [cell.value for cell in book["Rows"][1]][: -1 - len(clf.classes_)]
    for k, name in enumerate(names, start=1):
        for number, cell in enumerate(table[name].to_pylist(), start=2):
            place = book["Rows"].cell(number, k)
            place.value = None if isinstance(cell, float) and math.isnan(cell) else cell
            if isinstance(cell, str):
                place.data_type = "s"
    book.save(folder / "filled.xlsx")
    form = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"  # UTF-8, numbers in full
    profile = f"-env:UserInstallation=file://{folder}/profile"
    files = ["--outdir", str(folder), str(folder / "filled.xlsx")]
    command = [office, profile, "--headless", "--convert-to", form, *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (folder / "filled.csv").exists(), done.stderr
    with (folder / "filled.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    n_classes, labels = len(clf.classes_), [str(each) for each in clf.classes_.tolist()]
    shares = np.array([[math.nan if "N/A" in p else float(p) for p in row[-n_classes:]] for row in rows])
    if clf.decision_ is None:
        return shares
    decided = [row[-n_classes - 1] for row in rows]
    return check_best(clf, [labels.index(label) if label in labels else None for label in decided], shares)


class Server:
    """A PostgreSQL server of our own, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        # The server refuses to run as root.
        self.user = {"user": "nobody"} if os.geteuid() == 0 else {}
        self.folder = folder
        if self.user:
            shutil.chown(folder, "nobody")
        self._do("initdb", "-D", "data", "-U", "tester", "-E", "UTF8", "--locale=C", "-A", "trust")
        self._do("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", f"-c listen_addresses='' -k '{folder}' -F", "start")

    def stop(self) -> None:
        self._do("pg_ctl", "-D", "data", "-m", "immediate", "stop")

    def run(self, text: str) -> str:
        login = ["-h", self.folder, "-U", "tester", "-d", "postgres"]
        command = ["psql", "-X", "-q", "-t", "--csv", "-P", f"null={NULL}", "-v", "ON_ERROR_STOP=1", *login]
        done = subprocess.run(command, input=text.encode(), capture_output=True)
        assert done.returncode == 0, done.stderr[:2000]
        return done.stdout.decode()

    def _do(self, *command: str) -> None:
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self.user)
        assert done.returncode == 0, done.stdout


NULL = "(null)"
POSTGRES_TYPES = {"bool": "boolean", "double": "float8", "int64": "bigint", "string": "text"}


def by_postgresql(
    clf: Model, table: pa.Table, folder: Path, server: Server, name: str = "t", **options: object
) -> np.ndarray:
    def type_of(kind: pa.DataType) -> str:
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return "date" if pa.types.is_date(kind) else "timestamp"
        return POSTGRES_TYPES.get(str(kind), "float8" if pa.types.is_duration(kind) else "text")

    def literal(cell: object) -> str:
        text = str(micro(cell) if isinstance(cell, datetime.timedelta) else cell)
        return "NULL" if cell is None else "'" + text.replace("'", "''") + "'"

    types = [f"{quoted(field.name)} {type_of(field.type)}" for field in table.schema]
    rows = [f"({k}, {', '.join(map(literal, row.values()))})" for k, row in enumerate(table.to_pylist())]
    query = export(clf, "sql", dialect="postgresql", table=name, key="the key", **options)
    out = server.run(
        f'CREATE TEMP TABLE {quoted(name)} ("the key" int, {", ".join(types)});\n'
        f"INSERT INTO {quoted(name)} VALUES {', '.join(rows)};\n{query}"
    )
    found = [
        [None if cell == NULL else cell for cell in row] for row in csv.reader(io.StringIO(out, newline="")) if row
    ]
    return check_result(clf, [(int(row[0]), row[1], *(p and float(p) for p in row[2:])) for row in found])


Engine = Callable[..., np.ndarray]
# The workbook has a test of its own: it allows 1e-9 and leaves empty rows empty.
ENGINES: dict[str, Engine] = {
    "python": by_python,
    "node": by_node,
    "gcc": by_gcc,
    "sqlite": by_sqlite,
    "duckdb": by_duckdb,
    "onnxruntime": by_onnxruntime,
}
