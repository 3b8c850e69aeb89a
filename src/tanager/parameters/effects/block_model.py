"""The quadratic model of the loss, and moves of blocks to the minimum of a bound of it plus the penalty."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel, kernel_part, summing_kernel
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
from tanager.parameters.effects.row_kernels import move_rows, sum_cells

# A block's bound of its Hessian is widened until it holds along the step, with so much room, but for rounding.
ROOM = 1.05
ROUNDING = 1e-9
# Rows that are told apart for certain have none.
SMALLEST_CURVATURE = 1e-10
SECULAR_STEPS = 60
SECULAR_PRECISION = 1e-13

# What belongs to rows, (4, n_rows, width): probabilities where the model is made, its slopes, bounds of its curvature,
# and the step of the scores so far.
P, SLOPES, BOUNDS, MOVED = range(4)
# The entries of a block's penalty: SQUARED / 2 |u|^2 + NORM |u|.
SQUARED, NORM = range(2)


@kernel
def sum_block(
    shape: Shape, bases: Array, shares: Array, cells: NDArray[np.uint32], values: Array, sums: Array, slopes: Array
) -> None:
    """slopes (effects, width) of a block from values (n_rows, width); `sums` (cells, width) is room for the cells'."""
    sum_cells(cells, values, sums)
    sum_slopes(shape, bases, shares, sums, slopes)


@summing_kernel
def move_block(u: Array, slope: Array, curvature: Array, width: float, penalty: Array, step: Array) -> float:
    """The step d that makes slope d + width curvature d^2 / 2 + penalty(u + d) least; what it is bent by the bound.

    All but the penalty are (effects, width). With a = width curvature and z = a u - slope the end is
    z / (a + squared + norm / r), r its own length, and zero where z is no longer than `norm`. r solves the secular
    equation sum (z / ((a + squared) r + norm))^2 = 1.
    """
    squared, norm, length, bent = penalty[SQUARED], penalty[NORM], 0.0, 0.0
    for c in range(len(u)):
        for e in range(u.shape[1]):
            step[c, e] = max(SMALLEST_CURVATURE, width * curvature[c, e]) * u[c, e] - slope[c, e]
            length += step[c, e] * step[c, e]
    r = 0.0 if math.sqrt(length) <= norm else math.inf
    if norm > 0.0 and r > 0.0:
        # Newton's method on a function that falls and is convex in r: from the left it never oversteps.
        r = 0.0
        for _ in range(SECULAR_STEPS):
            value = slope_of_value = 0.0
            for c in range(len(u)):
                for e in range(u.shape[1]):
                    a = max(SMALLEST_CURVATURE, width * curvature[c, e]) + squared
                    ratio = step[c, e] / (a * r + norm)
                    value += ratio * ratio
                    slope_of_value -= 2.0 * ratio * ratio * a / (a * r + norm)
            # On 1 / sqrt(value), which is nearly a straight line, the steps are far longer.
            move = (math.sqrt(value) - 1.0) * 2.0 * value / -slope_of_value
            r += move
            if move <= SECULAR_PRECISION * r:
                break
    # A length of zero, or one so little longer than the norm that it is rounding, is no effect at all.
    pull = norm / r if r > 0.0 else math.inf
    for c in range(len(u)):
        for e in range(u.shape[1]):
            a = max(SMALLEST_CURVATURE, width * curvature[c, e])
            step[c, e] = step[c, e] / (a + squared + pull) - u[c, e]
            bent += a * step[c, e] * step[c, e]
    return bent


@summing_kernel
def fill_steps(shape: Shape, bases: Array, shares: Array, step: Array, bounds: Array, steps: Array) -> float:
    """steps (cells, width) of a block's effects (effects, width); what they are bent by bounds (cells, width)."""
    bent = 0.0
    fill_table(shape, bases, shares, step, shape[HAS_GAPS] == 1, steps)
    for i in range(len(steps)):
        for c in range(steps.shape[1]):
            bent += bounds[i, c] * steps[i, c] * steps[i, c]
    return bent


