"""Costs of mistakes, as they are given -> a table with a row for each true class and a column for each decided one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import OptionError
from tanager.registry import list_names, nearest_first
from tanager.table.schema import Category

Costs = ArrayLike | Mapping[Any, float] | None
CostTable = tuple[tuple[float, ...], ...]
"""costs[c][k] is what it costs to decide class k where class c is true."""


def read_costs(costs: Costs, classes: Sequence[Category]) -> CostTable:
    """The costs of mistakes, in the order of the classes.

    None means that every mistake costs 1. A mapping gives the cost of some, {("ill", "healthy"): 10} where one who is
    ill is taken for healthy; the others cost 1. What is right costs nothing unless the matrix or the mapping says so.
    """
    table = 1.0 - np.eye(len(classes))
    if isinstance(costs, Mapping):
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise OptionError(f"costs are given for {pair!r}; expected a pair (true class, decided class).")
            true, decided = (class_code(label, classes, "costs") for label in pair)
            table[true, decided] = _cost(cost, f"to decide {pair[1]!r} where {pair[0]!r} is true")
    elif costs is not None:
        table = np.asarray(costs, dtype=object)
        if table.shape != (len(classes), len(classes)):
            raise OptionError(
                f"costs have the shape {table.shape}; expected {(len(classes), len(classes))}: a row for each true "
                f"class, a column for each decided one."
            )
        table = np.array([[_cost(cost, "costs") for cost in row] for row in table.tolist()])
    return tuple(map(tuple, table.tolist()))


def read_price(ask: object) -> float | None:
    """The price of asking a person, or None."""
    return None if ask is None else _cost(ask, "ask")


def class_code(label: object, classes: Sequence[Category], where: str) -> int:
    """The place of a class among the classes."""
    known: list[object] = list(classes)
    if label not in known:
        names = list_names(nearest_first(str(label), map(str, known)))
        raise OptionError(f"{where}: there is no class {label!r}; the classes, nearest first, are {names}.")
    return known.index(label)


def _cost(cost: object, what: str) -> float:
    if not isinstance(cost, Real) or not isfinite(cost) or cost < 0:
        raise OptionError(f"{what}: the cost is {cost!r}; expected a number from zero up.")
    return float(cost)
