"""A descent in blocks: compiled steps of one block after another, and late ones of all blocks together between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Model = tuple[Ints, Array, Array, Array, Array]
Data = tuple[NDArray[np.uint32], Ints, Array]

# Few descents on folds take as many; the others need not wait until the steps together are compiled.
STEPS_ALONE = 15


def descend_blocks(
    model: Model,
    rows: Data,
    free: tuple[Array, int],
    used: Ints,
    penalty: Array,
    widths: Array,
    tolerance: float,
    u: Array,
    scores: Array,
    max_steps: int,
) -> tuple[Array, Array, int, bool]:
    """From u and scores, which are changed: objectives, gains promised, sweeps, and whether little is left to gain.

    The arguments are those of `block_descent.descend`, in this order; `free` has the number of log odds beside it.
    """
    from tanager.parameters.effects.block_descent import descend

    values, gains = np.empty(max_steps + 1), np.empty(max_steps)

    def in_turn(first: int, last: int) -> tuple[int, int, bool]:
        """Steps of one block after another."""
        trace = values[first : last + 1], gains[first:last]
        return descend(*model, *rows, *free, used, penalty, widths, tolerance, u, scores, *trace)

    n_steps, n_sweeps, finished = in_turn(0, min(max_steps, STEPS_ALONE))
    settling = np.zeros(len(penalty))
    while not finished and n_steps < max_steps - 1:
        from tanager.parameters.effects.block_polish import MAX_STEPS, move_together

        moved = move_together(*model, *rows, *free, used, penalty, settling, u, scores)
        gains[n_steps], values[n_steps + 1] = moved
        # A step in turn sees which blocks become zero, and which are no longer.
        _, more, finished = in_turn(n_steps + 1, n_steps + 2)
        n_steps, n_sweeps = n_steps + 2, n_sweeps + more + MAX_STEPS
    return values[: n_steps + 1], gains[:n_steps], n_sweeps, finished
