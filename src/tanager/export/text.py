"""Names and texts that a language can hold: what it has no place for is refused by name."""

from __future__ import annotations

from collections.abc import Iterator

from tanager.errors import OptionError
from tanager.export.program import Program


def refuse_nul(program: Program, language: str) -> None:
    """Refuse a model with a NUL in a name or a category, which the language takes for the end of a text."""
    for what, text in _texts(program):
        if "\0" in text:
            raise OptionError(
                f"{what} holds a NUL character, {text!r}, which {language} has no place for.",
                hint="python and js can hold it; or fit the model without that character.",
            )


def _texts(program: Program) -> Iterator[tuple[str, str]]:
    for column in (*program.asked, program.target):
        yield "the name of a column", column.name
        for category in column.categories:
            if isinstance(category, str):
                yield f"a category of {column.name!r}", category
