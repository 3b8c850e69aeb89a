"""Roles: which columns of a table that comes in batches are no attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.errors import DataError
from tanager.registry import nearest_first
from tanager.table.batch import Weights
from tanager.table.columns import Column, NumericColumn, kind_of
from tanager.table.training_table import check_least


@dataclass(frozen=True)
class Roles:
    """The names of the class column, and of that with the rows' weights if they have any."""

    target: str
    weight: str | None = None

    def attributes(self, names: tuple[str, ...]) -> list[str]:
        """The other columns of a table, which has both of these and at least one other."""
        for name, what in ((self.target, "to predict"), (self.weight, "with the rows' weights")):
            if name is not None and name not in names:
                nearest = ", ".join(map(repr, nearest_first(name, names)[:10]))
                raise DataError(f"the table has no column {name!r} {what}; its columns, nearest first, are {nearest}.")
        others = [name for name in names if name not in (self.target, self.weight)]
        if not others:
            raise DataError(f"the table has no column besides the class {self.target!r}.")
        return others


def check_roles(y: object, sample_weight: object) -> Roles:
    """What `fit` was given for them are names of columns."""
    given = (("y", y, "class column"), ("sample_weight", sample_weight, "column with the rows' weights"))
    for option, value, what in given:
        if not isinstance(value, str) and (option == "y" or value is not None):
            raise DataError(
                f"{option} is a {type(value).__name__}; expected the name of the {what}, as the table comes batch by "
                "batch."
            )
    if y == sample_weight:
        raise DataError(f"the column {y!r} cannot be both the class and the rows' weights.")
    return Roles(str(y), sample_weight if isinstance(sample_weight, str) else None)


def read_weights(column: Column) -> Weights:
    """The weight of every row: a number, not below zero."""
    if not isinstance(column, NumericColumn) or column.unit != "number":
        raise DataError(f"the column of weights {column.name!r} holds {kind_of(column)}; expected numbers.")
    weights = column.values.astype(np.float64)
    wrong = ~(weights >= 0)  # or missing
    if wrong.any():
        held = weights[wrong][0]
        raise DataError(
            f"the column of weights {column.name!r} {'misses a cell' if np.isnan(held) else f'holds {held:g}'}; "
            "expected numbers from zero up.",
            hint="a row of weight 0 is left out.",
        )
    check_least(weights)
    return weights
