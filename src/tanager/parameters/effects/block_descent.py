"""The compiled descent: proximal Newton steps, each found by block coordinate descent on the quadratic model.

Outer step: probabilities of all rows, and the quadratic model of the loss there. Inner sweeps: each block in turn moves
to the minimum of a bound of the model plus its penalty (`move_block`); rows see only multiplications. Then the step is
halved until the objective does not rise. Blocks that are zero are looked at only when the others have settled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.parameters.effects.block_kernels import (
    CELLS_AT,
    EFFECTS_AT,
    HAS_GAPS,
    Array,
    Cells,
    Shape,
    fill_table,
    move_block,
    probabilities,
    sum_slopes,
)

# The inner sweeps end when one gains less than this share of what all have gained, or after so many.
SWEEP_SHARE = 0.15
MAX_SWEEPS = 25
SHORTEST = 1e-9
# Of the goal: a sweep that gains less is the last of a step, and a step that is to gain less is the last.
SWEEP_GOAL = 0.1
LEFT_SHARE = 0.5
# A block's bound of its Hessian is widened until it holds along the step, with so much room, but for rounding.
ROOM = 1.05
ROUNDING = 1e-9


class Model(NamedTuple):
    """The blocks (`Blocks`), and the rows: cells (n_blocks, n_rows), classes, weights; free (n_odds,) intercepts."""

    shapes: Shape
    bases: Array
    shares: Array
    cells: Cells
    classes: NDArray[np.int64]
    weights: Array
    free: Array


class Penalty(NamedTuple):
    """blocks that take part, the intercept last; the others are zero. Of each block squared / 2 |u|^2 + norm |u|."""

    blocks: Shape
    squared: Array
    norm: Array


class Work(NamedTuple):
    """The quadratic model at probabilities p, all (n_odds, n_rows), and what belongs to blocks.

    p, slopes, bounds, moved  probabilities; slopes of the model; bounds of its curvature; the scores' step so far
    cell_bounds               (n_odds, n_cells) sums of `bounds` in the cells of blocks that are `known`
    curvature                 (n_odds, n_effects) from these
    widths                    (n_blocks,) by how much each bound of a block's Hessian had to be widened
    table, step_table         (n_odds, cells of the largest block)
    slope, step, u, wide      (n_odds * effects of the largest block)
    """

    p: Array
    slopes: Array
    bounds: Array
    moved: Array
    cell_bounds: Array
    curvature: Array
    known: NDArray[np.bool_]
    widths: Array
    table: Array
    step_table: Array
    slope: Array
    step: Array
    u: Array
    wide: Array


@kernel
def penalty_of(shapes: Shape, penalty: Penalty, u: Array) -> float:
    total = 0.0
    for b in penalty.blocks:
        size = 0.0
        for c in range(len(u)):
            for e in range(shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]):
                size += u[c, e] * u[c, e]
        total += 0.5 * penalty.squared[b] * size + penalty.norm[b] * math.sqrt(size)
    return total


@kernel
def set_model(model: Model, work: Work) -> None:
    """Slopes and bounds of the curvature by the scores, at the probabilities."""
    n_odds, n_rows = work.p.shape
    for c in range(n_odds):
        for i in range(n_rows):
            p, weight = work.p[c, i], model.weights[i]
            spread = p * (1.0 - p)
            work.slopes[c, i] = weight * (p - (1.0 if model.classes[i] == c else 0.0))
            # The Hessian of a row, diag(p) - p p', is at most diag(min(p, 2 p (1 - p))).
            work.bounds[c, i] = weight * (spread if n_odds == 1 else min(p, 2.0 * spread))
    work.known[:] = False
    work.moved[:] = 0.0


@kernel
def sum_rows(model: Model, b: int, values: Array, squared: bool, table: Array, slopes: Array) -> None:
    """slopes (n_odds * effects,) of a block from values (n_odds, n_rows); `table` (n_odds, cells) keeps their sums."""
    shape, cells = model.shapes[b], model.cells[b]
    k = model.shapes[b + 1, EFFECTS_AT] - shape[EFFECTS_AT]
    for c in range(len(values)):
        own, line = table[c], values[c]
        own[:] = 0.0
        for i in range(len(line)):
            own[cells[i]] += line[i]
        used_up = own.copy() if squared else own
        sum_slopes(
            shape, model.bases, model.shares, used_up, shape[HAS_GAPS] == 1, squared, slopes[c * k : (c + 1) * k]
        )


@kernel
def move_rows(table: Array, cells: Cells, model: Model, work: Work) -> float:
    """Add a block's step to the scores and to the model's slopes of them; the model's curvature along it."""
    n_odds, n_rows = work.p.shape
    p, total = work.p, 0.0
    mean = np.zeros(n_rows)  # stays zero for two classes, whose p (1 - p) is the whole Hessian
    if n_odds > 1:
        for c in range(n_odds):
            for i in range(n_rows):
                mean[i] += p[c, i] * table[c, cells[i]]
    for c in range(n_odds):
        steps = table[c]
        for i in range(n_rows):
            step = steps[cells[i]]
            spread = p[c, i] * (1.0 - p[c, i]) if n_odds == 1 else p[c, i]
            slope = model.weights[i] * spread * (step - mean[i])
            work.moved[c, i] += step
            work.slopes[c, i] += slope
            total += slope * step
    return total


