"""TableFacts: the columns and the class of a table, as the findings need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding


@dataclass(frozen=True)
class TableFacts:
    """The attributes of a table, and the class, if there is one.

    leading_zeros  columns of digits, some of which begin with a zero in the file
    """

    attributes: tuple[ColumnFacts, ...]
    target: ColumnFacts | None
    n_rows: int
    leading_zeros: Sequence[str] = ()

    @property
    def columns(self) -> tuple[ColumnFacts, ...]:
        """The attributes, then the class."""
        return self.attributes if self.target is None else (*self.attributes, self.target)

    @cached_property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows have a class."""
        return np.zeros(self.n_rows, dtype=bool) if self.target is None else self.target.codes >= 0


FindInTable = Callable[[TableFacts], list[Finding]]
FindInColumn = Callable[[ColumnFacts, TableFacts], Finding | None]
