"""Conjugate gradients on the quadratic model: all blocks that are not zero move together.

Blocks that move in turn take hundreds of sweeps where attributes repeat each other. Away from zero a norm is smooth, so
the effects of such blocks have a Newton step. Its equations are solved by conjugate gradients, each of which costs what
a sweep does.
"""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel, kernel_part, summing_kernel
from tanager.parameters.effects.block_descent import make_model, search, set_sum
from tanager.parameters.effects.block_kernels import (
    CELLS_AT,
    EFFECTS_AT,
    HAS_GAPS,
    Array,
    Cells,
    Shape,
    fill_table,
)
from tanager.parameters.effects.block_model import (
    BOUNDS,
    NORM,
    SLOPES,
    SMALLEST_CURVATURE,
    SQUARED,
    P,
    bound_curvature,
    penalty_at,
    sum_block,
    sum_of_squares,
)
from tanager.parameters.effects.row_kernels import move_rows, probabilities, sum_cells

MAX_STEPS = 20  # of conjugate gradients
# Of the squared slope at the start, as the preconditioner measures it: what may be left.
LEFT = 1e-1
# A step is short that is no longer than this share of the block.
SHORT = 0.25


@kernel
def move_together(
    shapes: Shape,
    bases: Array,
    squares: Array,
    squared_means: Array,
    shares: Array,
    cells: Cells,
    classes: Shape,
    weights: Array,
    free: Array,
    n_odds: int,
    blocks: Shape,
    penalty: Array,
    settling: Array,
    u: Array,
    scores: Array,
) -> tuple[float, float]:
    """A step of the blocks that are not zero, in u and scores; the gain it promised, and the objective after it.

    The norm of a block has the Hessian (1 - u u' / |u|^2) / |u|, and 1 / |u| is an upper bound that holds for any step.

    settling   (n_blocks,) one for a block whose last step was short: its penalty has the Hessian, else the bound
    """
    data, rows, before = (n_odds, classes, weights), np.empty((4, *scores.shape)), u.copy()
    value = probabilities(scores, *data, rows[P]) + penalty_at(shapes, penalty, u, 0.0, u)
    make_model(classes, weights, rows)
    residual, scale, step, pulls = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u), np.zeros(len(penalty))
    moving, n_moving = np.empty_like(blocks), 0
    for b in blocks:
        size = math.sqrt(sum_of_squares(u[shapes[b, EFFECTS_AT] : shapes[b + 1, EFFECTS_AT]]))
        if penalty[b, NORM] > 0.0 and size == 0.0:
            continue
        moving[n_moving], n_moving = b, n_moving + 1
        pulls[b] = penalty[b, NORM] / size if penalty[b, NORM] > 0.0 else 0.0
        held = penalty[b, SQUARED] + pulls[b]
        start_block(shapes, b, bases, squares, squared_means, shares, cells, rows, held, u, residual, scale)
    for c in range(len(free)):
        scale[-1, c] *= free[c]
    moved, bent = np.zeros(scores.shape), np.zeros(scores.shape)
    state = penalty, pulls, settling, rows, u, residual, scale, step, moved, bent
    solve(shapes, bases, shares, cells, weights, moving[:n_moving], *state)
    for b in moving[:n_moving]:
        first, last = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
        short = sum_of_squares(step[first:last]) <= SHORT**2 * sum_of_squares(u[first:last])
        settling[b] = 1.0 if short else 0.0
    gain = promised_gain(shapes, penalty, rows, u, step, moved, bent)
    best, value, _ = search(shapes, penalty, *data, scores, moved, before, step, value, False, bent, rows[P])
    set_sum(scores, best, moved, scores)
    set_sum(before, best, step, u)
    return gain, value


