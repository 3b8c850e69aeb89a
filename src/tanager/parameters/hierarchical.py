"""Hierarchical: frequencies smoothed towards those with one parent less, by leaving one row out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import CountTable, Family
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.scores.margins import xlogx
from tanager.scores.protocol import check_between

MOST_PSEUDO_ROWS = 2.0**14


@dataclass(frozen=True)
class HierarchicalTrace(ParameterTrace):
    """Of each node its parents, the first to be conditioned on first, and the pseudo-rows of each level."""

    parents: dict[str, list[str]]
    concentrations: dict[str, list[float]]


class Hierarchical(ParameterLearner):
    """P(x | p_1 .. p_d) = (N + m_d P(x | p_1 .. p_{d-1})) / (N_p + m_d), down to 1 / r; m_d by leaving one row out.

    N are rows with this state and these parents' states, N_p those with these parents' states. Every level has its own
    concentration m_d, the pseudo-rows that are spread as the level above has it. From the top down each is the one of
    least, 2 least, 4 least, ... with the highest sum over the rows of log P(x_t | parents_t), row t left out of all
    levels. The class is the first parent, then attributes in decreasing order of what they tell of x beside the class.

    This is the hierarchical Dirichlet smoothing of Petitjean et al. (2018) with one concentration per level, found by
    leaving one out in place of sampling. A class without parents keeps its plain frequencies.

    least  the fewest pseudo-rows of a level. Fewer than 32 describe a column better, and classify worse: tables become
           too sure. 32 is settled on one half of the benchmark sets and confirmed on the other (docs/comparison.md)
    """

    needs = "families"
    fits = ("tables", "mixtures", "trees")
    describes_attributes = True

    def __init__(self, least: float = 32.0) -> None:
        self.least = least

    def learn(self, task: ParameterTask) -> LearntNetwork:
        families, n_states, names = task.dag.families, task.counts.n_states, task.counts.names
        check_between("Hierarchical", "least", self.least, 0, MOST_PSEUDO_ROWS)
        choices = self.least * 2.0 ** np.arange(np.floor(np.log2(MOST_PSEUDO_ROWS / self.least)) + 1)
        tables, parents, concentrations = [], {}, {}
        for family, counted in zip(families, task.counts.tables(families), strict=True):
            cells = np.asarray(counted, dtype=np.float64).reshape([n_states[node] for node in family.nodes])
            if family.nodes == (len(n_states) - 1,):
                tables.append(cells.reshape(1, -1) / cells.sum())
                continue
            order = parent_order(family, cells, len(n_states) - 1)
            levels = make_levels(cells, order)
            learnt = choose_concentrations(levels, choices.tolist())
            tables.append(back_off(levels, learnt).reshape(family.shape(n_states)))
            parents[names[family.child]] = [names[family.parents[axis]] for axis in order]
            concentrations[names[family.child]] = learnt
        return LearntNetwork(task.network(tables), HierarchicalTrace(parents, concentrations))


def parent_order(family: Family, cells: CountTable, target: int) -> list[int]:
    """Axes of the parents: the class first, then by the log likelihood of the child given the class and the parent."""
    above = [axis for axis, parent in enumerate(family.parents) if parent == target]

    def log_likelihood(axis: int) -> float:
        table = _margin(cells, [*above, axis])
        return float(xlogx(table).sum() - xlogx(table.sum(axis=-1)).sum())

    others = [axis for axis in range(len(family.parents)) if axis not in above]
    return [*above, *sorted(others, key=lambda axis: -log_likelihood(axis))]


def make_levels(cells: CountTable, order: Sequence[int]) -> list[Array]:
    """Counts of the child given the first 0, 1, ... of the parents, with an axis of length 1 for each other parent."""
    return [_margin(cells, order[:depth]) for depth in range(len(order) + 1)]


def back_off(levels: Sequence[Array], concentrations: Sequence[float], without: float = 0.0) -> Array:
    """P(child | parents), shaped as the last level.

    With `without` rows taken out of its own cell, at every level, what each cell then has: leaving one row out.
    """
    p: Array = np.full(levels[0].shape, 1.0 / max(1, levels[0].shape[-1]))  # an attribute may have no state
    for counted, m in zip(levels, concentrations, strict=False):
        rows = counted.sum(axis=-1, keepdims=True)
        p = (np.maximum(counted - without, 0.0) + m * p) / (np.maximum(rows - without, 0.0) + m)
    return p


def choose_concentrations(levels: Sequence[Array], choices: Sequence[float]) -> list[float]:
    """From the top down, each with the highest leave-one-out log likelihood of the levels so far; ties go to more."""
    chosen: list[float] = []
    for depth, counted in enumerate(levels, start=1):
        left_out = (back_off(levels[:depth], [*chosen, m], without=1.0) for m in choices)
        values = [float((counted * np.log(p)).sum()) for p in left_out]
        best = max(range(len(values)), key=lambda place: (values[place], place))
        chosen.append(choices[best])
    return chosen


def _margin(cells: CountTable, kept: Sequence[int]) -> Array:
    summed = tuple(axis for axis in range(cells.ndim - 1) if axis not in kept)
    return np.asarray(cells.sum(axis=summed, keepdims=True), dtype=np.float64)
