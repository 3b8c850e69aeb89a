"""BlockProblem: a model of effects on rows in memory, its penalty, and the compiled descent on both."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.descent import Descent
from tanager.parameters.effects.block_gap import duality_gap, solve_intercepts
from tanager.parameters.effects.blocks import block_cells, make_blocks, pad
from tanager.parameters.effects.descend_blocks import descend_blocks
from tanager.parameters.effects.layout import DenseBases, EffectLayout, dense_bases
from tanager.table.batch import EncodedBatch
from tanager.threads import map_threads

Array = NDArray[np.float64]

MAX_STEPS = 10_000  # of a descent; a few hundred are many
# What a thread takes at once: so many rows, or one of so many parts of the blocks.
PART_ROWS, BLOCK_PARTS = 2_048, 8


class BlockRows:
    """Rows as cells of a layout's blocks; the batch has gaps as states."""

    def __init__(self, layout: EffectLayout, batch: EncodedBatch) -> None:
        self.cells = block_cells(layout, batch)
        self._offsets = layout.cells.offsets
        self.classes = batch.class_codes.astype(np.int64)
        self.weights = np.array(batch.row_weights)  # one that may be written, or the compiler would begin anew

    def count(self, n_classes: int) -> Array:
        """(n_cells, n_classes) rows in each cell."""
        from tanager.parameters.effects.row_kernels import count_cells

        counted = np.zeros((self._offsets[-1], n_classes))
        count_cells(self._offsets, self.cells, self.classes, self.weights, counted)
        return counted

    def scores(self, beta: Array) -> Array:
        """(n_rows, width) sums of the entries of beta (n_cells, n_classes): log odds of two classes, or of each.

        The width is that of `block_kernels.padded`.
        """
        return self.sums(pad(beta[:, :1] - beta[:, 1:] if beta.shape[1] == 2 else beta))

    def sums(self, tables: Array) -> Array:
        """(n_rows, width) sums of the entries of tables (n_cells, width)."""
        from tanager.parameters.effects.row_kernels import add_tables

        total = np.zeros((len(self.classes), tables.shape[1]))

        def add(first: int) -> None:
            add_tables(self._offsets, self.cells, first, tables, total[first : first + PART_ROWS])

        map_threads(add, range(0, len(total), PART_ROWS))
        return total

    def losses(self, beta: Array) -> Array:
        """- log P(class | attributes) of every row, (n_rows,)."""
        from tanager.parameters.effects.row_kernels import row_losses

        losses = np.empty(len(self.classes))
        row_losses(self._offsets, self.cells, self.classes, beta, losses)
        return losses


