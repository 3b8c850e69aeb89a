"""The compiled descent: proximal Newton steps, each found by block coordinate descent on the quadratic model.

Outer step: probabilities of all rows, and the quadratic model of the loss there. Inner sweeps: each block in turn moves
to the minimum of a bound of the model plus its penalty (`move_block`); rows see only multiplications. Then the step is
halved until the objective does not rise. Blocks that are zero are looked at only when the others have settled.
"""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel, kernel_part
from tanager.parameters.effects.block_kernels import EFFECTS_AT, Array, Shape
from tanager.parameters.effects.block_model import Model, Penalty, Work, make_work, set_model, visit_block
from tanager.parameters.effects.row_kernels import probabilities

# The inner sweeps end when one gains less than this share of what all have gained, or after so many.
SWEEP_SHARE = 0.15
MAX_SWEEPS = 25
SHORTEST = 1e-9
# Of the goal: a sweep that gains less is the last of a step, and a step that is to gain less is the last.
SWEEP_GOAL = 0.1
LEFT_SHARE = 0.5


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
def move_on(start: Array, share: float, step: Array, end: Array) -> None:
    """end = start + share * step."""
    for c in range(len(start)):
        for i in range(start.shape[1]):
            end[c, i] = start[c, i] + share * step[c, i]


@kernel_part
def search_line(
    model: Model, penalty: Penalty, work: Work, before: Array, u: Array, scores: Array, value: float, stretch: bool
) -> tuple[float, bool]:
    """Halve the step of u and scores until the objective does not rise; its value, and whether it was found.

    With `stretch` a whole step is doubled as long as that is better: blocks that repeat each other take short steps.
    """
    step, there, effects = np.empty_like(u), np.empty_like(scores), np.empty_like(u)
    move_on(u, -1.0, before, step)
    share, best, best_value = 1.0, 0.0, value
    while share > SHORTEST:
        move_on(scores, share, work.moved, there)
        move_on(before, share, step, effects)
        found = probabilities(there, model.classes, model.weights, work.p) + penalty_of(model.shapes, penalty, effects)
        if found < best_value or (best == 0.0 and found <= value):
            best, best_value = share, found
            if not stretch or share < 1.0:
                break
            share *= 2.0
        elif best > 0.0:
            break
        else:
            share *= 0.5
    move_on(scores, best, work.moved, scores)
    move_on(before, best, step, u)
    if share != best:  # the last try was another point
        probabilities(scores, model.classes, model.weights, work.p)
    return best_value, best > 0.0


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
    before, n_sweeps, any_norm, zeros_too, n_rows = np.empty_like(u), 1, False, True, 0.0
    for b in penalty.blocks:
        any_norm = any_norm or penalty.norm[b] > 0.0
    for weight in model.weights:
        n_rows += weight
    for iteration in range(max_iter):
        move_on(u, 0.0, u, before)
        goal = tolerance * (value + n_rows / 100.0)
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
        gains[iteration] = gains[iteration + 1] = gained
        settled = gained <= LEFT_SHARE * goal
        value, found = search_line(model, penalty, work, before, u, scores, value, not settled)
        values[iteration + 1] = value
        if not found or (settled and zeros_too):
            return iteration + 1, n_sweeps, True
        zeros_too = settled or not any_norm
    return max_iter, n_sweeps, False
