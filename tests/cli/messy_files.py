"""Tables as people have them: six files made from one clean table, each messy in its own way."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path

import openpyxl

Row = list[object]
Write = Callable[[Path, list[str], list[Row], random.Random], None]
CLASS = "Résultat"


def write_text(path: Path, rows: list[Row], delimiter: str = ",", encoding: str = "utf-8") -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))


def write_sheets(path: Path, sheets: dict[str, list[Row]], merged: tuple[str, ...] = ()) -> None:
    """The last sheet has the merged cells."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    for cells in merged:
        sheet.merge_cells(cells)
    book.save(path)


def with_comma(row: Row) -> Row:
    return [str(cell).replace(".", ",") if isinstance(cell, float) else cell for cell in row]


def two_sheets(path: Path, names: list[str], rows: list[Row], draw: random.Random) -> None:
    """Notes on the first sheet; on the second the names of two groups above the header, and a site for many rows."""
    notes: list[Row] = [["Contents"], ["Table", "sheet 2"], ["Author", "A. Clerk"]]
    groups: Row = ["", "Size", *[""] * (len(names) - 2), "Outcome"]
    sites: list[Row] = [["Basel" if k == 0 else "", *row] for k, row in enumerate(rows)]
    end = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(names) - 1]
    merged = (f"B1:{end}1", f"A3:A{len(rows) + 2}")
    write_sheets(path, {"Notes": notes, "Data": [groups, ["site", *names], *sites]}, merged)


def latin(path: Path, names: list[str], rows: list[Row], draw: random.Random) -> None:
    """Semicolons and decimal commas below a title, in latin-1."""
    title: list[Row] = [["Patients, été 2024"], []]
    write_text(path, [*title, names, *map(with_comma, rows)], ";", "latin-1")


def units(path: Path, names: list[str], rows: list[Row], draw: random.Random) -> None:
    """Percentages, thousands, currency, dates with the day first, and several ways to write that a value is missing."""

    def written(row: Row) -> Row:
        cells: Row = [f"{float(str(row[0])) * 10:.1f} %", f"{float(str(row[1])) * 1000:,.0f}", f"€ {row[2]}", *row[3:]]
        if draw.random() < 0.1:
            cells[draw.randrange(3)] = draw.choice(["n/a", "-", "null"])
        day = f"{draw.randint(1, 28)}/{draw.randint(1, 12)}/{draw.randint(2019, 2024)}"
        return [day, draw.choice(["north", "south", "east", "n/a", "null"]), *cells]

    write_text(path, [["seen", "region", *names], *map(written, rows)])


def identifiers(path: Path, names: list[str], rows: list[Row], draw: random.Random) -> None:
    """A row number, an identifier, a constant, and a column twice."""
    cells: list[Row] = [[k + 1, f"P{k * 7:05}", "CH", *row[:-1], row[0], row[-1]] for k, row in enumerate(rows)]
    write_text(path, [["nr", "patient", "country", *names[:-1], "copy", names[-1]], *cells])


def leak(path: Path, names: list[str], rows: list[Row], draw: random.Random) -> None:
    """A column that is filled in after the class is known; the class has spellings."""
    bad = rows[0][-1]
    spelt: list[Row] = [
        [draw.choice(["ward", "home"]) if row[-1] == bad else "", *row[:-1], spell(str(row[-1]), draw)] for row in rows
    ]
    write_sheets(path, {"Data": [["discharged to", *names], *spelt]})


def typos(path: Path, names: list[str], rows: list[Row], draw: random.Random) -> None:
    """Spellings and a slip of the pen in the class, and codes for missing among numbers."""
    cells: list[Row] = [[999 if draw.random() < 0.1 else draw.randint(20, 90), *row] for row in rows]
    spelt = [[*row[:-1], spell(str(row[-1]), draw)] for row in cells]
    spelt[1][-1] = f"{str(rows[1][-1])[:-1]}x"
    write_text(path, [["years", *names], *spelt])


def spell(label: str, draw: random.Random) -> str:
    return draw.choice([label] * 5 + [label.upper(), f"{label} ", label.title()])


FILES: dict[str, Write] = {
    "two_sheets.xlsx": two_sheets,
    "latin.csv": latin,
    "units.csv": units,
    "identifiers.csv": identifiers,
    "leak.xlsx": leak,
    "typos.csv": typos,
}


def write_messy(folder: Path, name: str, names: list[str], rows: list[Row]) -> Path:
    """One of the files; the class is the last column."""
    path = folder / name
    FILES[name](path, [*names[:-1], CLASS], rows, random.Random(0))
    return path
