"""Reader: how the rows of a partition are read, on a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError, TanagerError
from tanager.table.read_columns import check_unique, read_named
from tanager.table.training_table import TrainingTable, read_rows


@dataclass(frozen=True)
class Reader:
    """How a partition is read: the attributes' names, and the columns of classes and weights if the frame has them."""

    names: tuple[str, ...]
    column: str | None
    weight: str | None = None

    def read(
        self, frame: Any, labels: Any, number: int, classes: NDArray[np.generic] | None = None
    ) -> tuple[TrainingTable | None, int]:
        """The rows with a class, None if there is none, and how many have no class."""
        try:
            return self._read(frame, labels, classes)
        except TanagerError as error:
            raise type(error)(f"partition {number}: {error}") from error

    def _read(self, frame: Any, labels: Any, classes: NDArray[np.generic] | None) -> tuple[TrainingTable | None, int]:
        self._check(frame)
        labels = labels if self.column is None else frame[self.column]
        if len(labels) != len(frame):
            raise DataError(f"X has {len(frame)} rows and y has {len(labels)}.")
        weights = None
        if self.weight is not None:  # rows of weight zero may be all there are
            used = frame[self.weight].to_numpy() != 0
            frame, labels = frame[used], labels[used]
            weights = frame[self.weight]
        if labels.isna().all():  # or no row at all
            return None, len(labels)
        rows = read_rows(read_named(frame, self.names), labels, weights, classes, unlabelled=True)
        return rows, 0 if rows.unlabelled is None else rows.unlabelled.table.n_rows

    def _check(self, frame: Any) -> None:
        for name, what in ((self.column, "class"), (self.weight, "weight")):
            if name is not None and name not in frame.columns:
                raise DataError(f"there is no {what} column {name!r}.")
        own = [str(name) for name in frame.columns if name not in (self.column, self.weight)]
        check_unique(own)
        wrong = sorted(set(own).symmetric_difference(self.names))
        if wrong:
            what = "there is another column" if wrong[0] in own else "there is no column"
            raise DataError(f"{what} {wrong[0]!r}, unlike in the data frame.")
