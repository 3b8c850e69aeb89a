"""Hostile files: valid ones of every format, changed at random, and a corpus of those that ever fell.

Law: a file is refused by one error of ours, or what is read of it works: the rows of its tables sum to one, and a model
gives probabilities.
"""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet

from attack.models import MENDING
from tanager import AdditiveClassifier, TANClassifier, load_model, read_network, save_model, write_network
from tanager.edits import Edit, Edits
from tanager.errors import TanagerError
from tanager.files import load_edits, load_recipe, save_edits, save_recipe
from tanager.files.network_file import FORMATS
from tanager.files.read_csv import CellRules
from tanager.files.read_table import read_table

ROWS = pa.table(
    {"colour": ["red", "blue", "a b", "green"] * 6, "flag": [True, False, False, True] * 6, "size": [0.5, 2.5, 4.5] * 8}
)
CLASSES = ["yes", "no", "no"] * 8
NETWORKS = (*FORMATS, ".json")
MODELS = ("tan.model", "effects.model")
SHEET = "xl/worksheets/sheet1.xml"
CSV = 'colour,flag,size,when\nred,true,0.5,2024-02-29\n"a, b",false,1e3,2024-03-01\n?,,NA,\n'
ARFF = """% note
@relation r
@attribute colour {red,'a, b',"c"}
@attribute size numeric
@attribute when date "yyyy-MM-dd"
@attribute 'free text' string
@data
red, 0.5, 2024-02-29, 'x\\'y'
'a, b' ,?,?,\t"z"
"""
WORDS = """0 -1 1e999 nan 99999999999 4294967296 { } ( ) [ ] ; , | " ' /* */ // % # @data null true <a/> &amp; <!--
variable table default BAYES type discrete"""
TOKENS = [word.encode() for word in WORDS.split()]
TOKENS += [b"\0", b"\xff", b"\r", b"\n", b" " * 50, b"\xe2\x82\xac", b"[" * 50, b'"' * 9, b"\\"]


