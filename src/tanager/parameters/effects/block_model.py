"""The quadratic model of the loss, and the move of one block to the minimum of a bound of it plus the penalty."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel, kernel_part
from tanager.parameters.effects.block_kernels import (
    CELLS_AT,
    CENTRED,
    EFFECTS_AT,
    HAS_GAPS,
    Array,
    Cells,
    Shape,
    fill_table,
    sum_slopes,
)

# A block's bound of its Hessian is widened until it holds along the step, with so much room, but for rounding.
ROOM = 1.05
ROUNDING = 1e-9
# Rows that are told apart for certain have none.
SMALLEST_CURVATURE = 1e-10
SECULAR_STEPS = 60
SECULAR_PRECISION = 1e-13


class Model(NamedTuple):
    """The blocks (`Blocks`, and the squares of the bases), and the rows: cells (n_blocks, n_rows), classes, weights.

    free (n_odds,) is one for an intercept that may move, and zero for one that may not.
    """

    shapes: Shape
    bases: Array
    squares: Array
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


@kernel_part
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
            work.moved[c, i] = 0.0
    for b in range(len(work.known)):
        work.known[b] = False


@kernel
def sum_rows(model: Model, b: int, values: Array, squared: bool, table: Array, slopes: Array) -> None:
    """slopes (n_odds * effects,) of a block from values (n_odds, n_rows); `table` (n_odds, cells) keeps their sums.

    With `squared` by the squares of the bases: an upper bound of the diagonal of the Hessian.
    """
    shape, cells = model.shapes[b], model.cells[b]
    k = model.shapes[b + 1, EFFECTS_AT] - shape[EFFECTS_AT]
    for c in range(len(values)):
        own, line = table[c], values[c]
        for i in range(len(own)):
            own[i] = 0.0
        for i in range(len(line)):
            own[cells[i]] += line[i]
        used_up = own
        if squared:
            used_up = np.empty_like(own)
            for i in range(len(own)):
                used_up[i] = own[i]
        bases = model.squares if squared else model.bases
        centred, gaps = shape[CENTRED] == 1 and not squared, shape[HAS_GAPS] == 1
        sum_slopes(shape, bases, model.shares, used_up, gaps, centred, slopes[c * k : (c + 1) * k])


@kernel
def sum_all_rows(model: Model, values: Array, slopes: Array) -> None:
    """slopes (n_odds, n_effects) of all blocks from values (n_odds, n_rows)."""
    for b in range(len(model.shapes) - 1):
        first, k = model.shapes[b, EFFECTS_AT], model.shapes[b + 1, EFFECTS_AT] - model.shapes[b, EFFECTS_AT]
        table = np.empty((len(values), model.shapes[b + 1, CELLS_AT] - model.shapes[b, CELLS_AT]))
        own = np.empty(len(values) * k)
        sum_rows(model, b, values, False, table, own)
        for c in range(len(values)):
            for e in range(k):
                slopes[c, first + e] = own[c * k + e]


@kernel_part
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


@kernel_part
def move_block(u: Array, slope: Array, curvature: Array, squared: float, norm: float, step: Array) -> None:
    """The step d that makes slope d + curvature d^2 / 2 + squared / 2 |u + d|^2 + norm |u + d| least.

    With z = curvature u - slope the end is z / (curvature + squared + norm / r), r its own length, and zero where z is
    no longer than `norm`. r solves the secular equation sum (z / ((curvature + squared) r + norm))^2 = 1.
    """
    length = 0.0
    for e in range(len(u)):
        step[e] = curvature[e] * u[e] - slope[e]
        length += step[e] * step[e]
    length = math.sqrt(length)
    r = math.inf
    if length <= norm:
        r = 0.0
    elif norm > 0.0:
        # Newton's method on a function that falls and is convex in r: from the left it never oversteps.
        r = 0.0
        for _ in range(SECULAR_STEPS):
            value = slope_of_value = 0.0
            for e in range(len(u)):
                bottom = (curvature[e] + squared) * r + norm
                ratio = step[e] / bottom
                value += ratio * ratio
                slope_of_value -= 2.0 * ratio * ratio * (curvature[e] + squared) / bottom
            # On 1 / sqrt(value), which is nearly a straight line, the steps are far longer.
            root = math.sqrt(value)
            move = (root - 1.0) * 2.0 * value / -slope_of_value
            r += move
            if move <= SECULAR_PRECISION * r:
                break
    if r <= 0.0:  # or so little longer than the norm that it is rounding
        for e in range(len(u)):
            step[e] = -u[e]
        return
    pull = norm / r
    for e in range(len(u)):
        step[e] = step[e] / (curvature[e] + squared + pull) - u[e]


@kernel_part
def find_step(model: Model, penalty: Penalty, work: Work, b: int, size: int, n_cells: int) -> bool:
    """Fill `work.step` and `work.step_table` of a block, its bound widened until it holds; False for no step."""
    shape, first = model.shapes[b], model.shapes[b, EFFECTS_AT]
    n_odds, k = len(work.p), size // len(work.p)
    bounds = work.cell_bounds[:, shape[CELLS_AT] : shape[CELLS_AT] + n_cells]
    step = work.step[:size]
    while True:
        for c in range(n_odds):
            for e in range(k):
                work.wide[c * k + e] = max(SMALLEST_CURVATURE, work.widths[b] * work.curvature[c, first + e])
        move_block(work.u[:size], work.slope[:size], work.wide[:size], penalty.squared[b], penalty.norm[b], step)
        if b == len(model.shapes) - 2:
            for c in range(n_odds):
                step[c] *= model.free[c]
        bent = bounded = 0.0
        for c in range(n_odds):
            table = work.step_table[c, :n_cells]
            fill_table(shape, model.bases, model.shares, step[c * k : (c + 1) * k], shape[HAS_GAPS] == 1, table)
            for i in range(n_cells):
                bent += bounds[c, i] * table[i] * table[i]
        moves = False
        for e in range(size):
            bounded += work.wide[e] * step[e] * step[e]
            moves = moves or step[e] != 0.0
        if bent <= bounded * (1.0 + ROUNDING):
            return moves
        work.widths[b] *= ROOM * bent / bounded


@kernel_part
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
    steepness = 0.0
    for e in range(size):
        steepness += work.slope[e] * work.slope[e]
    if may_stay and steepness <= norm * norm:
        return 0.0
    if not work.known[b]:
        work.known[b] = True
        bounds = work.cell_bounds[:, shapes[b, CELLS_AT] : shapes[b, CELLS_AT] + n_cells]
        sum_rows(model, b, work.bounds, True, bounds, work.step[:size])
        for c in range(n_odds):
            for e in range(k):
                work.curvature[c, first + e] = work.step[c * k + e]
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


@kernel_part
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