class BlockProblem:
    """Minus the conditional log likelihood plus a penalty of every block of effects u, of one of two kinds:

    squared  strength / 2 |u|^2
    norm     strength sqrt(rows) weight |u|, the block's weight as `Blocks` has it: zero where the rows say too little

    |u| is the root of the sum of squares over the block's effects and all classes. The intercept is free. `counted`
    (n_cells, n_classes) are the training rows in each cell of the layout.
    """

    def __init__(
        self, layout: EffectLayout, batch: EncodedBatch, bases: DenseBases | None = None, rough: bool = False
    ) -> None:
        """The batch has gaps as states; `bases` are those of its rows where they are known, `rough` as there."""
        self.layout = layout
        self.rows = BlockRows(layout, batch)
        counted = self.rows.count(layout.n_classes)
        mains, _, classes = layout.split(counted)
        gaps = np.array([main[-1].any() for main in mains], dtype=bool)
        self.bases = dense_bases(layout, counted, rough) if bases is None else bases
        self.blocks = make_blocks(layout, self.bases, counted.sum(axis=1), gaps)
        self.counted = counted
        self.n_rows = float(classes.sum())
        self._mirrored = layout.n_classes == 2
        self._n_odds = 1 if self._mirrored else layout.n_classes
        # A class without rows has no finite intercept: it stays at half a row.
        self._free = np.full(1, float((classes > 0).all())) if self._mirrored else (classes > 0).astype(np.float64)
        self._free_odds = pad(self._free[np.newaxis])[0], self._n_odds
        self._centre = np.zeros(counted.shape)
        self._centre[-1] = np.log(np.maximum(classes, 0.5) / classes.sum())
        self.start = self._centre
        self._widths = np.ones(self.blocks.n_blocks)
        self._reached: tuple[Array, Array, NDArray[np.bool_]] | None = None  # the last descent's end, scores and blocks
        self.n_passes = 0
        self.set_penalty(False)
        self.set_strengths(())

    def again(self) -> BlockProblem:
        """The same rows and effects, for another penalty at the same time."""
        other = copy(self)
        other._widths, other._reached, other.n_passes = np.ones(self.blocks.n_blocks), None, 0
        return other

    @property
    def n_levels(self) -> int:
        return 2 if self.layout.pairs else 1

    @property
    def zero(self) -> Array:
        """(n_effects, n_odds)."""
        return np.zeros((self.blocks.n_effects, self._n_odds))

    def set_prior_mean(self, mean: Array | float) -> None:
        """Where the penalty pulls to, (n_cells, n_classes) as seen from the class frequencies, or 0 for these."""
        self.start = self._centre + mean
        self._reached = None
        self.__dict__.pop("_start_scores", None)

    def set_penalty(self, norm: bool, factors: Array | None = None) -> None:
        """The kind of penalty; `factors` (n_blocks,) multiply the strengths of its blocks."""
        self._is_norm, self._factors = norm, factors

    def set_strengths(self, strengths: Sequence[float]) -> None:
        """Of main effects and of pairs, infinite for none at all."""
        n_mains, n_blocks = len(self.layout.columns), self.blocks.n_blocks
        last = strengths[-1] if strengths else np.inf
        each = np.full(n_blocks, last)
        each[:n_mains] = strengths[0] if strengths else np.inf
        if self._factors is not None:
            each = each * self._factors
        each[-1] = 0.0
        self._is_used = np.isfinite(each)
        self._used = np.flatnonzero(self._is_used)
        each[~self._is_used] = 0.0
        if self._is_norm:
            each *= np.sqrt(self.n_rows) * self.blocks.weights
        # Of two classes the effects on the log odds are twice those on either class.
        self._penalty = np.zeros((n_blocks, 2))
        self._squared, self._norm = self._penalty.T
        both = np.sqrt(0.5) if self._is_norm else 0.5
        self._penalty[:, int(self._is_norm)] = each * (both if self._mirrored else 1.0)

    def descend(self, u: Array, max_iter: int, tolerance: float) -> Descent:
        """Descend from effects u (n_effects, n_odds) until about `tolerance` (value + rows / 100) is left to gain."""
        scores = self._scores_at(u)
        u = pad(self._only_used(u))
        blocks, rows = self.blocks, self.rows
        model = blocks.shapes, blocks.bases, blocks.squares, blocks.squared_means, blocks.shares
        data = rows.cells, rows.classes, rows.weights
        penalized = self._used, self._penalty, self._widths
        state = u, scores, min(max_iter, MAX_STEPS)
        values, gains, n_sweeps, finished = descend_blocks(model, data, self._free_odds, *penalized, tolerance, *state)
        self.n_passes += n_sweeps
        # Half of the square of a norm is what is left to gain.
        norms = np.sqrt(2.0 * np.maximum(np.append(gains, gains[-1]), 0.0))
        end = "tolerance" if finished else "max_iter"
        reached = u[:, : self._n_odds].copy()
        self._reached = reached, scores, self._is_used
        return Descent(reached, values.tolist(), norms.tolist(), end)

    def _scores_at(self, u: Array) -> Array:
        """(n_rows, width) of the effects in use, to be changed; those at the end of the last descent are known."""
        if self._reached is not None and self._reached[0] is u and self._is_used[self._reached[2]].all():
            return self._reached[1]
        return self._start_scores + self.rows.sums(self._odds_tables(pad(self._only_used(u))))

    def certify(self, descent: Descent) -> None:
        """Solve for the intercepts, and set the bound of the descent: what is left to gain at most (`block_gap`)."""
        rows, scores = self.rows, self._scores_at(descent.u)
        shift, p = solve_intercepts(scores.T[: self._n_odds], rows.classes, rows.weights, self._free)
        descent.u[-1] += shift
        self._reached = None
        slopes = self._slopes(pad(p.T))
        used, ends = self._used[:-1], self.blocks.shapes[:, 7]
        u, by_block = (
            [values[ends[b] : ends[b + 1]] for b in used] for values in (descent.u, slopes[:, : self._n_odds])
        )
        strengths = self._squared[used], self._norm[used]
        descent.bound = duality_gap(p, rows.classes, rows.weights, u, by_block, *strengths)

    def loss_and_slopes(self, u: Array) -> tuple[float, Array]:
        """Without the penalty, at padded effects u (n_effects, width); slopes (n_effects, width) of blocks in use."""
        from tanager.parameters.effects.row_kernels import probabilities

        scores = self._start_scores + self.rows.sums(self._odds_tables(u))
        p, rows = np.empty_like(scores), self.rows

        def part(first: int) -> float:
            here = slice(first, first + PART_ROWS)
            return probabilities(scores[here], self._n_odds, rows.classes[here], rows.weights[here], p[here])

        losses = map_threads(part, range(0, len(scores), PART_ROWS))
        self.n_passes += 1
        return float(sum(losses)), self._slopes(p)

    @property
    def precision(self) -> Array:
        """(n_effects, n_odds) of the squared penalty; infinite for what may not move."""
        each = np.full(self.blocks.n_blocks, np.inf)
        each[self._used] = self._squared[self._used]
        by_effect = np.repeat(np.repeat(each, np.diff(self.blocks.shapes[:, 7]))[:, np.newaxis], self._n_odds, axis=1)
        by_effect[-1, self._free == 0.0] = np.inf
        return by_effect

    def rows_behind(self) -> Array:
        """(n_effects, n_odds) the rows that an effect moves, by the square of how far it moves them."""
        from tanager.parameters.effects.block_model import sum_blocks

        blocks, shapes = self.blocks, self.blocks.shapes.copy()
        shapes[:, 11] = 0  # squares are not centred
        moved, weights = np.zeros((blocks.n_effects, 1)), self.rows.weights[:, np.newaxis].copy()
        sum_blocks(shapes, blocks.squares, blocks.shares, self.rows.cells, self._used, weights, moved)
        return np.repeat(moved, self._n_odds, axis=1) * (0.5 if self._mirrored else 1.0) ** 2

    def to_odds(self, u: Array) -> Array:
        """(n_effects, n_odds) from effects on every class, (n_effects, n_classes)."""
        return u[:, :1] - u[:, 1:] if self._mirrored else u

    def beta(self, u: Array) -> Array:
        """(n_cells, n_classes) the effects of every cell and class, with what they start from."""
        tables, beta = self._odds_tables(pad(u)), self.start.copy()
        if self._mirrored:
            halves = 0.5 * tables[:, 0]
            beta[:, 0] += halves
            beta[:, 1] -= halves
            return beta
        beta += tables[:, : self._n_odds]
        return beta

    def is_zero(self, u: Array, level: int) -> bool:
        """Whether all main effects (level 0), or all pairs (level 1), are exactly zero."""
        n_mains = self.blocks.shapes[len(self.layout.columns), 7]
        return not (u[n_mains:-1] if level else u[:n_mains]).any()

    def block_sizes(self, u: Array) -> Array:
        """(n_blocks,) |u| of each block."""
        sizes = np.sqrt(np.add.reduceat((u**2).sum(axis=1), self.blocks.shapes[:-1, 7]))
        return sizes * np.sqrt(0.5) if self._mirrored else sizes

    def adaptive_factors(self, u: Array) -> Array:
        """(n_blocks,) how much larger the largest block is than each, in what the rows see; infinite for a zero one."""
        sizes = self.block_sizes(u) * self.blocks.weights
        largest = sizes[:-1].max(initial=0.0)
        return np.divide(largest, sizes, out=np.full(len(sizes), np.inf), where=sizes > 0.0)

    @cached_property
    def _start_scores(self) -> Array:
        return self.rows.scores(self.start)

    def _slopes(self, p: Array) -> Array:
        """(n_effects, width) of the loss by the effects of blocks in use, at probabilities p (n_rows, width)."""
        from tanager.parameters.effects.block_model import sum_blocks

        blocks, rows = self.blocks, self.rows
        residuals = p * rows.weights[:, np.newaxis]
        own = np.flatnonzero(rows.classes < p.shape[1])  # of two classes the second has no column
        residuals[own, rows.classes[own]] -= rows.weights[own]
        slopes = np.zeros((blocks.n_effects, p.shape[1]))

        def fill(used: NDArray[np.intp]) -> None:
            sum_blocks(blocks.shapes, blocks.bases, blocks.shares, rows.cells, used, residuals, slopes)

        # Each has a place of its own in the slopes: threads change no digit.
        map_threads(fill, np.array_split(self._used, 1 if len(p) <= PART_ROWS else BLOCK_PARTS))
        return slopes

    def _only_used(self, u: Array) -> Array:
        if self._is_used.all():
            return u
        return u * np.repeat(self._is_used, np.diff(self.blocks.shapes[:, 7]))[:, np.newaxis]

    def _odds_tables(self, u: Array) -> Array:
        """(n_cells, width) of padded effects."""
        from tanager.parameters.effects.block_kernels import fill_tables

        blocks = self.blocks
        tables = np.zeros((blocks.n_cells, u.shape[1]))
        fill_tables(blocks.shapes, blocks.bases, blocks.shares, u, tables)
        return tables
