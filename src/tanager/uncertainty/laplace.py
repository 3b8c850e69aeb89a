"""The Laplace posterior of effects: a normal at the optimum, whose precision is the Hessian there.

With Z (n_rows, n_effects) the row's effects, w its weight and p its probabilities, the Hessian of minus the conditional
log likelihood plus the penalty is, of two classes with effects on their log odds,

    H = Z^T diag(w p (1 - p)) Z + diag(precision)

and of several classes its block for c, k is Z^T diag(w p_c (delta_ck - p_k)) Z. The covariance H^-1 = F F^T is kept as
its factor F: exact for few effects, else by so many draws from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, solve_triangular

from tanager.arrays import Array, Ints

# Effects times odds that are solved for together; of more, main effects together and each pair by itself, and of
# several classes each class by itself.
MAX_TOGETHER = 3_000
# Columns of the factor: as many draws stand for a covariance of more effects, and leave 4 % to chance in a deviation.
MAX_RANK = 256
SEED = 0
# Rows times effects squared: of more, evenly spaced rows stand for all.
MAX_WORK = 4e11
BLOCK_CELLS = 1 << 24
# Of the rows: what holds an effect that no penalty does.
FREE_PRECISION = 1e-9


@dataclass(frozen=True)
class Design:
    """What the effects of every row are, in blocks.

    bases      of each block (cells, effects): the effects that each cell is the sum of
    cells      (n_rows, n_blocks) the cell of each row; -1 where the block says nothing about it
    precision  of each block (effects,): of the prior, on the log odds of two classes, or on each class of several
    together   which blocks are solved for together where all of them are too many: a number for each
    """

    bases: tuple[Array, ...]
    cells: Ints
    precision: tuple[Array, ...]
    together: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        return [basis.shape[1] for basis in self.bases]

    def of_rows(self, rows: slice, blocks: Sequence[int]) -> Array:
        """Z (n_rows, effects of the blocks)."""
        parts = []
        for block in blocks:
            cells = self.cells[rows, block]
            part = self.bases[block][cells]
            part[cells < 0] = 0.0
            parts.append(part)
        return np.concatenate(parts, axis=1)


def laplace_factor(design: Design, weights: Array, p: Array) -> list[Array]:
    """F of each block, (effects, n_odds, rank): n_odds = 1 for two classes, for their log odds.

    weights  (n_rows,)
    p        (n_rows, n_classes) P(class | row)
    """
    n_odds = 1 if p.shape[1] == 2 else p.shape[1]
    groups = _groups(design, n_odds)
    n_effects = sum(design.sizes)
    rank = min(n_effects * n_odds, MAX_RANK)
    drawn = np.random.default_rng(SEED).standard_normal((n_effects * n_odds, rank)) / np.sqrt(rank)
    if n_effects * n_odds <= MAX_RANK:
        drawn = np.eye(n_effects * n_odds)
    found: list[Array] = [np.zeros((size, n_odds, rank)) for size in design.sizes]
    used = 0
    for blocks, odds in groups:
        hessian = _hessian(design, blocks, weights, p, odds)
        upper = cho_factor(hessian)[0]
        size = len(hessian)
        factor = solve_triangular(upper, drawn[used : used + size]).reshape(len(odds), -1, rank).swapaxes(0, 1)
        used += size
        parts = np.split(factor, np.cumsum([design.sizes[block] for block in blocks])[:-1])
        for block, part in zip(blocks, parts, strict=True):
            found[block][:, list(odds)] = part
    return found


def _groups(design: Design, n_odds: int) -> list[tuple[list[int], tuple[int, ...]]]:
    """Blocks and odds that are solved for together."""
    every, sizes = list(range(len(design.bases))), design.sizes
    all_odds = tuple(range(n_odds))
    if sum(sizes) * n_odds <= MAX_TOGETHER:
        return [(every, all_odds)]
    groups: list[list[int]] = [every]
    if sum(sizes) > MAX_TOGETHER:
        groups = [[b for b in every if design.together[b] == group] for group in sorted(set(design.together))]
        groups = [part for own in groups for part in _parts(own, sizes)]
    found: list[tuple[list[int], tuple[int, ...]]] = []
    for own in groups:
        apart = sum(sizes[block] for block in own) * n_odds > MAX_TOGETHER
        found += [(own, (odd,)) for odd in all_odds] if apart else [(own, all_odds)]
    return found


def _parts(blocks: list[int], sizes: Sequence[int]) -> list[list[int]]:
    """The blocks in parts of at most MAX_TOGETHER effects, or of one block."""
    parts: list[list[int]] = [[]]
    for block in blocks:
        if parts[-1] and sum(sizes[own] for own in parts[-1]) + sizes[block] > MAX_TOGETHER:
            parts.append([])
        parts[-1].append(block)
    return parts


def _hessian(design: Design, blocks: list[int], weights: Array, p: Array, odds: tuple[int, ...]) -> Array:
    """(odds * effects, odds * effects) of some blocks and odds."""
    size = sum(design.sizes[block] for block in blocks)
    n_rows = len(weights)
    step = max(1, int(np.ceil(n_rows * float(size) ** 2 * len(odds) ** 2 / MAX_WORK)))
    used = slice(0, n_rows, step)
    scale = weights.sum() / weights[used].sum()
    hessian = np.zeros((len(odds), size, len(odds), size))
    height = max(1, BLOCK_CELLS // max(1, size)) * step
    for first in range(0, n_rows, height):
        rows = slice(first, min(first + height, n_rows), step)
        effects, own, weight = design.of_rows(rows, blocks), p[rows], weights[rows]
        for a, c in enumerate(odds):
            for b, k in enumerate(odds[: a + 1]):
                curvature = own[:, c] * ((1.0 if c == k else 0.0) - own[:, k])
                hessian[a, :, b] += (effects * (weight * curvature)[:, np.newaxis]).T @ effects
    for a in range(len(odds)):
        for b in range(a):
            hessian[b, :, a] = hessian[a, :, b].T
    square = scale * hessian.reshape(len(odds) * size, -1)
    precision = np.concatenate([design.precision[block] for block in blocks])
    held = np.maximum(np.tile(precision, len(odds)), FREE_PRECISION * (1.0 + weights.sum()))
    square[np.diag_indices(len(square))] += held
    return square
