"""Folds of the training rows: what is fitted on the others, and the loss of the rows held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.losses import POWERS, losses_and_slopes
from tanager.parameters.conditional.objectives import indicators
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.protocol import ParameterTask
from tanager.table.batch import EncodedBatch
from tanager.table.deal import split_rows


class HeldOut:
    """Rows that a fit has not seen, judged by the objective that it makes small (`conditional.objectives`)."""

    def __init__(
        self, cells: ClassCells, batch: EncodedBatch, normalized: bool, objective: str = "cll", alpha: float = 0.0
    ) -> None:
        self.cells = cells
        self._normalized = normalized
        self._power = POWERS[objective]
        self._alpha = alpha
        self._indicators: sparse.csr_array = indicators(cells, batch)
        self._classes = batch.class_codes.astype(np.intp)
        self.weights = batch.row_weights

    def losses(self, beta: Array) -> Array:
        """What every row adds to the objective, (n_rows,), less what is the same for every beta."""
        logs = self.cells.log_normalize(beta) if self._normalized else beta
        scores = np.ascontiguousarray((self._indicators @ logs).T)
        own = scores[self._classes, np.arange(len(self._classes))]
        log_p = own - logsumexp(scores, axis=0)
        losses: Array = (1.0 - self._alpha) * losses_and_slopes(log_p, self._power)[0] - self._alpha * own
        return losses


@dataclass
class Fold:
    """A problem on part of the rows, the effects reached so far, and the rows held out."""

    problem: Penalized
    u: Array
    held_out: HeldOut


def split_folds(task: ParameterTask, most_rows: int, seed: int) -> Iterator[tuple[ParameterTask, EncodedBatch]]:
    """(what to fit on, rows held out) of each fold of `table.deal.split_rows`.

    Cut points that have seen the class, and the structure, are learnt again from the rows to fit on.
    """
    values = task.values
    for kept, held_out in split_rows(task.counts.rows if values is None else values.rows, most_rows, seed):
        if values is not None:
            kept, held_out = values.cut(kept, held_out)
        counts = CountStore(kept, choose_engine("auto"), task.counts.names)
        yield ParameterTask(task.dag if task.relearn is None else task.relearn(counts), counts), held_out
