"""The compiled descent: proximal Newton steps, each found by block coordinate descent on the quadratic model.

Outer step: probabilities of all rows, and the quadratic model of the loss there. Inner sweeps: each block in turn moves
to the minimum of a bound of the model plus its penalty (`move_block`); rows see only multiplications. Then the step is
halved until the objective does not rise. Blocks that are zero are looked at only when the others have settled.
"""

from __future__ import annotations

import math

from tanager.kernel import kernel
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
