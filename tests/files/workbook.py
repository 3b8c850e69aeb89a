"""A workbook written by hand, from the ECMA-376 standard: sheets of numbers, texts, booleans and dates."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
EPOCH = datetime.datetime(1899, 12, 30)
STYLES = f"""<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>"""


def write_workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    """A sheet is rows of cells; None is an empty one."""
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
        for k in range(len(sheets))
    )
    names = "".join(f'<sheet name={quoteattr(name)} sheetId="{k + 1}" r:id="r{k}"/>' for k, name in enumerate(sheets))
    links = "".join(
        f'<Relationship Id="r{k}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(len(sheets))
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/xl/workbook.xml" ContentType='
            f'"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>{parts}</Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" Type="{OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>'
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{links}'
            f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        archive.writestr("xl/styles.xml", STYLES)
        for k, rows in enumerate(sheets.values()):
            body = "".join(_row(number, row) for number, row in enumerate(rows, start=1))
            archive.writestr(
                f"xl/worksheets/sheet{k}.xml", f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
            )
    return path


def _row(number: int, cells: list[object]) -> str:
    written = (_cell(f"{chr(65 + k)}{number}", cell) for k, cell in enumerate(cells) if cell is not None)
    return f'<row r="{number}">{"".join(written)}</row>'


def _cell(place: str, cell: object) -> str:
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, datetime.datetime):
        return f'<c r="{place}" s="1"><v>{(cell - EPOCH) / datetime.timedelta(days=1)!r}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell!r}</v></c>'
