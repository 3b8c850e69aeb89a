"""Names of parts: the string a user writes, and the object it stands for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from tanager.errors import OptionError

Part = TypeVar("Part")


def check_option(option: str, value: object, valid: Iterable[str]) -> str:
    """Return `value` if it is one of the valid names; otherwise raise `unknown_option`."""
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    raise unknown_option(option, value, names)


def unknown_option(option: str, value: object, valid: Iterable[str]) -> OptionError:
    """The error that says which names are valid, nearest first."""
    names = ", ".join(map(repr, nearest_first(str(value), valid)))
    return OptionError(f"{option}={value!r} is not known; expected one of {names}.")


def nearest_first(text: str, names: Iterable[str]) -> list[str]:
    """Names by likeness to `text`; equally unlike ones keep their order."""
    wanted = text.casefold()
    return sorted(names, key=lambda name: -difflib.SequenceMatcher(None, wanted, name.casefold()).ratio())


def list_names(names: Sequence[str], most: int = 10) -> str:
    """The first names, quoted, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def resolve(option: str, value: object, registry: Mapping[str, Callable[[], Part]], method: str) -> Part:
    """The part a user asked for: a registered name stands for the part with its defaults, an object for itself.

    `method` is what such a part must be able to do; an object without it is refused by name.
    """
    if isinstance(value, str):
        return registry[check_option(option, value, registry)]()
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise OptionError(
            f"{option}={value!r} is neither a known name nor an object with a method {method!r}.",
            hint=f"use one of {', '.join(map(repr, registry))}, or an object of that kind (not its class).",
        )
    return cast(Part, value)
