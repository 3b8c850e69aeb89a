"""Rows to learn from: distinct rows in a canonical order, and how they are assigned to folds.

A row is assigned to one fold, whatever its weight, and equal rows are assigned one by one, at random within each class.
The assignment depends on what rows hold and not on where they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tanager.additive.objective import probabilities, row_losses
from tanager.arrays import Array, Codes
from tanager.table.rows import LARGEST_KEY, Blocks, EncodedBatch, Rows, gather, join_blocks, relative_weights, row_keys

N_FOLDS = 3  # five take twice as long and choose no better
# Everything is chosen on all rows up to so many, and of more on a number that grows with their root: with 12,000 of
# 465,000 rows trees ended after 90 rounds where 270 are best.
ALL_ROWS = 20_000
# Trees are grown on at most so many rows, drawn at random, and terms are fitted to half of them: the others would
# move a curve by less than its error.
MAX_FITTED = 200_000
SEED = 0


@dataclass(frozen=True)
class Sample:
    """Distinct rows.

    codes    (n, n_attributes) fine codes
    classes  (n,) class codes
    counts   (n,) how many rows are equal to this one
    weights  (n,) the weight of each of them, 1 in the mean: strengths are in units of rows
    """

    codes: Codes
    classes: NDArray[np.intp]
    counts: NDArray[np.int64]
    weights: Array

    @classmethod
    def of(cls, rows: Rows, places: NDArray[np.intp]) -> Sample:
        """The rows, wherever they are, in canonical order; `places` are the columns of the fine codes."""
        share = MAX_FITTED / max(rows.n_rows, 1)
        unit = rows.outline.least_weight or 1.0  # so that rows are the same whatever weights are measured in
        if share < 1.0:
            drawn = rows.sum(partial(_draw, places=places, share=share, unit=unit), "draw").values
            batch = join_blocks(drawn, rows.n_states)
        else:
            batch = gather(rows)
        codes, classes, weights = batch.codes[:, places], batch.class_codes, batch.row_weights
        keys = row_keys(codes, classes, relative_weights(weights, unit))
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        weights = weights[first] * (len(keys) / (counts @ weights[first]))
        return cls(np.ascontiguousarray(codes[first]), classes[first].astype(np.intp), counts, weights)

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    @property
    def totals(self) -> Array:
        """(n,) the weight of all copies of a row."""
        return self.counts * self.weights

    def at_most(self, most: int) -> Sample:
        """A random sample of the distinct rows: a view of the first ones, because their order is random."""
        return self.take(slice(most))

    def take(self, kept: NDArray[np.bool_] | slice) -> Sample:
        return Sample(self.codes[kept], self.classes[kept], self.counts[kept], self.weights[kept])


def _draw(batch: EncodedBatch, places: NDArray[np.intp], share: float, unit: float) -> Blocks[EncodedBatch]:
    """A share of the rows of a block, by what they hold; equal rows are told apart by their number."""
    keys = row_keys(batch.codes[:, places], batch.class_codes, relative_weights(batch.row_weights, unit))
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    copy = np.arange(len(keys)) - np.repeat(first, np.diff([*first, len(keys)]))
    drawn = row_keys(copy[:, np.newaxis].astype(np.uint64), np.zeros(len(keys), np.uint8), ranked.view(np.float64))
    return Blocks((batch.take(np.sort(order[drawn <= share * LARGEST_KEY])),))


@dataclass(frozen=True)
class Folds:
    """A sample, and how many copies of each row every fold validates: held_out (n, n_folds)."""

    sample: Sample
    held_out: NDArray[np.int64]

    @classmethod
    def of(cls, sample: Sample, n_classes: int) -> Folds:
        """Assign every row to a fold, of many rows a random part, with the classes in proportion.

        Fewer rows are a part of more rows, in the same folds. A class of one row is learnt from only.
        """
        generator = np.random.default_rng(SEED)
        rows = np.repeat(np.arange(len(sample)), sample.counts)
        share = min(1.0, float(np.sqrt(ALL_ROWS / len(rows))))
        held_out, used = np.zeros((len(sample), N_FOLDS), np.int64), np.zeros(len(sample), np.int64)
        for number in range(n_classes):
            own = generator.permutation(rows[sample.classes[rows] == number])
            own = own[: int(np.ceil(share * len(own)))]
            used += np.bincount(own, minlength=len(sample))
            if len(own) > 1:
                np.add.at(held_out, (own, (number + np.arange(len(own))) % N_FOLDS), 1)
        kept = used > 0
        return cls(replace(sample, counts=used).take(kept), held_out[kept])

    @cached_property
    def training(self) -> Array:
        """(n, n_folds) weight of the training rows of each fold."""
        return (self.sample.counts[:, np.newaxis] - self.held_out) * self.sample.weights[:, np.newaxis]

    @cached_property
    def _validated(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
        """The validation rows: row, fold, number of copies."""
        rows, fold = np.nonzero(self.held_out)
        return rows, fold, self.held_out[rows, fold]

    def validated(self, scores: Array) -> Array:
        """(n_validated, n_columns) the log odds of validation rows, from scores (n, n_columns, n_folds)."""
        rows, fold, _ = self._validated
        return scores[rows, :, fold].astype(np.float64)

    @cached_property
    def classes(self) -> NDArray[np.intp]:
        """(n_validated,)"""
        return self.sample.classes[self._validated[0]]

    @cached_property
    def weights(self) -> Array:
        """(n_validated,) of a row, times its copies."""
        rows, _, copies = self._validated
        return copies * self.sample.weights[rows]

    @cached_property
    def noise(self) -> float:
        """A quarter of a pseudo-row whose class is unknown, divided by the number of validation rows.

        A few rows on which a fit is certain and right do not prove that such certainty is justified. With half a row
        (Krichevsky and Trofimov 1981) tables whose classes are a function of the attributes are fitted too weakly.
        """
        return 1 / (2 * 2 * max(int(self.held_out.sum()), 1))

    def losses(self, validated: Array) -> Array:
        """(n_validated,) log-loss with a quarter of a pseudo-row, from the log odds of validation rows."""
        return row_losses(validated, self.classes, self.noise)

    def mean(self, losses: Array) -> float:
        """Weighted mean of the losses of validation rows."""
        return float(self.weights @ losses) / max(float(self.weights.sum()), float(np.finfo(np.float64).tiny))

    def errors_above(self, losses: Array, others: Array) -> float:
        """Difference of two mean losses, in standard errors of the paired difference over rows."""
        rows, _, copies = self._validated
        difference = self.sample.weights[rows] * (losses - others)
        n = max(int(copies.sum()), 2)
        mean = float(copies @ difference) / n
        variance = float(copies @ (difference - mean) ** 2) / (n - 1)
        return mean / max(float(np.sqrt(variance / n)), float(np.finfo(np.float64).tiny))

    def best_weight(self, first: Array, second: Array) -> float:
        """The weight of the second in the mean of two log odds of validation rows that has the lowest loss.

        The loss is convex in the weight: where its slope changes the sign.
        """
        towards, columns = second - first, first.shape[1]
        is_class = self.classes[:, np.newaxis] == (np.arange(columns) if columns > 1 else np.ones(1, np.intp))

        def slope(weight: float) -> float:
            p = probabilities(first + weight * towards)
            residuals = p - is_class + self.noise * (p - 1 / max(columns, 2))
            return float(self.weights @ (residuals * towards).sum(axis=1))

        if slope(0.0) >= 0.0:
            return 0.0
        if slope(1.0) <= 0.0:
            return 1.0
        return float(brentq(slope, 0.0, 1.0, xtol=np.finfo(np.float16).eps))
