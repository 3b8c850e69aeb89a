"""A program as lists and names, which scripts read; the header of every export, and what languages refuse.

    {"columns": [{"name": "age", "states": 3, "missing": 3, "unseen": 3, "coarse": null, "text": false,
                  "holds": "numbers", "cuts": null or [...], "codes": {cell: state}}],
     "intercept": [...], "missing": "looked up",
     "terms": [{"attributes": [0, 2], "steps": [6, 2], "child": null, "table": [...]}],
     "forest": null or {...}, "imputation": null or {...},
     "decision": null or {"losses": [[...]], "price": null, "positive": null, "threshold": 0}}

A table is flat; the numbers of the classes begin at the sum of codes times steps. A state of -1 refuses the row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tanager.additive.forest import Forest
from tanager.errors import OptionError
from tanager.export.program import Cells, Program
from tanager.version import __version__

Document = dict[str, Any]


def to_document(program: Program) -> Document:
    """Everything that the probabilities depend on, and nothing about rows; arrays are flat lists."""
    imputation = program.imputation
    return {
        "columns": list(map(_column, program.cells)),
        "intercept": program.intercept.tolist(),
        "missing": program.missing_rule,
        "terms": [
            {"attributes": list(term.attributes), "steps": term.steps, "child": term.child, "table": flat(term.table)}
            for term in program.terms
        ],
        "forest": None if program.forest is None else _forest(program.forest),
        "imputation": None if imputation is None else {key: flat(value) for key, value in imputation.items()},
        "decision": None if program.rule is None else asdict(program.rule),
    }


def flat(value: object) -> object:
    return value.ravel().tolist() if isinstance(value, np.ndarray) else value


def _column(cells: Cells) -> Document:
    column = cells.column
    return {
        "name": column.name,
        "states": column.n_states,
        "missing": cells.missing,
        "unseen": cells.unseen,
        "coarse": column.coarse_codes.tolist() if column.groups else None,
        "text": cells.is_text,
        "holds": cells.holds,
        "cuts": list(column.cuts) if column.kind == "numeric" else None,
        "codes": cells.codes,
    }


def _forest(forest: Forest) -> Document:
    return {
        "roots": forest.roots.tolist(),
        "classes": forest.of_class.tolist(),
        "attributes": forest.attributes.tolist(),
        "ends": forest.ends.ravel().tolist(),
        "offsets": forest.offsets.tolist(),
        "left": forest.left.astype(int).tolist(),
        "values": forest.values.tolist(),
    }


MARK = "Written by Tanager"
MISSING_RULES = {
    "looked up": "An unknown cell has a number of its own, as in Python.",
    "summed out": "An unknown cell is summed out, as in Python.",
    "averaged": "A row with an unknown cell is averaged over what it may hold, as in Python.",
    "refused": "A row with an unknown cell, which Python averages over or sums out, has no probabilities.",
}


def describe(program: Program) -> list[str]:
    """Lines without line breaks in ASCII, each for a comment of its own."""
    refused = program.unseen_refused and program.missing_rule != "refused"
    stated = [column.name for column in program.columns if column.missing_state]
    lines = [
        f"{MARK} {__version__}: P({ascii_text(program.target.name)} | row),",
        "equal to predict_proba wherever there are probabilities.",
        "It holds what the model learnt, and no training row.",
        f"A missing cell is a state of its own in {_list(stated)}; elsewhere it is an unknown cell.",
        f"An unseen category {'refuses the row' if refused else 'is an unknown cell'}.",
        MISSING_RULES[program.missing_rule],
        "Infinity refuses the row.",
        "Dates and times are numbers of microseconds since 1970, durations of microseconds, in languages without them;",
        "times with a zone are so in UTC.",
    ]
    changed = [column.name for column in program.columns if column.name in program.missing_cells]
    if changed:
        lines += [
            f"The model was fitted to a preprocessed table. Cells of {_list(changed)} are read as its preprocessing",
            "leaves them, and cells that it takes as missing are missing; any other text refuses the row.",
            "`tanager check --recipe` with `--fixed` writes the preprocessed table.",
        ]
    if program.decision is not None:
        lines += [f"The class given is decided: {ascii_text(str(program.decision))}."]
    return [*lines, "Columns:", *(f"  {ascii_text(cells.column.name)}: {cells.holds}" for cells in program.cells)]


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(ascii_text, names)) or "no column"


def ascii_text(text: str) -> str:
    """Text in quotes with everything but plain ASCII as its code, safe in a comment of any language."""
    return json.dumps(text).replace("*/", "*\\u002f").replace("?", "\\u003f").replace("--", "-\\u002d")


LARGEST_WHOLE = 2**53
"""From here on a double stands for several whole numbers."""


def refuse_values(program: Program, language: str, *, nul: bool = False, labels: int = LARGEST_WHOLE) -> None:
    """Refuse categories that are whole numbers no double tells apart, labels from a number on, and perhaps NUL."""
    for column in (*program.columns, program.target):
        largest = labels if column is program.target else LARGEST_WHOLE
        for value in (column.name, *column.categories):
            if isinstance(value, int) and not -largest < value < largest:
                raise OptionError(
                    f"column {column.name!r} holds the whole number {value}, which {language} cannot tell from others.",
                    hint="python can; or fit the model to that column as text.",
                )
            if nul and isinstance(value, str) and "\0" in value:
                raise OptionError(
                    f"a name or a category of {column.name!r} holds a NUL character, {value!r}, which {language} has "
                    "no place for.",
                    hint="python and js can hold it; or fit the model without that character.",
                )


def refuse_tables(program: Program, what: str) -> None:
    """Refuse a model that looks at three attributes together, or has a probability of zero, where sheets have none."""
    able = "python, js, c, sql and onnx can express it"
    if program.forest is not None or any(len(term.attributes) > 2 for term in program.terms):
        raise OptionError(
            f"{what} has tables of one or two attributes; the model looks at more of them together.",
            hint=f"{able}; AdditiveClassifier(trees=False) learns a model without trees, TANClassifier one of pairs.",
        )
    if not all(np.isfinite(array).all() for array in (program.intercept, *(term.table for term in program.terms))):
        raise OptionError(
            f"the model has a probability of zero, which {what} cannot express.", hint=f"{able}; or smooth its tables."
        )
