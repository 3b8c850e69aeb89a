"""The compiled descent: proximal Newton steps, each found by block coordinate descent on the quadratic model.

Outer step: probabilities of all rows, and the quadratic model of the loss there. Inner sweeps: each block in turn moves
to the minimum of a bound of the model plus its penalty (`move_block`); rows see only multiplications. Then the step is
halved until the objective does not rise. Blocks that are zero are looked at only when the others have settled.
"""

from __future__ import annotations

import math

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
MAX_HALVINGS = 30
# A block's bound of its Hessian is widened until it holds along the step, with so much room.
ROOM = 1.05


@kernel
def penalty(shapes: Shape, blocks: Shape, u: Array, squared: Array, norm: Array) -> float:
    """Sum over blocks of squared / 2 |u|^2 + norm |u|."""
    total = 0.0
    for b in blocks:
        size = 0.0
        for c in range(len(u)):
            for e in range(shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]):
                size += u[c, e] * u[c, e]
        total += 0.5 * squared[b] * size + norm[b] * math.sqrt(size)
    return total


@kernel
def block_slopes(
    shape: Shape,
    end: int,
    bases: Array,
    shares: Array,
    cells: Cells,
    values: Array,
    squared: bool,
    table: Array,
    slopes: Array,
) -> None:
    """slopes (n_odds * effects,) of a block from values (n_odds, n_rows), with a `table` to work in."""
    k, gaps = end - shape[EFFECTS_AT], shape[HAS_GAPS] == 1
    for c in range(len(values)):
        own, line = table[c], values[c]
        own[:] = 0.0
        for i in range(len(line)):
            own[cells[i]] += line[i]
        if squared:  # `table` is kept for the curvature along the step
            sum_slopes(shape, bases, shares, own.copy(), gaps, True, slopes[c * k : (c + 1) * k])
        else:
            sum_slopes(shape, bases, shares, own, gaps, False, slopes[c * k : (c + 1) * k])


@kernel
def move_rows(table: Array, cells: Cells, p: Array, weights: Array, slopes: Array, moved: Array) -> float:
    """Add a block's step to the scores `moved` and to the model's slopes of them; the model's curvature along it."""
    n_odds, n_rows = p.shape
    if n_odds == 1:
        steps, total = table[0], 0.0
        for i in range(n_rows):
            step = steps[cells[i]]
            slope = weights[i] * p[0, i] * (1.0 - p[0, i]) * step
            moved[0, i] += step
            slopes[0, i] += slope
            total += slope * step
        return total
    mean, total = np.zeros(n_rows), 0.0
    for c in range(n_odds):
        steps = table[c]
        for i in range(n_rows):
            mean[i] += p[c, i] * steps[cells[i]]
    for c in range(n_odds):
        steps = table[c]
        for i in range(n_rows):
            step = steps[cells[i]]
            slope = weights[i] * p[c, i] * (step - mean[i])
            moved[c, i] += step
            slopes[c, i] += slope
            total += slope * step
    return total


