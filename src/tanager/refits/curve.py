"""Would more rows help? The log-loss of fits to growing shares of the rows, and what it would be with more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Array
from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError, OptionError
from tanager.evaluate.cross_validate import labelled_rows
from tanager.evaluate.held_out import HeldOut
from tanager.evaluate.measured_fold import judge_fold, take_rows
from tanager.html_table import html_table
from tanager.metrics.basic import log_true
from tanager.runtime.progress import Update
from tanager.table.frame import make_frame
from tanager.table.training_table import read_training
from tanager.uncertainty.interval import Interval

SHARES = (0.125, 0.25, 0.5, 1.0)
LEVEL = 0.9
N_DRAWS = 500
# Exponents of the power law: from slower than any of the benchmark sets to that of a well-specified model.
EXPONENTS = np.linspace(0.3, 1.2, 10)
SEED = 0


@dataclass(frozen=True)
class LearningCurve:
    """Log-loss of rows held out, by how many rows the model was fitted to.

    The extrapolation is a + b / n^c with b >= 0 and c from 0.3 to 1.2. Its interval is over draws of the rows held out
    (paired: all fits judge the same rows); that of a single fit to other rows would be wider.

    n_rows  (n_sizes,) rows fitted to, in the mean over folds
    losses  (n_rows_judged, n_sizes) - log P(class | row) of every row, by the fit of each size that had not seen it
    """

    n_rows: Array
    losses: Array

    @property
    def log_loss(self) -> Array:
        """(n_sizes,) the mean."""
        found: Array = self.losses.mean(axis=0)
        return found

    @property
    def n_judged(self) -> int:
        return len(self.losses)

    def at(self, n_rows: float | Sequence[float]) -> Interval:
        """The log-loss expected of so many rows, with a 90 % interval."""
        sizes = np.atleast_1d(np.asarray(n_rows, dtype=np.float64))
        if not (sizes > 0).all():
            raise OptionError(f"n_rows={n_rows!r} must be a number of rows, above zero.")
        draws = np.random.default_rng(SEED).standard_exponential((N_DRAWS, len(self.losses)))
        means = draws @ self.losses / draws.sum(axis=1, keepdims=True)
        tail = (1.0 - LEVEL) / 2.0
        drawn = _extrapolate(self.n_rows, means, sizes)
        low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
        middle = _extrapolate(self.n_rows, self.log_loss[np.newaxis], sizes)[0]
        return Interval(np.minimum(low, middle), middle, np.maximum(high, middle))

    @property
    def gain(self) -> Interval:
        """By how much twice the rows of the largest fit would lower the log-loss, with a 90 % interval."""
        draws = np.random.default_rng(SEED).standard_exponential((N_DRAWS, len(self.losses)))
        means = np.vstack([self.log_loss, draws @ self.losses / draws.sum(axis=1, keepdims=True)])
        both = _extrapolate(self.n_rows, means, np.array([1.0, 2.0]) * self.n_rows[-1])
        gains, tail = both[:, 0] - both[:, 1], (1.0 - LEVEL) / 2.0
        low, high = np.quantile(gains[1:], [tail, 1.0 - tail])
        return Interval(*(np.array([value]) for value in (min(low, gains[0]), gains[0], max(high, gains[0]))))

    @property
    def headline(self) -> str:
        """In a line."""
        low, middle, high = (float(value[0]) for value in self.gain)
        now, twice = self.n_rows[-1], 2 * self.n_rows[-1]
        return (
            f"With {twice:,.0f} rows in place of {now:,.0f} the log-loss of {self.log_loss[-1]:.4f} would be lower by "
            f"about {middle:.4f} ({low:.4f} to {high:.4f})."
        )

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        low, middle, high = (float(value[0]) for value in self.gain)
        return {
            "n_rows": self.n_rows.tolist(),
            "log_loss": self.log_loss.tolist(),
            "gain_of_twice_the_rows": {"value": middle, "lower": low, "upper": high},
        }

    def to_frame(self, library: str = "pandas") -> Any:
        """A line per size: rows and log-loss, then what is expected of twice and of four times the rows."""
        return make_frame(self._columns(), library)

    def _columns(self) -> dict[str, list[Any]]:
        more = np.array([2.0, 4.0]) * self.n_rows[-1]
        expected = self.at(more)
        measured = len(self.n_rows)
        return {
            "n_rows": [*self.n_rows.tolist(), *more.tolist()],
            "log_loss": [*self.log_loss.tolist(), *expected.median.tolist()],
            "lower": [*[None] * measured, *expected.lower.tolist()],
            "upper": [*[None] * measured, *expected.upper.tolist()],
            "measured": [*[True] * measured, False, False],
        }

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = []
        for n_rows, loss, low, high, measured in zip(*self._columns().values(), strict=True):
            lines.append((f"{n_rows:,.0f}", f"{loss:.4f}", "" if measured else f"expected, {low:.4f} to {high:.4f}"))
        return lines

    def __str__(self) -> str:
        lines = [f"{n_rows:>9}  {loss}  {note}".rstrip() for n_rows, loss, note in self._lines()]
        return "\n".join([f"{'rows':>9}  log-loss", *lines, self.headline])

    def _repr_html_(self) -> str:
        return html_table("Log-loss by rows", ["rows", "log-loss", ""], self._lines(), self.headline)


def learning_curve(
    clf: TableClassifier,
    X: object,
    y: ArrayLike,
    *,
    shares: Sequence[float] = SHARES,
    folds: int = 5,
    seed: int = 0,
    update: Update | None = None,
) -> LearningCurve:
    """Fit clones of a classifier to growing shares of the rows, and judge each by the rows of a fold held out.

    Parameters
    ----------
    clf : classifier
        Its options count; it stays as it is.
    X : table
        The rows.
    y : array of classes
        Their classes; rows without one are left out.
    shares : sequence of float
        Of the rows of the other folds, ascending; three or more. As many fits as shares times folds.
    folds : int
        Parts of the rows, each held out once.
    seed : int
        For the folds and the shares; a smaller share is part of a larger one.
    update : callable, optional
        Told how far the work is (`tanager.runtime.progress`).

    Returns
    -------
    LearningCurve
        The log-loss by rows, and what is expected of more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import NaiveBayesClassifier, learning_curve
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> curve = learning_curve(NaiveBayesClassifier(), X, y)
    >>> curve.n_rows.tolist()
    [15.0, 30.0, 60.0, 120.0]
    """
    sizes = list(shares)
    if len(sizes) < 3 or sorted(set(sizes)) != sizes or not sizes[0] > 0.0 or sizes[-1] > 1.0:
        raise OptionError(f"shares={shares!r} must be three numbers or more, ascending, above 0 and up to 1.")
    labels, labelled = labelled_rows(X, y)
    rows = take_rows(X, labelled)
    training = read_training(rows, labels, None)
    splits, _ = HeldOut(folds, 1, None, None, seed).split(training.class_codes, len(training.table.names))
    rng = np.random.default_rng(seed)
    losses, n_rows = [], []
    for number, (train, test) in enumerate(splits):
        order = _dealt(training.class_codes[train].astype(np.intp), rng)
        by_size, counts = [], []
        for share in sizes:
            if update is not None:
                update(f"Fold {number + 1} of {len(splits)}, {share:.0%} of its rows", number, len(splits))
            part = np.sort(train[order[: max(1, round(share * len(train)))]])
            if np.ptp(training.class_codes[part].astype(np.intp)) == 0:
                raise DataError(
                    f"a share of {share:g} is {len(part):,} rows of one class: too few to fit to.",
                    hint="give larger shares.",
                )
            judged = judge_fold(clf, rows, labels, part, test, training.classes)
            by_size.append(-log_true(judged.probabilities, training.class_codes[test].astype(np.intp)))
            counts.append(float(len(part)))
        losses.append(np.column_stack(by_size))
        n_rows.append(counts)
    return LearningCurve(np.mean(n_rows, axis=0), np.concatenate(losses))


def _dealt(classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """An order of the rows whose first rows have the classes in about their shares, as all have."""
    place = np.empty(len(classes))
    for code in np.unique(classes).tolist():
        own = np.flatnonzero(classes == code)
        place[rng.permutation(own)] = (np.arange(len(own)) + rng.random()) / len(own)
    return np.argsort(place, kind="stable")


def _extrapolate(n_rows: Array, means: Array, sizes: Array) -> Array:
    """(n_draws, n_sizes) of the power law nearest to each line of means, larger fits counting for more."""
    weights = np.sqrt(n_rows / n_rows[-1])
    best = np.full(len(means), np.inf)
    found = np.empty((len(means), len(sizes)))
    for exponent in EXPONENTS:
        x = (n_rows / n_rows[-1]) ** -exponent
        centre = np.average(x, weights=weights)
        middle = np.average(means, axis=1, weights=weights)
        slope = ((x - centre) * weights) @ (means - middle[:, np.newaxis]).T / ((x - centre) ** 2 @ weights)
        slope = np.maximum(slope, 0.0)
        left = ((means - middle[:, np.newaxis] - slope[:, np.newaxis] * (x - centre)) ** 2) @ weights
        better = left < best
        best[better] = left[better]
        at = (sizes / n_rows[-1]) ** -exponent - centre
        found[better] = (middle[:, np.newaxis] + slope[:, np.newaxis] * at)[better]
    return found
