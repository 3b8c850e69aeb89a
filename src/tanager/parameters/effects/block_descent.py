"""The descent in blocks: proximal Newton steps, each found by block coordinate descent on the quadratic model.

Outer step: probabilities of all rows, and the quadratic model of the loss there. Inner sweeps: each block in turn moves
to the minimum of a bound of the model plus its penalty (`block_model`); rows see only multiplications. Then the step is
halved until the objective does not rise. Blocks that are zero are looked at only when the others have settled.

All of it is compiled: a fit of few rows is hundreds of descents, of which Python would take half of the time.
"""

from __future__ import annotations

import numpy as np

from tanager.kernel import kernel, kernel_part
from tanager.parameters.effects.block_kernels import CELLS_AT, Array, Cells, Shape
from tanager.parameters.effects.block_model import BOUNDS, MOVED, NORM, SLOPES, P, penalty_at, sweep
from tanager.parameters.effects.row_kernels import probabilities

# The inner sweeps end when one gains less than this share of what all have gained, or after so many.
SWEEP_SHARE = 0.15
MAX_SWEEPS = 25
SHORTEST = 1e-9
# Of what a block gains on average in a sweep: one that gains less is left alone until the next step.
IDLE_SHARE = 0.1
# Of the goal: a sweep that gains less is the last of a step, and a step that is to gain less is the last.
SWEEP_GOAL = 0.1
LEFT_SHARE = 0.5


@kernel
def descend(
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
    used: Shape,
    penalty: Array,
    widths: Array,
    tolerance: float,
    u: Array,
    scores: Array,
    values: Array,
    gains: Array,
) -> tuple[int, int, bool]:
    """From effects u (n_effects, width) and their scores (n_rows, width), both changed in place.

    Returns the number of steps, that of sweeps, and whether no more than the tolerance is left to gain.

    cells    (n_blocks, n_rows), classes and weights: the rows
    free     (width,) one for an intercept that may move, and zero for one that may not
    used     the blocks that take part, the intercept last
    penalty  (n_blocks, 2)
    widths   (n_blocks,) by how much each bound of a block's Hessian had to be widened; they are kept up
    values   (max_steps + 1,) the objective at the start and after each step
    gains    (max_steps,) what the model promised of each
    """
    n_rows, any_norm, zeros_too, n_sweeps = 0.0, False, True, 1
    for i in range(len(weights)):
        n_rows += weights[i]
    for b in used:
        any_norm = any_norm or penalty[b, NORM] > 0.0
    rows, before, near = np.empty((4, *scores.shape)), np.empty_like(u), np.empty_like(scores)
    curvature, bounds = np.empty_like(u), np.empty((shapes[-1, CELLS_AT], u.shape[1]))
    model, data = (shapes, bases, squares, squared_means, shares), (n_odds, classes, weights)
    by_block = np.empty(len(penalty))
    values[0] = probabilities(scores, *data, rows[P]) + penalty_at(shapes, penalty, u, 0.0, u)
    for n_steps in range(len(gains)):
        goal = tolerance * (values[n_steps] + n_rows / 100.0)
        make_model(classes, weights, rows)
        before[:], curvature[:], by_block[:], gained, least = u, np.nan, np.inf, 0.0, 0.0
        for number in range(MAX_SWEEPS):
            look = zeros_too and number == 0
            known = bounds, curvature, widths
            gain = sweep(*model, cells, weights, free, penalty, used, rows, *known, by_block, least, u, look)
            gained += gain
            least = IDLE_SHARE * gain / len(used)
            n_sweeps += 1
            if gain <= max(SWEEP_SHARE * gained, SWEEP_GOAL * goal):
                break
        gains[n_steps] = gained
        settled = gained <= LEFT_SHARE * goal
        for e in range(len(u)):
            for c in range(u.shape[1]):
                u[e, c] -= before[e, c]
        step, moved, value = u, rows[MOVED], values[n_steps]
        best, best_value, last = search(
            shapes, penalty, *data, scores, moved, before, step, value, settled, near, rows[P]
        )
        set_sum(scores, best, moved, scores)
        set_sum(before, best, step, u)
        if last != best:  # the last try was another point
            probabilities(scores, *data, rows[P])
        values[n_steps + 1] = best_value
        if best == 0.0 or (settled and zeros_too):
            return n_steps + 1, n_sweeps, True
        zeros_too = settled or not any_norm
    return len(gains), n_sweeps, False


@kernel
def search(
    shapes: Shape,
    penalty: Array,
    n_odds: int,
    classes: Shape,
    weights: Array,
    scores: Array,
    moved: Array,
    before: Array,
    step: Array,
    value: float,
    settled: bool,
    near: Array,
    p: Array,
) -> tuple[float, float, float]:
    """The share of a step to take, the objective there, and the last share tried, whose probabilities p has.

    It is halved until the objective does not rise. A whole step is doubled as long as that is better: blocks that
    repeat each other take short ones.
    """
    share, best, best_value = 1.0, 0.0, value
    while share > SHORTEST:
        set_sum(scores, share, moved, near)
        found = probabilities(near, n_odds, classes, weights, p) + penalty_at(shapes, penalty, before, share, step)
        if found < best_value or (best == 0.0 and found <= value):
            best, best_value = share, found
            if settled or share < 1.0:
                break
            share *= 2.0
        elif best > 0.0:
            break
        else:
            share *= 0.5
    return best, best_value, share


@kernel_part
def make_model(classes: Shape, weights: Array, rows: Array) -> None:
    """The slopes of the loss by the scores at the probabilities, bounds of its curvature, and no step yet."""
    width = rows.shape[2]
    for i in range(len(weights)):
        for c in range(width):
            p = rows[P, i, c]
            # The Hessian of a row, diag(p) - p p', is at most diag(min(p, 2 p (1 - p))); of two classes p (1 - p).
            spread = p * (1.0 - p)
            rows[SLOPES, i, c] = weights[i] * (p - (1.0 if classes[i] == c else 0.0))
            rows[BOUNDS, i, c] = weights[i] * (spread if width == 1 else min(p, 2.0 * spread))
            rows[MOVED, i, c] = 0.0


@kernel_part
def set_sum(values: Array, share: float, step: Array, out: Array) -> None:
    """out = values + share * step."""
    for i in range(len(values)):
        for c in range(values.shape[1]):
            out[i, c] = values[i, c] + share * step[i, c]