@kernel
def start_block(
    shapes: Shape,
    b: int,
    bases: Array,
    squares: Array,
    squared_means: Array,
    shares: Array,
    cells: Cells,
    rows: Array,
    held: float,
    u: Array,
    residual: Array,
    scale: Array,
) -> None:
    """Minus the slopes of a block, and the preconditioner, one over the bound of its curvature and its penalty."""
    first, last = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
    sums = np.empty((shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], u.shape[1]))
    room = np.empty_like(sums)
    sum_block(shapes[b], bases, shares, cells[b], rows[SLOPES], sums, residual[first:last])
    sum_cells(cells[b], rows[BOUNDS], sums)
    bound_curvature(shapes[b], squares, squared_means[first:last], shares, sums, room, scale[first:last])
    for e in range(first, last):
        for c in range(u.shape[1]):
            residual[e, c] = -residual[e, c] - held * u[e, c]
            scale[e, c] = 1.0 / (max(SMALLEST_CURVATURE, scale[e, c]) + held)


@kernel
def solve(
    shapes: Shape,
    bases: Array,
    shares: Array,
    cells: Cells,
    weights: Array,
    blocks: Shape,
    penalty: Array,
    pulls: Array,
    settling: Array,
    rows: Array,
    u: Array,
    residual: Array,
    scale: Array,
    step: Array,
    moved: Array,
    bent: Array,
) -> None:
    """step (n_effects, width) with Hessian times step = residual, and what it adds to scores and slopes of the rows."""
    direction, image = np.zeros_like(u), np.zeros_like(u)
    by_row, bent_row = np.empty_like(moved), np.empty_like(moved)
    start = length = scaled_square(residual, scale)
    advance(residual, scale, 0.0, direction)
    for _ in range(MAX_STEPS):
        if length <= LEFT * start:
            return
        by_row[:], bent_row[:] = 0.0, 0.0
        for b in blocks:
            table = np.empty((shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], u.shape[1]))
            own = direction[shapes[b, EFFECTS_AT] : shapes[b + 1, EFFECTS_AT]]
            fill_table(shapes[b], bases, shares, own, shapes[b, HAS_GAPS] == 1, table)
            move_rows(table, cells[b], weights, rows[P], rows[BOUNDS], by_row, bent_row)
        for b in blocks:
            sums = np.empty((shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], u.shape[1]))
            first, last = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
            sum_block(shapes[b], bases, shares, cells[b], bent_row, sums, image[first:last])
            across = settling[b] * pulls[b]
            add_penalty(penalty[b, SQUARED] + pulls[b], across, u[first:last], direction[first:last], image[first:last])
        curve = inner(direction, image)
        if curve <= 0.0:  # rows that are all certain, and an intercept that nothing holds
            return
        share = length / curve
        set_sum(step, share, direction, step)
        set_sum(residual, -share, image, residual)
        set_sum(moved, share, by_row, moved)
        set_sum(bent, share, bent_row, bent)
        before, length = length, scaled_square(residual, scale)
        advance(residual, scale, length / before, direction)


@summing_kernel
def inner(one: Array, other: Array) -> float:
    total = 0.0
    for i in range(len(one)):
        for c in range(one.shape[1]):
            total += one[i, c] * other[i, c]
    return total


@summing_kernel
def scaled_square(residual: Array, scale: Array) -> float:
    total = 0.0
    for i in range(len(residual)):
        for c in range(residual.shape[1]):
            total += scale[i, c] * residual[i, c] * residual[i, c]
    return total


@kernel_part
def advance(residual: Array, scale: Array, share: float, direction: Array) -> None:
    """direction = scale residual + share direction."""
    for i in range(len(residual)):
        for c in range(residual.shape[1]):
            direction[i, c] = scale[i, c] * residual[i, c] + share * direction[i, c]


@kernel_part
def add_penalty(held: float, across: float, u: Array, direction: Array, image: Array) -> None:
    """Add the Hessian of a block's penalty times the direction: held d - across u (u d) / |u|^2."""
    along = 0.0
    if across > 0.0:
        along = across * inner(u, direction) / sum_of_squares(u)
    for e in range(len(u)):
        for c in range(u.shape[1]):
            image[e, c] += held * direction[e, c] - along * u[e, c]


@kernel_part
def promised_gain(
    shapes: Shape, penalty: Array, rows: Array, u: Array, step: Array, moved: Array, bent: Array
) -> float:
    """Of the model and the penalty itself, by a whole step."""
    before, after = penalty_at(shapes, penalty, u, 0.0, u), penalty_at(shapes, penalty, u, 1.0, step)
    return before - after - inner(rows[SLOPES], moved) - 0.5 * inner(bent, moved)
