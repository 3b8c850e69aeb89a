"""The descent in blocks: proximal Newton steps, each found by block coordinate descent on the quadratic model.

Outer step: probabilities of all rows, and the quadratic model of the loss there. Inner sweeps: each block in turn moves
to the minimum of a bound of the model plus its penalty (`block_model`); rows see only multiplications. Then the step is
halved until the objective does not rise. Blocks that are zero are looked at only when the others have settled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager.parameters.effects.block_kernels import CELLS_AT, EFFECTS_AT, Array, Cells, Shape, padded
from tanager.parameters.effects.block_model import BOUNDS, MOVED, NORM, SLOPES, SQUARED, P, sweep
from tanager.parameters.effects.blocks import Blocks
from tanager.parameters.effects.row_kernels import probabilities

# The inner sweeps end when one gains less than this share of what all have gained, or after so many.
SWEEP_SHARE = 0.15
MAX_SWEEPS = 25
SHORTEST = 1e-9
# Of the goal: a sweep that gains less is the last of a step, and a step that is to gain less is the last.
SWEEP_GOAL = 0.1
LEFT_SHARE = 0.5


@dataclass(frozen=True)
class Steps:
    """What a descent did: the objective at the start and after each step, what the model promised of each, and sweeps.

    `finished` says whether what is left to gain is below the tolerance.
    """

    values: list[float]
    gains: list[float]
    n_sweeps: int
    finished: bool


class BlockDescent:
    """Rows, blocks and their penalty (n_blocks, 2); `used` are the blocks that take part, the intercept last.

    cells    (n_blocks, n_rows), classes and weights: the rows
    free     (n_odds,) one for an intercept that may move, and zero for one that may not
    widths   (n_blocks,) by how much each bound of a block's Hessian had to be widened; they are kept up
    """

    def __init__(
        self,
        blocks: Blocks,
        cells: Cells,
        classes: Shape,
        weights: Array,
        free: Array,
        used: Shape,
        penalty: Array,
        widths: Array,
    ) -> None:
        self._classes, self._weights, self._used, self._penalty, self._widths = classes, weights, used, penalty, widths
        self._bases = blocks.shapes, blocks.bases, blocks.squares, blocks.shares
        self._rows = cells, weights, np.pad(free, (0, padded(len(free)) - len(free)))
        self._n_odds = len(free)
        self._first = blocks.shapes[:-1, EFFECTS_AT]
        self._n_cells = int(blocks.shapes[-1, CELLS_AT])
        self._any_norm = bool(penalty[used, NORM].any())
        self._n_rows = float(weights.sum())

    def descend(self, u: Array, scores: Array, tolerance: float, max_iter: int) -> Steps:
        """From effects u (n_effects, width) and their scores (n_rows, width), both changed in place."""
        rows, gains, n_sweeps, zeros_too = np.empty((4, *scores.shape)), list[float](), 1, True
        values = [self._value(u, scores, rows[P])]
        while len(gains) < max_iter:
            before, goal = u.copy(), tolerance * (values[-1] + self._n_rows / 100.0)
            gained, n_more = self._minimize_model(rows, u, goal, zeros_too)
            n_sweeps += n_more
            gains.append(gained)
            settled = gained <= LEFT_SHARE * goal
            value, found = self._search_line(rows, before, u, scores, values[-1], not settled)
            values.append(value)
            if not found or (settled and zeros_too):
                return Steps(values, gains, n_sweeps, True)
            zeros_too = settled or not self._any_norm
        return Steps(values, gains, n_sweeps, False)

    def _minimize_model(self, rows: Array, u: Array, goal: float, zeros_too: bool) -> tuple[float, int]:
        """What the model at the probabilities gains by sweeps over the blocks, and how many there were."""
        p, width, weights = rows[P], rows.shape[2], self._weights[:, np.newaxis]
        np.multiply(p, weights, out=rows[SLOPES])
        own = self._classes < width  # of two classes the second has no column
        rows[SLOPES][np.flatnonzero(own), self._classes[own]] -= self._weights[own]
        # The Hessian of a row, diag(p) - p p', is at most diag(min(p, 2 p (1 - p))); of two classes it is p (1 - p).
        spread = p * (1.0 - p)
        np.multiply(spread if width == 1 else np.minimum(p, 2.0 * spread), weights, out=rows[BOUNDS])
        rows[MOVED] = 0.0
        bounds, curvature = np.empty((self._n_cells, width)), np.full(u.shape, np.nan)
        gained = 0.0
        for n_sweeps in range(MAX_SWEEPS):
            gain = sweep(
                *(*self._bases, *self._rows, self._penalty, self._used, rows, bounds, curvature, self._widths, u),
                zeros_too and n_sweeps == 0,
            )
            gained += gain
            if gain <= max(SWEEP_SHARE * gained, SWEEP_GOAL * goal):
                break
        return gained, n_sweeps + 1

    def _search_line(
        self, rows: Array, before: Array, u: Array, scores: Array, value: float, stretch: bool
    ) -> tuple[float, bool]:
        """Halve the step of u and scores until the objective does not rise; its value, and whether it was found.

        With `stretch` a whole step is doubled as long as that is better: blocks that repeat each other take short ones.
        """
        step, moved = u - before, rows[MOVED]
        share, best, best_value = 1.0, 0.0, value
        while share > SHORTEST:
            found = self._value(before + share * step, scores + share * moved, rows[P])
            if found < best_value or (best == 0.0 and found <= value):
                best, best_value = share, found
                if not stretch or share < 1.0:
                    break
                share *= 2.0
            elif best > 0.0:
                break
            else:
                share *= 0.5
        scores += best * moved
        np.add(before, best * step, out=u)
        if share != best:  # the last try was another point
            self._value(u, scores, rows[P])
        return best_value, best > 0.0

    def _value(self, u: Array, scores: Array, p: Array) -> float:
        """The objective; p (n_rows, width) receives the probabilities."""
        sizes = np.add.reduceat(np.einsum("ec,ec->e", u, u), self._first)
        penalty = 0.5 * self._penalty[:, SQUARED] @ sizes + self._penalty[:, NORM] @ np.sqrt(sizes)
        return float(probabilities(scores, self._n_odds, self._classes, self._weights, p) + penalty)
