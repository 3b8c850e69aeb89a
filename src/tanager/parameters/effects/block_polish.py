"""Conjugate gradients on the quadratic model: all blocks that are not zero move together.

Blocks that move in turn take hundreds of sweeps where attributes repeat each other. Away from zero a norm is smooth, so
the effects of such blocks have a Newton step. Its equations are solved by conjugate gradients, each of which costs what
a sweep does.
"""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel, kernel_part, summing_kernel
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
    MOVED,
    NORM,
    SLOPES,
    SMALLEST_CURVATURE,
    SQUARED,
    P,
    penalty_at,
    sum_block,
    sum_of_squares,
)
from tanager.parameters.effects.row_kernels import move_rows

MAX_STEPS = 20  # of conjugate gradients
# Of the squared slope at the start, as the preconditioner measures it: what may be left.
LEFT = 1e-1
MAX_HALVINGS = 8
# A step is short that is no longer than this share of the block.
SHORT = 0.25


@kernel
def polish(
    shapes: Shape,
    bases: Array,
    shares: Array,
    cells: Cells,
    weights: Array,
    free: Array,
    penalty: Array,
    blocks: Shape,
    rows: Array,
    curvature: Array,
    settling: Array,
    u: Array,
) -> float:
    """Move the blocks that are not zero, in `rows` and u, as `block_model.sweep` does; what the model gains.

    The norm of a block has the Hessian (1 - u u' / |u|^2) / |u|, and 1 / |u| is an upper bound that holds for any step.

    curvature  (n_effects, width) of the effects of these blocks, which is the preconditioner
    settling   (n_blocks,) one for a block whose last step was short: its penalty has the Hessian, else the bound
    """
    residual, scale, step, pulls = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u), np.zeros(len(penalty))
    moving, n_moving = np.empty_like(blocks), 0
    for b in blocks:
        first, last = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
        squared, size = penalty[b, SQUARED], math.sqrt(sum_of_squares(u[first:last]))
        if penalty[b, NORM] > 0.0 and size == 0.0:
            continue
        moving[n_moving], n_moving = b, n_moving + 1
        pulls[b] = penalty[b, NORM] / size if penalty[b, NORM] > 0.0 else 0.0
        sums = np.empty((shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], u.shape[1]))
        sum_block(shapes[b], bases, shares, cells[b], rows[SLOPES], sums, residual[first:last])
        held = squared + pulls[b]
        for e in range(first, last):
            for c in range(u.shape[1]):
                residual[e, c] = -residual[e, c] - held * u[e, c]
                scale[e, c] = 1.0 / (max(SMALLEST_CURVATURE, curvature[e, c]) + held)
    for c in range(len(free)):
        scale[-1, c] *= free[c]
    moved, bent = np.zeros(rows.shape[1:]), np.zeros(rows.shape[1:])
    state = penalty, pulls, settling, rows, u, residual, scale, step, moved, bent
    solve(shapes, bases, shares, cells, weights, moving[:n_moving], *state)
    for b in moving[:n_moving]:
        first, last = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
        short = sum_of_squares(step[first:last]) <= SHORT**2 * sum_of_squares(u[first:last])
        settling[b] = 1.0 if short else 0.0
    return take_polished(shapes, penalty, rows, u, step, moved, bent)


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
        add(share, direction, step)
        add(-share, image, residual)
        add(share, by_row, moved)
        add(share, bent_row, bent)
        before, length = length, scaled_square(residual, scale)
        advance(residual, scale, length / before, direction)


@summing_kernel
def inner(one: Array, other: Array) -> float:
    total = 0.0
    for i in range(len(one)):
        for c in range(one.shape[1]):
            total += one[i, c] * other[i, c]
    return total


@kernel_part
def add(share: float, values: Array, out: Array) -> None:
    for i in range(len(values)):
        for c in range(values.shape[1]):
            out[i, c] += share * values[i, c]


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
def take_polished(
    shapes: Shape, penalty: Array, rows: Array, u: Array, step: Array, moved: Array, bent: Array
) -> float:
    """Halve the step until the model and the penalty itself gain; what they do."""
    slope, curve = inner(rows[SLOPES], moved), inner(bent, moved)
    share, before = 1.0, penalty_at(shapes, penalty, u, 0.0, u)
    for _ in range(MAX_HALVINGS):
        gain = before - penalty_at(shapes, penalty, u, share, step) - share * slope - 0.5 * share * share * curve
        if gain > 0.0:
            add(share, step, u)
            add(share, moved, rows[MOVED])
            add(share, bent, rows[SLOPES])
            return gain
        share *= 0.5
    return 0.0