@kernel
def find_step(model: Model, penalty: Penalty, work: Work, b: int, size: int, n_cells: int) -> bool:
    """Fill `work.step` and `work.step_table` of a block, its bound widened until it holds; False for no step."""
    shape, first = model.shapes[b], model.shapes[b, EFFECTS_AT]
    n_odds, k = len(work.p), size // len(work.p)
    bounds = work.cell_bounds[:, shape[CELLS_AT] : shape[CELLS_AT] + n_cells]
    step = work.step[:size]
    while True:
        for c in range(n_odds):
            for e in range(k):
                work.wide[c * k + e] = work.widths[b] * work.curvature[c, first + e]
        move_block(work.u[:size], work.slope[:size], work.wide[:size], penalty.squared[b], penalty.norm[b], step)
        if b == len(model.shapes) - 2:
            step *= model.free
        bent = bounded = 0.0
        for c in range(n_odds):
            table = work.step_table[c, :n_cells]
            fill_table(shape, model.bases, model.shares, step[c * k : (c + 1) * k], shape[HAS_GAPS] == 1, table)
            for i in range(n_cells):
                bent += bounds[c, i] * table[i] * table[i]
        for e in range(size):
            bounded += work.wide[e] * step[e] * step[e]
        if bent <= bounded * (1.0 + ROUNDING):
            return bool(np.any(step != 0.0))
        work.widths[b] *= ROOM * bent / bounded


@kernel
def visit_block(model: Model, penalty: Penalty, work: Work, u: Array, b: int, zeros_too: bool) -> float:
    """Move one block; what the model gains. A block of zeros that a norm keeps at zero is left alone."""
    shapes, n_odds = model.shapes, len(u)
    first, k = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT] - shapes[b, EFFECTS_AT]
    n_cells, size = shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], n_odds * k
    before = 0.0
    for c in range(n_odds):
        for e in range(k):
            work.u[c * k + e] = u[c, first + e]
            before += u[c, first + e] ** 2
    squared, norm = penalty.squared[b], penalty.norm[b]
    may_stay = norm > 0.0 and before == 0.0
    if may_stay and not zeros_too:
        return 0.0
    sum_rows(model, b, work.slopes, False, work.table[:, :n_cells], work.slope[:size])
    if may_stay and (work.slope[:size] ** 2).sum() <= norm * norm:
        return 0.0
    if not work.known[b]:
        work.known[b] = True
        bounds = work.cell_bounds[:, shapes[b, CELLS_AT] : shapes[b, CELLS_AT] + n_cells]
        sum_rows(model, b, work.bounds, True, bounds, work.step[:size])
        for c in range(n_odds):
            work.curvature[c, first : first + k] = work.step[c * k : (c + 1) * k]
    if not find_step(model, penalty, work, b, size, n_cells):
        return 0.0
    along = after = 0.0
    for c in range(n_odds):
        for e in range(k):
            at = c * k + e
            along += work.slope[at] * work.step[at]
            u[c, first + e] = work.u[at] + work.step[at]
            after += u[c, first + e] ** 2
    bent = move_rows(work.step_table[:, :n_cells], model.cells[b], model, work)
    return -(along + 0.5 * bent + 0.5 * squared * (after - before) + norm * (math.sqrt(after) - math.sqrt(before)))