@kernel
def descend(
    shapes: Shape,
    bases: Array,
    shares: Array,
    cells: Cells,
    classes: NDArray[np.int64],
    weights: Array,
    free: Array,
    blocks: Shape,
    squared: Array,
    norm: Array,
    widths: Array,
    u: Array,
    scores: Array,
    tolerance: float,
    max_iter: int,
    values: Array,
    gains: Array,
) -> tuple[int, int, bool]:
    """Descend from effects u (n_odds, n_effects) and their scores (n_odds, n_rows), both changed in place.

    blocks   those that take part, the intercept last; the others are zero
    widths   (n_blocks,) by how much each bound of a Hessian was widened, kept for the next call
    values   (max_iter + 1,) receives the objective at the start and after each step
    gains    (max_iter + 1,) receives what each step is to gain by its model
    Returns the number of steps, of sweeps over the rows, and whether what is left to gain is below the tolerance.
    """
    n_odds, n_rows = scores.shape
    p, trial = np.empty((n_odds, n_rows)), np.empty((n_odds, n_rows))
    q, bound, moved = np.empty((n_odds, n_rows)), np.empty((n_odds, n_rows)), np.empty((n_odds, n_rows))
    largest_k = largest_cells = 0
    for b in blocks:
        largest_k = max(largest_k, shapes[b + 1, EFFECTS_AT] - shapes[b, EFFECTS_AT])
        largest_cells = max(largest_cells, shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT])
    table, steps = np.empty((n_odds, largest_cells)), np.empty((n_odds, largest_cells))
    slope, step, own = np.empty(n_odds * largest_k), np.empty(n_odds * largest_k), np.empty(n_odds * largest_k)
    curvature = np.empty((n_odds, u.shape[1]))
    bounds_at, n_bound = np.empty(len(shapes), np.int64), 0
    total_weight = weights.sum()
    loss = probabilities(scores, classes, weights, p)
    value = loss + penalty(shapes, blocks, u, squared, norm)
    values[0] = value
    n_sweeps, everything, some_norm = 1, True, norm.max() > 0.0
    before = np.empty_like(u)
    all_bounds = np.empty((n_odds, shapes[len(shapes) - 1, CELLS_AT]))
    for iteration in range(max_iter):
        before[:] = u
        moved[:] = 0.0
        goal = tolerance * (value + total_weight / 100.0)
        for c in range(n_odds):
            for i in range(n_rows):
                p_own = p[c, i]
                q[c, i] = weights[i] * (p_own - (1.0 if classes[i] == c else 0.0))
                spread = p_own * (1.0 - p_own)
                bound[c, i] = weights[i] * (spread if n_odds == 1 else min(p_own, 2.0 * spread))
        bounds_at[:] = 0
        gained = 0.0
        for sweep in range(MAX_SWEEPS):
            gain = 0.0
            for b in blocks:
                shape, end = shapes[b], shapes[b + 1, EFFECTS_AT]
                first, k = shape[EFFECTS_AT], end - shape[EFFECTS_AT]
                size = n_odds * k
                n_cells = shapes[b + 1, CELLS_AT] - shape[CELLS_AT]
                is_zero = True
                for c in range(n_odds):
                    for e in range(k):
                        own[c * k + e] = u[c, first + e]
                        is_zero = is_zero and own[c * k + e] == 0.0
                if is_zero and norm[b] > 0.0 and (sweep > 0 or not everything):
                    continue
                block_slopes(shape, end, bases, shares, cells[b], q, False, table[:, :n_cells], slope[:size])
                if is_zero and norm[b] > 0.0:
                    length = 0.0
                    for e in range(size):
                        length += slope[e] * slope[e]
                    if length <= norm[b] * norm[b]:
                        continue
                kept = all_bounds[:, shape[CELLS_AT] : shape[CELLS_AT] + n_cells]
                if bounds_at[b] == 0:
                    bounds_at[b] = 1
                    block_slopes(shape, end, bases, shares, cells[b], bound, True, kept, step[:size])
                    for c in range(n_odds):
                        for e in range(k):
                            curvature[c, first + e] = step[c * k + e]
                    n_bound += 1
                last = b == len(shapes) - 2
                change = 0.0
                while True:
                    wide = np.empty(size)
                    for c in range(n_odds):
                        for e in range(k):
                            wide[c * k + e] = widths[b] * curvature[c, first + e]
                    move_block(own[:size], slope[:size], wide, squared[b], norm[b], step[:size])
                    if last:
                        for c in range(n_odds):
                            if free[c] == 0.0:
                                step[c] = 0.0
                    true = bounded = change = 0.0
                    for c in range(n_odds):
                        fill_table(
                            shape, bases, shares, step[c * k : (c + 1) * k], shape[HAS_GAPS] == 1, steps[c, :n_cells]
                        )
                        for i in range(n_cells):
                            true += kept[c, i] * steps[c, i] * steps[c, i]
                    for e in range(size):
                        bounded += wide[e] * step[e] * step[e]
                        change += abs(step[e])
                    if true <= bounded * (1.0 + 1e-9) or change == 0.0:
                        break
                    widths[b] *= ROOM * true / bounded
                if change == 0.0:
                    continue
                along = size_before = size_after = 0.0
                for c in range(n_odds):
                    for e in range(k):
                        at = c * k + e
                        along += slope[at] * step[at]
                        size_before += own[at] * own[at]
                        u[c, first + e] = own[at] + step[at]
                        if step[at] == -own[at]:
                            u[c, first + e] = 0.0
                        size_after += u[c, first + e] ** 2
                bent = move_rows(steps[:, :n_cells], cells[b], p, weights, q, moved)
                gain -= along + 0.5 * bent + 0.5 * squared[b] * (size_after - size_before)
                gain -= norm[b] * (math.sqrt(size_after) - math.sqrt(size_before))
            n_sweeps += 1
            gained += gain
            if gain <= SWEEP_SHARE * gained or gain <= 0.1 * goal:
                break
        gains[iteration] = gains[iteration + 1] = gained
        share = 1.0
        for _ in range(MAX_HALVINGS):
            for c in range(n_odds):
                for i in range(n_rows):
                    trial[c, i] = scores[c, i] + share * moved[c, i]
            loss = probabilities(trial, classes, weights, p)
            new = loss + penalty(shapes, blocks, u, squared, norm)
            if new <= value:
                break
            share *= 0.5
            for c in range(n_odds):
                for e in range(u.shape[1]):
                    u[c, e] = before[c, e] + 0.5 * (u[c, e] - before[c, e])
        else:
            u[:] = before
            values[iteration + 1] = value
            return iteration + 1, n_sweeps, True
        scores[:] = trial
        value = new
        values[iteration + 1] = value
        if gained <= 0.5 * goal:
            if everything:
                return iteration + 1, n_sweeps, True
            everything = True
        else:
            everything = not some_norm
    return max_iter, n_sweeps, False
