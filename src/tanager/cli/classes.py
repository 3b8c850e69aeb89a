"""Classes and their numbers as a command line writes them: ill=10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from tanager.errors import OptionError
from tanager.registry import check_option

if TYPE_CHECKING:
    from tanager.table.schema import Category


def find_class(option: str, text: str, classes: Sequence[Category]) -> Category:
    """The class that is written so."""
    written: dict[str, Category] = {str(label): label for label in classes}
    return written[check_option(option, text, written)]


def read_class_number(option: str, text: str) -> tuple[str, float]:
    """A class, as it is written, and its number."""
    name, equals, number = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, float(number)
    except ValueError:
        raise OptionError(f"{option} {text!r} is not valid; expected CLASS=NUMBER, such as ill=10.") from None


def read_class_weights(texts: Sequence[str], classes: Sequence[Category] | None) -> dict[Category, float] | str:
    """`class_weight` of a classifier; whole numbers are taken for such where the classes are not known yet."""
    if list(texts) == ["balanced"]:
        return "balanced"
    weights: dict[Category, float] = {}
    for text in texts:
        name, weight = read_class_number("--class-weight", text)
        if classes is not None:
            label = find_class("--class-weight", name, classes)
        else:
            label = cast("Category", int(name) if name.lstrip("-").isdigit() else name)
        weights[label] = weight
    return weights