@kernel
def sweep(
    shapes: Shape,
    bases: Array,
    squares: Array,
    squared_means: Array,
    shares: Array,
    cells: Cells,
    weights: Array,
    free: Array,
    penalty: Array,
    blocks: Shape,
    rows: Array,
    bounds: Array,
    curvature: Array,
    widths: Array,
    gains: Array,
    least: float,
    u: Array,
    zeros_too: bool,
) -> float:
    """Move each of these blocks in turn, in `rows` and u (n_effects, width); what the model gains.

    A block of zeros that a norm keeps at zero is left alone, and without `zeros_too` not looked at. Nor is one whose
    last move gained less than `least`.

    squares    of the bases, for an upper bound of the diagonal of the Hessian; squared_means as those of `Blocks`
    free       (width,) zero for an intercept that may not move, else one
    penalty    (n_blocks, 2)
    bounds     (n_cells, width) of the curvature in cells, where
    curvature  (n_effects, width) of the effects, is known: not a nan
    widths     (n_blocks,) by how much each bound of a block's Hessian had to be widened
    gains      (n_blocks,) what the last move of each gained
    """
    gain, p, slopes = 0.0, rows[P], rows[SLOPES]
    # Room for the largest block: to ask for some takes as long as a hundred rows.
    n_effects = n_cells = 0
    for b in blocks:
        n_effects = max(n_effects, shapes[b + 1, EFFECTS_AT] - shapes[b, EFFECTS_AT])
        n_cells = max(n_cells, shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT])
    slope_room, step_room = np.empty((n_effects, u.shape[1])), np.empty((n_effects, u.shape[1]))
    steps_room = np.empty((n_cells, u.shape[1]))
    for b in blocks:
        if gains[b] < least:
            continue
        shape, first, last = shapes[b], shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
        own, known, norm = u[first:last], curvature[first:last], penalty[b, NORM]
        by_cell = bounds[shapes[b, CELLS_AT] : shapes[b + 1, CELLS_AT]]
        before = sum_of_squares(own)
        stays = norm > 0.0 and before == 0.0
        if stays and not zeros_too:
            continue
        slope, step, steps = slope_room[: len(own)], step_room[: len(own)], steps_room[: len(by_cell)]
        sum_block(shape, bases, shares, cells[b], slopes, steps, slope)
        if b == len(shapes) - 2:
            for c in range(len(free)):
                slope[0, c] *= free[c]
        if stays and sum_of_squares(slope) <= norm * norm:
            continue
        if math.isnan(known[0, 0]):
            sum_cells(cells[b], rows[BOUNDS], by_cell)
            bound_curvature(shape, squares, squared_means[first:last], shares, by_cell, steps, known)
        while True:
            bounded = move_block(own, slope, known, widths[b], penalty[b], step)
            bent = fill_steps(shape, bases, shares, step, by_cell, steps)
            if bent <= bounded * (1.0 + ROUNDING):
                break
            widths[b] *= ROOM * bent / bounded
        # Of two classes the bound is the curvature itself.
        within = move_rows(steps, cells[b], weights, p, rows[BOUNDS], rows[MOVED], slopes)
        along = take_step(slope, step, own)
        after = sum_of_squares(own)
        bent = bent if p.shape[1] == 1 else within
        gains[b] = -along - 0.5 * bent - 0.5 * penalty[b, SQUARED] * (after - before)
        gains[b] -= norm * (math.sqrt(after) - math.sqrt(before))
        gain += gains[b]
    return gain


@kernel
def bound_curvature(
    shape: Shape, squares: Array, squared_means: Array, shares: Array, by_cell: Array, room: Array, known: Array
) -> None:
    """known (effects, width): the diagonal of a block's Hessian, or more, from bounds (cells, width) of the curvature.

    It has what centring takes from every row for an effect: else an effect of a state whose rows are all certain would
    have no curvature, and no bound by it would hold.
    """
    apart = shape.copy()
    apart[CENTRED] = 0  # squares are not
    room[:] = by_cell
    sum_slopes(apart, squares, shares, room, known)
    for c in range(known.shape[1]):
        total = 0.0
        for i in range(len(by_cell)):
            total += by_cell[i, c]
        for e in range(len(known)):
            known[e, c] += squared_means[e] * total


@summing_kernel
def take_step(slope: Array, step: Array, u: Array) -> float:
    """Add the step to effects u, all (effects, width); what the slope is along it."""
    along = 0.0
    for e in range(len(u)):
        for c in range(u.shape[1]):
            along += slope[e, c] * step[e, c]
            u[e, c] += step[e, c]
    return along


@summing_kernel
def sum_of_squares(values: Array) -> float:
    total = 0.0
    for e in range(len(values)):
        for c in range(values.shape[1]):
            total += values[e, c] * values[e, c]
    return total


@kernel
def sum_blocks(
    shapes: Shape, bases: Array, shares: Array, cells: Cells, blocks: Shape, values: Array, slopes: Array
) -> None:
    """slopes (n_effects, width) of these blocks from values (n_rows, width)."""
    for b in blocks:
        sums = np.empty((shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], values.shape[1]))
        own = slopes[shapes[b, EFFECTS_AT] : shapes[b + 1, EFFECTS_AT]]
        sum_block(shapes[b], bases, shares, cells[b], values, sums, own)


@kernel_part
def penalty_at(shapes: Shape, penalty: Array, u: Array, share: float, step: Array) -> float:
    """Of u + share * step."""
    total = 0.0
    for b in range(len(penalty)):
        square = 0.0
        for e in range(shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]):
            for c in range(u.shape[1]):
                value = u[e, c] + share * step[e, c]
                square += value * value
        total += 0.5 * penalty[b, SQUARED] * square + penalty[b, NORM] * math.sqrt(square)
    return total
