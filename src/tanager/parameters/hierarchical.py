"""Hierarchical: frequencies smoothed towards those with one parent less, by leaving one row out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import log_softmax

from tanager.arrays import Array
from tanager.counts.family import CountTable, Family
from tanager.errors import OptionError
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.scores.margins import xlogx
from tanager.table.rows import EncodedBatch

MOST_PSEUDO_ROWS = 2.0**14
LEASTS = tuple(2.0 ** np.arange(-1, 10))
"""The fewest pseudo-rows of a level that leave-one-out chooses from."""
ERRORS_ALLOWED = 2.0
PART_ROWS = 8_192


@dataclass(frozen=True)
class HierarchicalTrace(ParameterTrace):
    """What was chosen by leaving one row out.

    least           the fewest pseudo-rows of a level
    left_out        by `least`: the mean of -log P(c_t | x_t), row t left out of the tables; empty where it was given
    parents         of each node, the first to be conditioned on first
    concentrations  of each node, the pseudo-rows of each level
    """

    least: float
    left_out: dict[float, float]
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

    least  the fewest pseudo-rows of a level. Few describe a column best, but may make the tables too certain of the
           class. "auto" judges those of `LEASTS` by the mean of -log P(c_t | x_t), row t left out, and takes the
           largest that is not clearly worse than the best, by `ERRORS_ALLOWED` standard errors of their difference
    """

    needs = "passes"
    fits = ("tables", "mixtures", "trees")
    describes_attributes = True

    def __init__(self, least: float | Literal["auto"] = "auto") -> None:
        self.least = least

    def learn(self, task: ParameterTask) -> LearntNetwork:
        is_number = isinstance(self.least, int | float) and 0 < self.least <= MOST_PSEUDO_ROWS
        if self.least != "auto" and not is_number:
            raise OptionError(
                f"least={self.least!r} of Hierarchical must be 'auto', or above 0 and at most {MOST_PSEUDO_ROWS:g}."
            )
        families, n_states, names = task.dag.families, task.counts.n_states, task.counts.names
        levels = [
            FamilyLevels.of(family, counted, n_states)
            for family, counted in zip(families, task.counts.tables(families), strict=True)
        ]
        left_out: dict[float, float] = {}
        if self.least == "auto":
            least, left_out = choose_least(task, levels)
        else:
            least = float(self.least)
        tables, trace = [], HierarchicalTrace(least, left_out, {}, {})
        for each in levels:
            chosen = choose_concentrations(each.levels, [least])[least]
            tables.append(each.table(chosen).reshape(each.family.shape(n_states)))
            if chosen:
                child = names[each.family.child]
                trace.parents[child] = [names[each.family.parents[axis]] for axis in each.order]
                trace.concentrations[child] = chosen
        return LearntNetwork(task.network(tables), trace)


@dataclass(frozen=True, eq=False)
class FamilyLevels:
    """A family's counts given the first 0, 1, ... of its parents, and the order of these; no levels for a class alone.

    counts  (states of the parents ..., states of the child)
    levels  each with an axis of length 1 for each parent that it does not have
    target  the number of the class
    """

    family: Family
    target: int
    counts: Array
    order: list[int]
    levels: list[Array]

    @classmethod
    def of(cls, family: Family, counted: CountTable, n_states: Sequence[int]) -> FamilyLevels:
        target = len(n_states) - 1
        counts = np.asarray(counted, dtype=np.float64).reshape([n_states[node] for node in family.nodes])
        if family.nodes == (target,):
            return cls(family, target, counts, [], [])
        order = parent_order(family, counts, target)
        return cls(family, target, counts, order, [_margin(counts, order[:depth]) for depth in range(len(order) + 1)])

    def table(self, concentrations: Sequence[float]) -> Array:
        if not self.levels:
            return self.counts / self.counts.sum()
        return back_off(self.levels, concentrations, [(0.0, 0.0)] * len(self.levels))

    def left_out(self, concentrations: Sequence[float]) -> tuple[Array, Array]:
        """Tables that judge a row by the others: of its own class, and of the other classes.

        A row is in the counts of another class where these do not look at the class, and in the totals of a class's
        own table.
        """
        if not self.levels or self.target not in self.family.nodes:  # the second kind cancels in P(class | attributes)
            table = self.table(concentrations)
            return table, table
        own = [(1.0, 1.0)] * len(self.levels)
        # The class is the first parent: the level above has the rows of all classes.
        others = [(0.0, 1.0)] * len(self.levels) if self.family.child == self.target else [(1.0, 1.0)]
        others += [(0.0, 0.0)] * (len(self.levels) - len(others))
        return back_off(self.levels, concentrations, own), back_off(self.levels, concentrations, others)