@cache
def seeds() -> dict[str, bytes]:
    """A valid file of every kind, by the name it has."""
    clf = TANClassifier(parameters="frequency", discretizer="quantile").fit(ROWS, CLASSES)
    found = {"table.csv": CSV.encode(), "table.tsv": CSV.replace(",", "\t").encode(), "table.arff": ARFF.encode()}
    found["table.csv.gz"] = gzip.compress(CSV.encode(), mtime=0)
    found["wide.csv"] = CSV.encode("utf-16")
    found["table.xlsx"] = workbook()
    with zipfile.ZipFile(io.BytesIO(workbook())) as parts:
        found["sheet.xlsx"] = parts.read(SHEET)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in NETWORKS:
            write_network(clf.model_, Path(folder, f"network{suffix}"))
        save_model(clf, Path(folder, "tan.model"))
        save_model(AdditiveClassifier().fit(ROWS, CLASSES), Path(folder, "effects.model"))
        save_recipe(MENDING, Path(folder, "recipe.json"))
        save_edits(
            Edits((Edit.flatten("size", 1, 3, reason="few"), Edit.remove("flag", reason="forbidden"))),
            Path(folder, "edits.json"),
        )
        pyarrow.parquet.write_table(ROWS, Path(folder, "table.parquet"))
        found |= {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
    return found


def workbook(sheet: bytes | None = None) -> bytes:
    """An Excel workbook, with another text of its sheet where one is given."""
    book, written = openpyxl.Workbook(), io.BytesIO()
    for line in CSV.splitlines():
        book.active.append([cell.strip('"') for cell in line.split(",")])
    for number in range(3):
        book.active.append([number, number % 2 == 0, number / 2, None])
    book.save(written)
    if sheet is None:
        return written.getvalue()
    with zipfile.ZipFile(written) as parts:
        return _zipped({name: sheet if name == SHEET else parts.read(name) for name in parts.namelist()})


def _zipped(parts: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return written.getvalue()


def mutate(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """A file with one to four changes: bytes and words put in, left out, doubled, or taken from another file."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        begin = int(rng.integers(len(changed) + 1))
        end = min(len(changed), begin + int(rng.choice([0, 1, 2, 8, 64, 1_000])))
        match int(rng.integers(6)):
            case 0:
                changed[begin:begin] = TOKENS[rng.integers(len(TOKENS))]
            case 1:
                changed[begin:end] = TOKENS[rng.integers(len(TOKENS))]
            case 2:
                del changed[begin:end]
            case 3:
                changed[begin:begin] = changed[begin:end] * int(rng.integers(1, 30))
            case 4:
                start = int(rng.integers(len(other)))
                changed[begin:end] = other[start : start + int(rng.integers(1, 200))]
            case _:
                if begin < len(changed):
                    changed[begin] = int(rng.integers(256))
    return bytes(changed)


def check_file(name: str, content: bytes, folder: Path) -> bool:
    """Whether the file was read; if not, the error was one of ours."""
    path = folder / name
    path.write_bytes(workbook(content) if name == "sheet.xlsx" else content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if name in MODELS:
                _check_model(path)
            elif name == "recipe.json":
                mending = load_recipe(path)
                save_recipe(mending, path)
                assert load_recipe(path) == mending
            elif name == "edits.json":
                edits = load_edits(path)
                save_edits(edits, path)
                assert load_edits(path) == edits
            elif name.startswith("network"):
                for table in read_network(path).tables:
                    assert (table >= 0).all()
                    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
            else:
                assert read_table(path, CellRules(marks=True)).num_columns
    except TanagerError:
        return False
    return True


def _check_model(path: Path) -> None:
    clf = load_model(path)
    names = [column.name for column in clf.encoder_.schema.attributes]
    if len(names) == ROWS.num_columns:
        shares = clf.predict_proba(ROWS.rename_columns(names))
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def attack_file(number: int, seed: int, folder: Path) -> bool:
    """Case `number` of this seed."""
    rng = np.random.default_rng([seed, number])
    names = sorted(seeds())
    name, other = names[number % len(names)], names[rng.integers(len(names))]
    return check_file(name, mutate(seeds()[name], seeds()[other], rng), folder)


CORPUS: dict[str, tuple[str, bytes]] = {
    "comments never closed": ("network.bif", b"network x " + b"/* " * 60_000),
    "comments never closed after a word": ("network.bif", b"network x" + b"/* " * 60_000),
    "blanks inside a value": ("table.arff", b"@relation r\n@attribute a {x" + b" " * 6_000 + b"y}\n@data\n"),
    "5,000 digits": (
        "network.bif",
        b"network n {} variable a { type discrete [1] { " + b"7" * 5_000 + b" }; } probability ( a ) { table 1; }",
    ),
    "digits of a bound": (
        "network.bif",
        b'network n {} variable a { type discrete [2] { "(' + b"1" * 50_000 + b'", ">= 1" }; } '
        b"probability ( a ) { table 1, 0; }",
    ),
    "ARFF without rows": ("table.arff", ARFF.split("red, 0.5")[0].encode()),
    "a cell at the end of a sheet": (
        "sheet.xlsx",
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1">'
        b'<v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>',
    ),
    "a cell beyond every sheet": (
        "sheet.xlsx",
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
        b'<c r="ZZZZZZZ4294967295"><v>1</v></c></row></sheetData></worksheet>',
    ),
    "a part of a date twice": ("table.arff", b'@relation r\n@attribute d date "yy-yy"\n@data\nx\n'),
    "2^27 cells by default": (
        "network.bif",
        b"network n {} "
        + b"".join(b"variable v%d { type discrete [2] { s, t }; } " % k for k in range(27))
        + b"probability ( v0 | %s ) { default 1, 0; }" % b", ".join(b"v%d" % k for k in range(1, 27)),
    ),
}
