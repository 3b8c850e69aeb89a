"""Priors of a discriminative fit: where it starts, in which variables, and what pulls it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.arrays import Array
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.hierarchical import hierarchical_effects
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask


@dataclass(frozen=True)
class Prior:
    """beta = start + F_1 @ F_2 @ ... @ u; the penalty is 1/2 sum strength[level] u^2 less `log_entries` sum log theta.

    start        (n_cells, n_classes): where u = 0 is
    factors      whose product (n_cells, n_effects) takes effects to cells; none for one effect a cell
    levels       (n_effects, n_classes): which strength is an effect's; FREE has none, FIXED stays at zero
    log_entries  weight of the logs of all entries after normalising over the child's states (Roos 2005, 5.5)
    """

    start: Array
    factors: tuple[sparse.csr_array, ...]
    levels: NDArray[np.int64]
    log_entries: float = 0.0

    @property
    def n_levels(self) -> int:
        """How many strengths there are to choose."""
        return int(self.levels.max()) + 1

    def with_intercept(self) -> Prior:
        """The same with the class's intercept penalised as main effects are."""
        return replace(self, levels=np.where(self.levels == FREE, 0, self.levels))

    def precision(self, strengths: Sequence[float]) -> Array:
        """(n_effects, n_classes); levels without a strength of their own have the last one, infinity if none."""
        last = strengths[-1] if strengths else np.inf
        higher = [last] * (self.n_levels - len(strengths))
        return np.array([*strengths, *higher, np.inf, 0.0])[self.levels]


# As positions from the end of the list of strengths.
FREE, FIXED = -1, -2


def no_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """Nothing pulls; the fit starts at the smoothed frequencies."""
    start = generative_start(task, cells)
    return Prior(start, (), np.full(start.shape, FREE))


def uniform_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """The density is the product of all entries of the tables, as of one more row in each (Roos 2005, 5.5)."""
    start = generative_start(task, cells)
    return Prior(start, (), np.full(start.shape, FREE), log_entries=1.0)


def generative_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """L2 towards the logs of the smoothed frequency tables."""
    start = generative_start(task, cells)
    return Prior(start, (), np.zeros(start.shape, dtype=np.int64))


def hierarchical_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """L2 towards zero for each level of effects (`hierarchical_effects`), from the class frequencies."""
    effects, levels = hierarchical_effects(cells)
    by_class = np.broadcast_to(levels[:, np.newaxis], (len(levels), cells.n_classes)).copy()
    rows = np.asarray(task.counts.flat((len(cells.n_states) - 1,)), dtype=np.float64)
    # A class without rows has no finite intercept: it stays at half a row.
    by_class[np.ix_(levels == FREE, rows == 0)] = FIXED
    start = np.zeros((cells.n_cells, cells.n_classes))
    start[cells.first_class_cell :] = np.log(np.maximum(rows, 0.5) / rows.sum())
    return Prior(start, (effects,), by_class)


def generative_start(task: ParameterTask, cells: ClassCells) -> Array:
    """Logs of the smoothed frequencies, the class included."""
    tables = list(Frequency().tables(task))
    own = cells.families[-1]
    counted = task.counts.table(own).reshape(own.shape(cells.n_states))
    tables[own.child] = (counted + 1.0) / (counted + 1.0).sum(axis=1, keepdims=True)
    return cells.pack([np.log(table) for table in tables])


PRIORS = {
    "none": no_prior,
    "uniform": uniform_prior,
    "generative": generative_prior,
    "hierarchical": hierarchical_prior,
}
