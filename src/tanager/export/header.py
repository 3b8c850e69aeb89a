"""What an export says of itself in its first lines, whatever the language."""

from __future__ import annotations

import json

from tanager.export.document import holds
from tanager.export.program import Program
from tanager.version import __version__

MARK = "Written by Tanager"
GAPS = {
    "looked up": "A missing cell has a number of its own, as in Python.",
    "summed out": "A missing cell is summed out, as in Python.",
    "averaged": "A row with a missing cell is averaged over what it may hold, as in Python.",
    "refused": "A row with a missing cell, or an unseen category, is refused: it has no probabilities.",
}


def describe(program: Program) -> list[str]:
    """Lines without line breaks in ASCII, each for a comment of its own."""
    unseen = (
        "An unseen category refuses the row." if program.unseen_refused else "An unseen category is a missing cell."
    )
    lines = [
        f"{MARK} {__version__}: P({ascii_text(program.target.name)} | row), equal to predict_proba.",
        "It holds what the model learnt, and no training row.",
        GAPS[program.gaps],
    ]
    lines += [] if program.gaps == "refused" else [unseen]
    lines += [
        "Dates and times are numbers of microseconds since 1970, durations of microseconds, where they are numbers."
    ]
    if program.decision is not None:
        lines += [f"The class given is decided: {ascii_text(str(program.decision))}."]
    lines += ["Columns:"]
    return lines + [f"  {ascii_text(column.name)}: {holds(column)}" for column in program.asked]


def ascii_text(text: str) -> str:
    """Text in quotes with everything but plain ASCII as its code, safe in a comment of any language."""
    return json.dumps(text).replace("*/", "*\\u002f").replace("?", "\\u003f").replace("--", "-\\u002d")
