"""What a language has no place for is refused by name: a NUL, three attributes together, a probability of zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tanager.errors import OptionError
from tanager.export.program import Program

ANY_TABLE = "python, js, c, sql and onnx"
"""The languages that take tables of any order and any probability."""


def refuse_nul(program: Program, language: str) -> None:
    """Refuse a model with a NUL in a name or a category, which the language takes for the end of a text."""
    for what, text in _texts(program):
        if "\0" in text:
            raise OptionError(
                f"{what} holds a NUL character, {text!r}, which {language} has no place for.",
                hint="python and js can hold it; or fit the model without that character.",
            )


def refuse_order(program: Program, what: str) -> None:
    """Refuse a model that looks at three attributes or more together."""
    if program.forest is not None or any(len(term.attributes) > 2 for term in program.terms):
        raise OptionError(
            f"{what} has tables of one or two attributes; the model looks at more of them together.",
            hint=f"{ANY_TABLE} can say it; AdditiveClassifier(trees=False) learns a model without trees, "
            "TANClassifier one of pairs.",
        )


def refuse_zeros(program: Program, what: str) -> None:
    """Refuse a probability of zero, whose logarithm is no number."""
    if not all(np.isfinite(array).all() for array in (program.intercept, *(term.table for term in program.terms))):
        raise OptionError(
            f"the model has a probability of zero, which {what} cannot say.",
            hint=f"{ANY_TABLE} can say it; or smooth its tables.",
        )


def _texts(program: Program) -> Iterator[tuple[str, str]]:
    for column in (*program.asked, program.target):
        yield "the name of a column", column.name
        for category in column.categories:
            if isinstance(category, str):
                yield f"a category of {column.name!r}", category
