"""Reach: the states an attribute can be changed to, how far each is, and the nearest value in it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AnyModel
from tanager.arrays import Array
from tanager.table.schema import Category as State
from tanager.table.schema import ColumnSchema

Places = NDArray[np.intp]
Category = State | datetime.timedelta


@dataclass(frozen=True)
class Reach:
    """Changes of one attribute.

    column  what it holds
    shares  (states,) of the training rows in each state
    """

    column: ColumnSchema
    shares: Array

    def moves(self, code: int) -> Places:
        """The states other than this one; a gap is nothing to change a cell to."""
        states = np.arange(self.column.n_states - self.column.gap_state)
        return states[states != code]

    def sizes(self, code: int, states: Places) -> Array:
        """How large the change from a state to others is."""
        if not self.column.has_order or code >= self.column.n_states - self.column.gap_state:
            return 1.0 - self.shares[states]
        middles = np.cumsum(self.shares) - self.shares / 2
        return np.abs(middles[states] - middles[code])

    def value(self, code: int, state: int) -> Category:
        """The value in a state that is nearest to another state: the first of a bin above, the last of one below."""
        column = self.column
        if column.kind != "numeric":
            return column.states[state]
        if state > code:
            return _in_unit(column.cuts[state - 1], column)
        cut = column.cuts[state]
        whole = column.unit != "number"  # microseconds
        return _in_unit(np.ceil(cut) - 1 if whole else float(np.nextafter(cut, -np.inf)), column)


def reach_of(network: AnyModel, attribute: int) -> Reach:
    """The changes of an attribute; only an additive model knows the shares of its training rows."""
    column = network.columns[attribute]
    if network.kind == "effects":
        return Reach(column, network.densities[attribute])
    return Reach(column, np.full(column.n_states, 1.0 / column.n_states))


def _in_unit(value: float, column: ColumnSchema) -> Category:
    if column.unit == "number":
        return float(value)
    microseconds = datetime.timedelta(microseconds=int(np.ceil(value)))
    return microseconds if column.unit == "duration" else datetime.datetime(1970, 1, 1) + microseconds
