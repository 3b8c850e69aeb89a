"""The section on parameters of a preset: what its structure and the classifier say of them, written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=type)

PARAMETERS = "Parameters\n----------\n"
# A name and its type, then the lines that are indented.
ENTRY = re.compile(r"^(\w+) : .*\n(?:(?:    .*)?\n)*", re.MULTILINE)
SECTION = re.compile(r"^\w+\n-+\n", re.MULTILINE)


def described_by(structure: type, classifier: type) -> Callable[[T], T]:
    """Put the parameters of a preset into its docstring, before its next section, as two classes describe them."""

    def describe(preset: T) -> T:
        if preset.__doc__ is None:  # python -OO
            return preset
        known = described(classifier) | described(structure)
        entries = [known[name].rstrip() for name in inspect.signature(preset).parameters]
        text = inspect.cleandoc(preset.__doc__)
        next_section = SECTION.search(text)
        place = len(text) if next_section is None else next_section.start()
        preset.__doc__ = text[:place] + PARAMETERS + "\n".join(entries) + "\n\n" + text[place:] + "\n"
        return preset

    return describe


def described(of: type) -> dict[str, str]:
    """What a docstring says of each parameter, its name and type first."""
    text = inspect.getdoc(of) or ""
    if PARAMETERS not in text:
        return {}
    rest = text.partition(PARAMETERS)[2] + "\n"
    end = SECTION.search(rest)
    return {match[1]: match[0] for match in ENTRY.finditer(rest if end is None else rest[: end.start()])}
