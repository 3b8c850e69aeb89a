"""A program as one Python file that needs the standard library alone."""

from __future__ import annotations

from importlib.resources import files

from tanager.export.document import Document, to_document
from tanager.export.header import describe
from tanager.export.program import Program

FOOTER = '''

def predict_proba(row):
    """P(class | row) in the order of CLASSES, of a row as a dictionary of cells by column; None or nan is missing."""
    return probabilities(MODEL, row)


def predict(row):
    """The class decided for; None where a person is to be asked, and where the model refuses the row."""
    shares = predict_proba(row)
    decided = None if any(map(isnan, shares)) else decide(MODEL["decision"], shares)
    return None if decided is None else CLASSES[decided]
'''


def write_python(program: Program) -> str:
    """`predict_proba(row)` and `predict(row)`, the model as a constant before them."""
    runtime = (files("tanager.export") / "runtime.py").read_text("utf-8").split("\n", 2)[2]
    header = "\n".join(f"# {line}".rstrip() for line in describe(program))
    classes = ", ".join(map(repr, program.labels))
    return (
        f"{header}\n\n{runtime.lstrip()}\n\nCLASSES = ({classes},)\nMODEL = {_literal(to_document(program))}\n{FOOTER}"
    )


def _literal(document: Document) -> str:
    """A Python literal with a line for each column and each term."""
    parts = []
    for key, value in document.items():
        if key in ("columns", "terms"):
            lines = "".join(f"        {each!r},\n" for each in value)
            parts.append(f"    {key!r}: [\n{lines}    ],\n")
        else:
            parts.append(f"    {key!r}: {value!r},\n")
    return "{\n" + "".join(parts) + "}"
