"""How numeric columns are cut: by MDLP, at quantiles, by a scikit-learn transformer that bins, or by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from tanager.arrays import Array, Flags, Places
from tanager.errors import DataError, OptionError
from tanager.registry import check_option, nearest_first
from tanager.runtime.resources import map_threads, thread_limit
from tanager.table.columns import as_number, code_dtype
from tanager.table.read_columns import refuse_mask
from tanager.table.schema import ColumnSchema
from tanager.table.training_table import encode_labels, read_sample_weight
from tanager.table.value_counts import (
    ValueCounts,
    changes,
    count_values,
    midpoints,
    no_cuts,
    quantile_cuts,
    rank_sorted,
    sum_by,
)

Cutter = Callable[[ValueCounts, int], NDArray[np.float64]]
"""(how often each class has each distinct value, number of classes) -> increasing cut points."""

# Candidate cuts are ties when their weighted entropies differ by less than this part of the segment's entropy.
_TIE = 1e-10


@dataclass(frozen=True)
class Discretizer:
    """Where numeric columns are cut: only at the points given `by_hand` for a column, otherwise where `learn` says."""

    learn: Cutter
    by_hand: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def cuts(self, name: str, counts: ValueCounts, n_classes: int) -> Array:
        return np.array(self.by_hand[name]) if name in self.by_hand else self.learn(counts, n_classes)

    def check_columns(self, columns: Sequence[ColumnSchema]) -> None:
        """Refuse cut points of what is no column of numbers."""
        kinds = {column.name: column.kind for column in columns}
        for name in self.by_hand:
            if kinds.get(name) != "numeric":
                what = "a column of categories" if name in kinds else "no column"
                nearest = ", ".join(map(repr, nearest_first(name, [key for key in kinds if key != name])[:5]))
                raise OptionError(f"discretizer has cut points for {name!r}, {what}; the nearest are {nearest}.")


class MDLPDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace each number by its bin, with the cut points of Fayyad and Irani (1993) learnt from the class labels.

    A column is cut where the weighted entropy of the classes is least, and each part again, while the gain is worth
    the description length of the cut (`mdl_cuts` gives the formula). A column that tells nothing gets one bin. Bin k
    holds the values with exactly k cuts at or below them. A missing value (NaN) is left out and stays NaN.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads over the columns; None and -1 mean every core.

    Attributes
    ----------
    cuts_ : list of arrays
        The increasing cut points of each column.
    bin_edges_ : array of arrays, of shape (n_features,)
        The cut points of each column between -inf and inf.
    n_bins_ : array of shape (n_features,)
        The number of bins of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from tanager.table import MDLPDiscretizer
    >>> X = np.array([[1.0, 5.0], [2.0, 1.0], [3.0, np.nan], [7.0, 5.0], [8.0, 1.0], [9.0, 5.0]])
    >>> y = ["low", "low", "low", "high", "high", "high"]
    >>> discretizer = MDLPDiscretizer().fit(X, y)
    >>> discretizer.cuts_
    [array([5.]), array([], dtype=float64)]
    >>> discretizer.transform([[4.0, 2.0], [6.0, np.nan]])
    array([[ 0.,  0.],
           [ 1., nan]])
    """

    cuts_: list[Array]
    bin_edges_: NDArray[np.object_]
    n_bins_: Places

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the cut points of each column of X (n_samples, n_features) from the labels y (n_samples,).

        A row of integer weight w counts as w rows, exactly.
        """
        refuse_mask(X, "X")
        refuse_mask(y, "y")
        table, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False)
        if labels.dtype.kind == "f":
            check_classification_targets(labels)  # refuses a target of real numbers
        classes, class_codes = encode_labels(labels)
        n_classes = len(classes)
        weights: Array | None = None
        if sample_weight is not None:
            weights = read_sample_weight(sample_weight, table)

        def cut_column(index: int) -> Array:
            counts = count_values(self._finite_column(table, index), class_codes, weights, n_classes=n_classes)
            return mdl_cuts(counts, n_classes)

        with thread_limit(self.n_jobs):
            self.cuts_ = map_threads(cut_column, range(table.shape[1]))
        self.bin_edges_ = np.empty(len(self.cuts_), dtype=object)
        self.bin_edges_[:] = [np.concatenate([[-np.inf], cuts, [np.inf]]) for cuts in self.cuts_]
        self.n_bins_ = np.array([cuts.size + 1 for cuts in self.cuts_])
        return self

    def transform(self, X: ArrayLike) -> Array:
        """The bin of each cell, a whole number in float64 (n_samples, n_features); NaN stays NaN."""
        check_is_fitted(self)
        refuse_mask(X, "X")
        table = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        bins = np.empty(table.shape, order="F")

        def fill_column(index: int) -> None:
            column = self._finite_column(table, index)
            bins[:, index] = np.searchsorted(self.cuts_[index], column, side="right")
            bins[np.isnan(column), index] = np.nan

        with thread_limit(self.n_jobs):
            map_threads(fill_column, range(table.shape[1]))
        return bins

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags

    def _finite_column(self, table: Array, index: int) -> Array:
        """One column, contiguous; an error names it if a value is infinite."""
        column = np.ascontiguousarray(table[:, index])
        if np.isinf(column).any():
            name = getattr(self, "feature_names_in_", range(table.shape[1]))[index]
            raise DataError(
                f"column {name!r} of X contains infinity; expected finite numbers, or NaN where missing.",
                hint="replace infinite values by NaN, or by a number beyond the others.",
            )
        return column


def mdl_cuts(counts: ValueCounts, n_classes: int) -> Array:
    """Increasing cut points of Fayyad and Irani (1993); a value x is in bin k when exactly k cuts are <= x.

    A segment of total weight N with k classes and entropy E splits where the weighted entropy of its parts is least, if

        N (E - (N1 E1 + N2 E2) / N) > log(N - 1) + log(3^k - 2) - (k E - k1 E1 - k2 E2),

    and so do the parts. Logs in any one base: nats here, bits in the paper. A segment of one class, or of weight 1 or
    less, is never split. Of equally good cuts the lowest is taken.

    A row of weight w counts as w rows. Weights below 1 in the mean are scaled to a mean of 1: N is at least the number
    of rows, however small the unit of the weights.
    """
    ranks, values = rank_sorted(counts.values)
    if values.size < 2:
        return np.empty(0)
    first_value = _block_starts(ranks, counts.classes)
    block = np.repeat(np.arange(first_value.size), np.diff(first_value, append=values.size))[ranks]
    # A run of values of one class is one pair.
    first_pair = np.flatnonzero(changes(block) | changes(counts.classes))
    weights = np.add.reduceat(counts.weights, first_pair) * max(1.0, counts.n_rows / counts.weights.sum())
    block, classes = block[first_pair], counts.classes[first_pair].astype(code_dtype(n_classes))
    order = np.argsort(classes, kind="stable")
    above = first_value[_split_blocks(block[order], classes[order], weights[order])]
    return midpoints(values[above - 1], values[above])


def _block_starts(ranks: Places, classes: Places) -> Places:
    """Index of the first value of each block.

    The best cut is never between neighbouring values of one and the same class (Fayyad and Irani 1992): such runs are
    one block, and only the borders of blocks are candidates.
    """
    first_pair = np.flatnonzero(changes(ranks))
    mixed = np.diff(first_pair, append=ranks.size) > 1
    starts = mixed | changes(classes[first_pair])
    starts[1:] |= mixed[:-1]
    return np.flatnonzero(starts)


@dataclass(frozen=True)
class _Segments:
    """Segments of consecutive blocks, by what the criterion asks of each: (n_segments,) all.

    starts     first block; the segment ends where the next starts
    weight     N
    n_classes  k
    disorder   N E, in nats
    """

    starts: Places
    weight: Array
    n_classes: Places
    disorder: Array

    @classmethod
    def measure(cls, starts: Places, block: Places, weights: Array, first: Flags) -> _Segments:
        """From the pairs: `first` flags the first pair of each (class, segment) group."""
        group = np.flatnonzero(first)
        totals = np.add.reduceat(weights, group)
        segment = np.searchsorted(starts, block[group], side="right") - 1
        weight = sum_by(segment, totals)
        return cls(starts, weight, np.bincount(segment), _xlogx(weight) - sum_by(segment, _xlogx(totals)))

    def select(self, chosen: Flags | slice) -> _Segments:
        return _Segments(self.starts[chosen], self.weight[chosen], self.n_classes[chosen], self.disorder[chosen])


def _split_blocks(block: Places, classes: NDArray[np.unsignedinteger], weights: Array) -> Places:
    """First block of every part but the lowest, increasing.

    The arguments (n_pairs,) are the (block, class) pairs by class, then block. All segments of one depth are split
    together, so that the work is a few array operations per depth, however many cuts there are; in this order the
    pairs of each (class, segment) group lie together at every depth.
    """
    first = changes(classes)
    segments = _Segments.measure(np.zeros(1, dtype=np.intp), block, weights, first)
    origin = np.arange(block.max() + 1)  # the number each remaining block had at the start
    if origin.size == 1:
        return origin[1:]
    cuts_by_depth = []
    while segments.starts.size:
        cuts = _best_cuts(segments, block, weights, first)
        starts = np.stack([segments.starts, cuts], axis=1).ravel()
        sizes = np.diff(starts, append=origin.size)
        first = first | changes(np.repeat(np.arange(starts.size), sizes)[block])
        parts = _Segments.measure(starts, block, weights, first)
        accepted = _pays(segments, parts.select(slice(0, None, 2)), parts.select(slice(1, None, 2)))
        cuts_by_depth.append(origin[cuts[accepted]])
        # Drop what is done, so that the work shrinks with the depth.
        going = np.repeat(accepted, 2) & (sizes > 1) & (parts.weight > 1)
        kept_blocks = np.repeat(going, sizes)
        kept_pairs = kept_blocks[block]
        block = (np.cumsum(kept_blocks) - 1)[block[kept_pairs]]
        weights, first, origin = weights[kept_pairs], first[kept_pairs], origin[kept_blocks]
        segments = replace(parts.select(going), starts=np.cumsum(sizes[going]) - sizes[going])
    return np.sort(np.concatenate(cuts_by_depth))


def _best_cuts(segments: _Segments, block: Places, weights: Array, first: Flags) -> Places:
    """The block at which the second part of each segment starts, when cut where the weighted entropy is least.

    With f(x) = x log x, a segment's N E is f(N) - sum_c f(N_c). Stepping over a pair changes the left and right
    weights L_c, R_c of its class only, so sum_c f(L_c) + f(R_c) for all cuts is a cumulative sum of steps over pairs:
    O(n_pairs) time and memory, however many classes.
    """
    left, right, whole = _sides(np.flatnonzero(first), weights)
    after = _xlogx(left) + _xlogx(right)
    before = np.concatenate([[0.0], after[:-1]])
    before[first] = _xlogx(whole)
    by_class = np.cumsum(sum_by(block, after - before))
    left, right, _ = _sides(segments.starts, sum_by(block, weights))
    gain = by_class - _xlogx(left) - _xlogx(right)  # N times the gain, less f(N)
    gain[np.append(segments.starts[1:], gain.size) - 1] = -np.inf  # no cut behind the last block
    best = np.maximum.reduceat(gain, segments.starts)
    sizes = np.diff(segments.starts, append=gain.size)
    ties = np.flatnonzero(gain >= np.repeat(best - _TIE * segments.disorder, sizes))
    return ties[np.searchsorted(ties, segments.starts)] + 1


def _sides(starts: Places, weights: Array) -> tuple[Array, Array, Array]:
    """For groups of consecutive items: weight up to each item, weight after it, both within its group; group totals."""
    sizes = np.diff(starts, append=weights.size)
    totals = np.add.reduceat(weights, starts)
    running = np.cumsum(weights)
    left = running - np.repeat(running[starts] - weights[starts], sizes)
    # Not below zero: with fractional weights the difference of sums is only nearly zero at the end of a group.
    return left, np.maximum(np.repeat(totals, sizes) - left, 0.0), totals


def _pays(whole: _Segments, low: _Segments, high: _Segments) -> Flags:
    k = whole.n_classes
    log_choices = k * np.log(3.0) + np.log1p(-2.0 * 3.0**-k)  # log(3^k - 2), without overflow
    spread = [part.n_classes * part.disorder / part.weight for part in (whole, low, high)]  # k E
    gain = whole.disorder - low.disorder - high.disorder
    return gain > np.log(whole.weight - 1) + log_choices - (spread[0] - spread[1] - spread[2])


def _xlogx(x: Array) -> Array:
    return x * np.log(np.maximum(x, np.finfo(np.float64).tiny))


DISCRETIZERS: dict[str, Cutter] = {
    "mdlp": mdl_cuts,
    "quantile": lambda counts, n_classes: quantile_cuts(counts, n_bins=8),
}


def choose_discretizer(discretizer: object, fine: bool = False) -> Discretizer:
    """The discretiser of that name, or one made of a scikit-learn transformer, or of cut points by column.

    None is MDLP, or with `fine` bins, which share strength with their neighbours and need not fit the class, no cut
    beside theirs: then nothing of the schema has seen a class, and rows held out are new to it. Columns without cut
    points are cut as by None.
    """
    by_default = no_cuts if fine else mdl_cuts
    if discretizer is None or isinstance(discretizer, Mapping):
        cuts = discretizer or {}
        return Discretizer(by_default, {name: _read_cuts(name, cuts[name]) for name in cuts})
    if not isinstance(discretizer, str) and hasattr(discretizer, "fit") and hasattr(discretizer, "transform"):
        return Discretizer(partial(_transformer_cuts, discretizer))
    try:
        return Discretizer(DISCRETIZERS[check_option("discretizer", discretizer, DISCRETIZERS)])
    except OptionError as error:
        hint = (
            "a scikit-learn transformer such as KBinsDiscretizer(), and cut points such as {'age': [18, 65]}, work too."
        )
        raise OptionError(str(error), hint=hint) from None


def _read_cuts(name: object, cuts: object) -> tuple[float, ...]:
    """Cut points given for a column, which may be dates or times."""
    try:
        points = np.array([float(as_number(cut)) for cut in cuts])  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        points = np.array([np.nan])
    if not isinstance(name, str) or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise OptionError(
            f"discretizer gives {name!r} the cut points {cuts!r:.60}; expected the name of a column and increasing "
            "numbers.",
            hint="discretizer={'age': [18, 65]}.",
        )
    return tuple(points.tolist())


def sees_class(discretizer: object) -> bool:
    """Whether cut points may depend on the classes of the rows; those of a transformer may."""
    return discretizer != "quantile"


def _transformer_cuts(transformer: object, counts: ValueCounts, n_classes: int) -> NDArray[np.float64]:
    """The inner edges of the bins of a transformer fitted to one column, which it publishes as `bin_edges_`."""
    if len(np.unique(counts.values)) < 2:
        return np.empty(0)
    fitted = clone(transformer)
    X, y, weights = counts.values[:, np.newaxis], counts.classes, counts.weights
    if has_fit_parameter(fitted, "sample_weight"):
        fitted.fit(X, y, sample_weight=weights)
    elif np.array_equal(weights, np.rint(weights)):
        repeats = weights.astype(np.int64)
        fitted.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    else:
        raise OptionError(f"discretizer {transformer!r} takes no sample_weight, and the weights are not whole numbers.")
    if not hasattr(fitted, "bin_edges_"):
        raise OptionError(
            f"discretizer {transformer!r} does not cut a column into intervals: it has no bin_edges_.",
            hint="use 'mdlp', 'quantile' or a transformer that bins, such as KBinsDiscretizer().",
        )
    return np.asarray(fitted.bin_edges_[0], dtype=np.float64)[1:-1]
