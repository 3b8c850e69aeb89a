"""Which predictions the page judges the model by, and the rows that they are of."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Array, Codes
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.training_rows import quality_of_training_table
from tanager.errors import DataError, DataWarning
from tanager.evaluate.cross_validate import cross_validate_model
from tanager.explain.explanation import log_base_rates
from tanager.metrics import Predictions, Quality, log_true
from tanager.metrics.quality import sampled_rows
from tanager.runtime.progress import working

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class JudgedRows:
    """A quality, and of each of its predictions the number of the row given; None where the two cannot be matched."""

    quality: Quality
    rows: Numbers | None

    @property
    def probabilities(self) -> Array:
        return self.quality.predictions.probabilities

    @property
    def class_codes(self) -> Numbers:
        return self.quality.predictions.class_codes.astype(np.intp)

    @property
    def losses(self) -> Array:
        """-log P(true class) of each prediction, in nats."""
        return -log_true(self.probabilities, self.class_codes)


def judge_rows(
    clf: TableClassifier,
    X: object,
    codes: Codes,
    class_codes: Numbers,
    probabilities: Array,
    quality: Quality | None,
) -> JudgedRows | None:
    """What is known of a model on the rows given, which all have a class; None where they are too few for folds.

    For the table that it was learnt from that is what models of other rows said of each row: the quality that the model
    keeps or, where it keeps none, a cross-validation made here. For other rows it is what the model itself says.
    """
    y = clf.classes_[class_codes]
    held_out = quality_of_training_table(clf, X, y, quality)
    if held_out is None and quality is None and is_training_table(clf, codes, class_codes):
        with working("Cross-validating") as update:
            try:
                held_out = cross_validate_model(clf, X, y, update=update)
            except DataError as error:
                warnings.warn(f"the page judges no predictions: {error}", DataWarning, stacklevel=5)
                return None
    if held_out is not None:
        return JudgedRows(held_out, match_rows(held_out, class_codes))
    predictions = Predictions(probabilities, class_codes, np.zeros(len(class_codes), dtype=np.intp))
    base_rate = np.exp(log_base_rates(clf))
    return JudgedRows(Quality.of(predictions, clf.classes_, base_rate, split=""), np.arange(len(class_codes)))


def match_rows(quality: Quality, class_codes: Numbers) -> Numbers | None:
    """The row of each prediction, where every row was judged once: all of them, or those that a model file keeps."""
    predictions = quality.predictions
    if quality.n_rows != len(class_codes):
        return None
    rows = sampled_rows(quality.n_rows, len(predictions.class_codes))
    return rows if np.array_equal(class_codes[rows], predictions.class_codes) else None


def is_training_table(clf: TableClassifier, codes: Codes, class_codes: Numbers) -> bool:
    """Whether rows are those that an additive model was learnt from, by all shares of states that it remembers.

    A network of tables does not remember them: its rows are never taken for those learnt from.
    """
    network = clf.model_
    counts = np.bincount(class_codes, minlength=len(clf.classes_))
    if network.kind != "effects" or not np.array_equal(counts, clf.class_count_):
        return False
    return all(
        np.allclose(_shares(codes[:, attribute], len(density)), density, rtol=0.0, atol=1e-9)
        for attribute, density in enumerate(network.densities)
    )


def _shares(codes: ArrayLike, n_states: int) -> Array:
    counts = np.bincount(np.asarray(codes, dtype=np.intp), minlength=n_states + 1)[:n_states]
    return counts / max(1, counts.sum())
