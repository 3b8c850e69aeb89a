"""A program as an ES module without dependencies, and the types of it for TypeScript."""

from __future__ import annotations

import datetime
import json
from importlib.resources import files

from tanager.export.document import Document, to_document
from tanager.export.header import describe
from tanager.export.program import Program
from tanager.table.schema import Category

SCRIPTS = {
    "looked up": ("looked_up",),
    "refused": ("looked_up",),
    "summed out": ("inference", "summed_out"),
    "averaged": ("averaging", "averaged"),
}
"""What each rule for missing cells needs, beside `numbers` and `model`; the report page runs most of it too."""
TYPES = {"numbers": "number", "text": "string", "booleans": "boolean", "nothing": "null"}


def write_javascript(program: Program) -> str:
    """`classes`, `predictProba(row)` and `predict(row)`."""
    names = ("numbers", *SCRIPTS[program.gaps], "model")
    scripts = [(files("tanager.export") / "js" / f"{name}.js").read_text("utf-8") for name in names]
    document = to_document(program)
    constants = [
        f"export const classes = {_literal([_label(label) for label in program.labels])};",
        "const MODEL = {\n" + "".join(f"  {key}: {_lines(value)},\n" for key, value in _keys(document).items()) + "};",
    ]
    return "\n".join([*_header(program), "", *constants, "", *scripts])


def write_types(program: Program) -> str:
    """The declarations of the module that `write_javascript` writes."""
    cells = [
        f"  {_literal(column['name'])}: {TYPES.get(column['holds'], 'Date | string | number')} | null;\n"
        for column in to_document(program)["columns"][: len(program.asked)]
    ]
    labels = " | ".join(_literal(_label(label)) for label in program.labels)
    return "\n".join(
        [
            *_header(program),
            "",
            f"export interface Row {{\n{''.join(cells)}}}",
            f"export type Class = {labels};",
            "export declare const classes: Class[];",
            "export declare function predictProba(row: Row): number[];",
            "export declare function predict(row: Row): Class | null;",
            "",
        ]
    )


def _header(program: Program) -> list[str]:
    return [f"// {line}".rstrip() for line in describe(program)]


def _keys(document: Document) -> Document:
    """The categories of a column in the order of its states: keys of an object would be text."""
    columns = [
        {**column, "categories": None if column["categories"] is None else [*map(_key, column["categories"])]}
        for column in document["columns"]
    ]
    return {**document, "columns": columns}


def _key(category: str | float) -> str | float:
    return int(category) if isinstance(category, bool) else category


def _label(label: Category) -> str | float:
    return label.isoformat() if isinstance(label, datetime.date) else label


def _lines(value: object) -> str:
    """A literal, with a line for each item of a list of objects."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"    {_literal(each)},\n" for each in value) + "  ]"
    return _literal(value)


def _literal(value: object) -> str:
    """JSON in ASCII is JavaScript, -Infinity included; "__proto__" is a key nowhere."""
    return json.dumps(value, ensure_ascii=True)
