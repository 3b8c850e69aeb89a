"""Reader: how the rows of a partition are read, on a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError, TanagerError
from tanager.table.class_weights import Weighting, class_factors, times_factors
from tanager.table.read_columns import check_unique, read_named
from tanager.table.training_table import TrainingTable, UnlabelledRows, read_rows, read_sample_weight


@dataclass(frozen=True)
class Reader:
    """How a partition is read: the attributes' names, the columns of classes and weights if the frame has them.

    class_weight  what the weight of a row is multiplied by, by its class
    """

    names: tuple[str, ...]
    column: str | None
    weight: str | None = None
    class_weight: Weighting | None = None

    def read(
        self, frame: Any, labels: Any, number: int, classes: NDArray[np.generic] | None = None
    ) -> tuple[TrainingTable | None, UnlabelledRows | None]:
        """The rows of a partition that have a class, and those that have none; None where there are none."""
        with naming(number):
            self._check(frame)
            labels = labels if self.column is None else frame[self.column]
            if len(labels) != len(frame):
                raise DataError(f"X has {len(frame)} rows and y has {len(labels)}.")
            weights = None
            if self.weight is not None:  # rows of weight zero may be all there are
                used = frame[self.weight].to_numpy() != 0
                frame, labels = frame[used], labels[used]
                weights = frame[self.weight]
            if not len(frame):
                return None, None
            table = read_named(frame, self.names)
            if labels.isna().all():
                if weights is not None:
                    weights = read_sample_weight(weights, labels)
                return None, UnlabelledRows(table, weights)
            rows = read_rows(table, labels, weights, classes, unlabelled=True)
            if self.class_weight is not None:
                factors = class_factors(self.class_weight, rows.classes)
                rows = replace(rows, weights=times_factors(rows.weights, factors, rows.class_codes))
            return rows, rows.unlabelled

    def _check(self, frame: Any) -> None:
        for name, what in ((self.column, "class"), (self.weight, "weight")):
            if name is not None and name not in frame.columns:
                raise DataError(f"there is no {what} column {name!r}.")
        attributes = [str(name) for name in frame.columns if name not in (self.column, self.weight)]
        check_unique(attributes)
        wrong = sorted(set(attributes).symmetric_difference(self.names))
        if wrong:
            what = "there is another column" if wrong[0] in attributes else "there is no column"
            raise DataError(f"{what} {wrong[0]!r}, unlike in the data frame.")


@contextmanager
def naming(number: int) -> Iterator[None]:
    """An error in a partition begins with its number."""
    try:
        yield
    except TanagerError as error:
        raise type(error)(f"partition {number}: {error}") from error
