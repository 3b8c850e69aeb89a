"""Checks of the scores' numeric options."""

from __future__ import annotations

from math import inf
from numbers import Real

from tanager.errors import OptionError


def check_between(score: str, option: str, value: object, low: float, high: float = inf) -> None:
    """Refuse anything but a number in the open interval (low, high)."""
    if not isinstance(value, bool) and isinstance(value, Real) and low < float(value) < high:
        return
    expected = f"a number above {low:g}" if high == inf else f"a number between {low:g} and {high:g}, both excluded"
    raise OptionError(f"{score}: {option}={value!r} cannot be used; expected {expected}.")