@kernel
def make_work(model: Model, penalty: Penalty, widths: Array, n_odds: int, n_rows: int) -> Work:
    shapes, k, n_cells = model.shapes, 0, 0
    for b in penalty.blocks:
        k = max(k, shapes[b + 1, EFFECTS_AT] - shapes[b, EFFECTS_AT])
        n_cells = max(n_cells, shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT])
    last, by_row = shapes[len(shapes) - 1], (n_odds, n_rows)
    return Work(
        np.empty(by_row),
        np.empty(by_row),
        np.empty(by_row),
        np.empty(by_row),
        np.empty((n_odds, last[CELLS_AT])),
        np.empty((n_odds, last[EFFECTS_AT])),
        np.empty(len(shapes), np.bool_),
        widths,
        np.empty((n_odds, n_cells)),
        np.empty((n_odds, n_cells)),
        np.empty(n_odds * k),
        np.empty(n_odds * k),
        np.empty(n_odds * k),
        np.empty(n_odds * k),
    )


@kernel
def value_at(
    model: Model, penalty: Penalty, work: Work, scores: Array, before: Array, step: Array, share: float
) -> float:
    """The objective after a share of the step."""
    loss = probabilities(scores + share * work.moved, model.classes, model.weights, work.p)
    return loss + penalty_of(model.shapes, penalty, before + share * step)


@kernel
def search_line(
    model: Model, penalty: Penalty, work: Work, before: Array, u: Array, scores: Array, value: float, stretch: bool
) -> tuple[float, bool]:
    """Halve the step of u and scores until the objective does not rise; its value, and whether it was found.

    With `stretch` a whole step is doubled as long as that is better: blocks that repeat each other take short steps.
    """
    step, share = u - before, 1.0
    new = value_at(model, penalty, work, scores, before, step, share)
    while new > value and share > SHORTEST:
        share *= 0.5
        new = value_at(model, penalty, work, scores, before, step, share)
    if new > value:
        u[:] = before
        return value, False
    while stretch and share >= 1.0:
        longer = value_at(model, penalty, work, scores, before, step, 2.0 * share)
        if longer >= new:
            break
        share, new = 2.0 * share, longer
    scores += share * work.moved
    if share != 1.0:
        u[:] = before + share * step
    if stretch:  # the last try was another point
        probabilities(scores, model.classes, model.weights, work.p)
    return new, True


@kernel
def descend(
    model: Model,
    penalty: Penalty,
    widths: Array,
    u: Array,
    scores: Array,
    tolerance: float,
    max_iter: int,
    values: Array,
    gains: Array,
) -> tuple[int, int, bool]:
    """Descend from effects u (n_odds, n_effects) and their scores (n_odds, n_rows), both changed in place.

    values  (max_iter + 1,) receives the objective at the start and after each step
    gains   (max_iter + 1,) receives what each step is to gain by its model
    Returns the number of steps, of sweeps over the rows, and whether what is left to gain is below the tolerance.
    """
    work = make_work(model, penalty, widths, len(scores), scores.shape[1])
    value = probabilities(scores, model.classes, model.weights, work.p) + penalty_of(model.shapes, penalty, u)
    values[0] = value
    n_sweeps, any_norm, zeros_too = 1, penalty.norm.max() > 0.0, True
    for iteration in range(max_iter):
        before = u.copy()
        goal = tolerance * (value + model.weights.sum() / 100.0)
        set_model(model, work)
        gained = 0.0
        for sweep in range(MAX_SWEEPS):
            gain = 0.0
            for b in penalty.blocks:
                gain += visit_block(model, penalty, work, u, b, zeros_too and sweep == 0)
            n_sweeps += 1
            gained += gain
            if gain <= max(SWEEP_SHARE * gained, SWEEP_GOAL * goal):
                break
        gains[iteration : iteration + 2] = gained
        settled = gained <= LEFT_SHARE * goal
        value, found = search_line(model, penalty, work, before, u, scores, value, not settled)
        values[iteration + 1] = value
        if not found or (settled and zeros_too):
            return iteration + 1, n_sweeps, True
        zeros_too = settled or not any_norm
    return max_iter, n_sweeps, False
