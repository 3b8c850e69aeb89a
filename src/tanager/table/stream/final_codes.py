"""Codes given to cells before the schema is known, and the final codes they stand for once it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.table.categories import encode_column, look_up
from tanager.table.columns import NumericColumn
from tanager.table.schema import ColumnSchema

RawCells = NDArray[Any]
"""Provisional codes, the largest number of their dtype for a missing cell; or numbers as they are."""


@dataclass(frozen=True)
class FinalCodes:
    """The final code of every provisional code of a column.

    codes     by provisional code; the last is that of an empty cell
    complete  no cell is empty
    """

    schema: ColumnSchema
    codes: Codes
    complete: bool

    @property
    def incomplete(self) -> bool:
        """Whether a cell is missing: empty, or a category that the schema does not have."""
        occurring = self.codes[:-1] if self.complete else self.codes
        return bool((occurring == self.schema.missing_code).any())

    @cached_property
    def is_unchanged(self) -> bool:
        """Whether provisional codes are the final ones."""
        return self.complete and np.array_equal(self.codes[:-1], np.arange(len(self.codes) - 1))

    @cached_property
    def _of_bytes(self) -> Codes:
        table = self.codes[np.minimum(np.arange(256), len(self.codes) - 1)]
        table[-1] = self.codes[-1]  # there may be more values than bytes by now, but 255 said missing
        return table

    def write(self, cells: RawCells, out: Codes) -> None:
        """The final codes of some rows."""
        if cells.dtype.kind == "f":
            out[:] = encode_column(NumericColumn(self.schema.name, cells), self.schema)
        elif cells.dtype == np.uint8:
            look_up(self._of_bytes, cells, 0, out)
        else:
            position = cells.astype(np.intp)
            position[cells == np.iinfo(cells.dtype).max] = len(self.codes) - 1
            np.take(self.codes, position, out=out, mode="clip")
