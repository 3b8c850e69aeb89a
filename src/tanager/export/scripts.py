"""A program as a script without dependencies: one Python file, or an ES module."""

from __future__ import annotations

import datetime
import json
from importlib.resources import files

from tanager.export.document import Document, describe, refuse_values, to_document
from tanager.export.program import Program
from tanager.table.schema import Category

PYTHON_FOOTER = '''

def predict_proba(row):
    """P(class | row) in the order of CLASSES, of a row as a dictionary of cells by column; None or nan is missing."""
    return probabilities(MODEL, row)


def predict(row):
    """The class decided for; None where a person is to be asked, and where the model refuses the row."""
    shares = predict_proba(row)
    decided = None if any(map(isnan, shares)) else decide(MODEL["decision"], shares)
    return None if decided is None else CLASSES[decided]
'''
SCRIPTS = {
    "looked up": ("looked_up",),
    "refused": ("looked_up",),
    "summed out": ("inference", "summed_out"),
    "averaged": ("averaging", "averaged"),
}
"""The JavaScript of each rule for missing values, beside `numbers` and `model`; the report page runs most of it too."""


def write_python(program: Program) -> str:
    """`predict_proba(row)` and `predict(row)`, the model as a constant before them."""
    runtime = _source("runtime.py").split("\n", 2)[2]
    classes = ", ".join(map(repr, program.labels))
    model = _python_literal(to_document(program))
    header = _header(program, "#")
    return f"{header}\n{runtime.lstrip()}\n\nCLASSES = ({classes},)\nMODEL = {model}\n{PYTHON_FOOTER}"


def write_javascript(program: Program) -> str:
    """`classes`, `predictProba(row)` and `predict(row)`."""
    refuse_values(program, "JavaScript")
    document = to_document(program)
    # Cells and their codes in pairs: keys of an object would be text.
    for column in document["columns"]:
        pairs = column["codes"].items()
        column["codes"] = [[int(key) if isinstance(key, bool) else key, code] for key, code in pairs]
    lines = "".join(f"  {key}: {_lines(value)},\n" for key, value in document.items())
    classes = _literal([_label(label) for label in program.labels])
    scripts = [_source(f"js/{name}.js") for name in ("numbers", *SCRIPTS[program.missing_rule], "model")]
    constants = [f"export const classes = {classes};", f"const MODEL = {{\n{lines}}};", ""]
    return "\n".join([_header(program, "//"), *constants, *scripts])


def _header(program: Program, comment: str) -> str:
    return "".join(f"{comment} {line}".rstrip() + "\n" for line in describe(program))


def _source(name: str) -> str:
    return (files("tanager.export") / name).read_text("utf-8")


def _python_literal(document: Document) -> str:
    """A Python literal with a line for each column and each term."""
    parts = []
    for key, value in document.items():
        if key in ("columns", "terms"):
            lines = "".join(f"        {each!r},\n" for each in value)
            parts.append(f"    {key!r}: [\n{lines}    ],\n")
        else:
            parts.append(f"    {key!r}: {value!r},\n")
    return "{\n" + "".join(parts) + "}"


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