def choose_least(task: ParameterTask, levels: Sequence[FamilyLevels]) -> tuple[float, dict[float, float]]:
    """The largest of `LEASTS` that is not clearly worse than the best, and by each the mean loss of rows left out.

    A row is left out of the counts, but neither of the structure nor of the choice of concentrations.
    """
    cells = ClassCells.of(task.dag, task.counts.n_states)
    logs = []
    chosen = [choose_concentrations(each.levels, LEASTS) for each in levels]
    for least in LEASTS:
        tables = [each.left_out(by_least[least]) for each, by_least in zip(levels, chosen, strict=True)]
        with np.errstate(divide="ignore"):  # a class without rows
            own, others = (cells.pack([np.log(pair[part]) for pair in tables]) for part in (0, 1))
            logs.append((own, others))
    first, second = task.counts.rows.sum(partial(_judge_block, cells=cells, logs=logs), "judged")
    total = max(first[-1], np.finfo(np.float64).tiny)
    means = first[:-1] / total
    best = int(np.argmin(means))
    for place in range(len(LEASTS) - 1, best, -1):
        # The weighted squares of (difference - its mean), summed over rows.
        contrast = np.zeros(len(first))
        contrast[[place, best, -1]] = 1.0, -1.0, means[best] - means[place]
        standard_error = np.sqrt(np.maximum(contrast @ second @ contrast, 0.0)) / total
        if means[place] - means[best] <= ERRORS_ALLOWED * standard_error:
            best = place
            break
    return LEASTS[best], dict(zip(LEASTS, means.tolist(), strict=True))


def _judge_block(block: EncodedBatch, cells: ClassCells, logs: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Of the losses of the rows by each pair of tables, and of ones: sums of w loss, and of w^2 loss loss'."""
    first, second = np.zeros(len(logs) + 1), np.zeros((len(logs) + 1, len(logs) + 1))
    for start in range(0, block.n_rows, PART_ROWS):
        part = block.take(slice(start, start + PART_ROWS))
        places, observed = cells.places(part)
        places[~observed] = 0
        rows, classes = np.arange(part.n_rows), part.class_codes
        losses = np.ones((len(logs) + 1, part.n_rows))
        for candidate, (own, others) in enumerate(logs):
            scores = np.where(observed[:, :, np.newaxis], others[places], 0.0).sum(axis=1)
            scores[rows, classes] = np.where(observed, own[places, classes[:, np.newaxis]], 0.0).sum(axis=1)
            losses[candidate] = -log_softmax(scores, axis=1)[rows, classes]
        weighted = losses * part.row_weights
        first += weighted.sum(axis=1)
        second += weighted @ weighted.T
    return first, second


def parent_order(family: Family, cells: CountTable, target: int) -> list[int]:
    """Axes of the parents: the class first, then by the log likelihood of the child given the class and the parent."""
    above = [axis for axis, parent in enumerate(family.parents) if parent == target]

    def log_likelihood(axis: int) -> float:
        table = _margin(cells, [*above, axis])
        return float(xlogx(table).sum() - xlogx(table.sum(axis=-1)).sum())

    others = [axis for axis in range(len(family.parents)) if axis not in above]
    return [*above, *sorted(others, key=lambda axis: -log_likelihood(axis))]


def back_off(
    levels: Sequence[Array],
    concentrations: Sequence[float],
    taken: Sequence[tuple[float, float]],
    top: Array | None = None,
) -> Array:
    """P(child | parents), shaped as the last level, from the top: equal shares by default.

    `taken` are the rows that are taken out of the cell, and out of its total, of each level: leaving a row out.
    """
    # An attribute may have no state.
    p = np.full(levels[0].shape, 1.0 / max(1, levels[0].shape[-1])) if top is None else top
    for counted, m, (from_cell, from_total) in zip(levels, concentrations, taken, strict=False):
        rows = counted.sum(axis=-1, keepdims=True)
        p = (np.maximum(counted - from_cell, 0.0) + m * p) / (np.maximum(rows - from_total, 0.0) + m)
    return p


def choose_concentrations(levels: Sequence[Array], leasts: Sequence[float]) -> dict[float, list[float]]:
    """By `least`, from the top down, each with the highest leave-one-out log likelihood of the levels so far.

    Of the lowest `least` times 1, 2, 4, ... those from `least` on are tried; ties go to more. Levels above that are the
    same for several of them are computed once.
    """
    powers = np.arange(np.floor(np.log2(MOST_PSEUDO_ROWS / min(leasts))) + 1)
    choices = (min(leasts) * 2.0**powers).tolist()
    chosen: dict[float, list[float]] = {least: [] for least in leasts}
    above: dict[tuple[float, ...], Array | None] = {(): None}
    for counted in levels:
        tried = {prefix: [back_off([counted], [m], [(1.0, 1.0)], p) for m in choices] for prefix, p in above.items()}
        values = {prefix: [float((counted * np.log(p)).sum()) for p in each] for prefix, each in tried.items()}
        above = {}
        for least, concentrations in chosen.items():
            prefix = tuple(concentrations)
            allowed = [place for place, m in enumerate(choices) if m >= least]
            best = max(allowed, key=lambda place: (values[prefix][place], place))
            concentrations.append(choices[best])
            above[tuple(concentrations)] = tried[prefix][best]
    return chosen


def _margin(cells: CountTable, kept: Sequence[int]) -> Array:
    summed = tuple(axis for axis in range(cells.ndim - 1) if axis not in kept)
    return np.asarray(cells.sum(axis=summed, keepdims=True), dtype=np.float64)
