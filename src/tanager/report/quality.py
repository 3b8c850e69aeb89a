"""How good a model is on rows whose class is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import precision_recall_curve, roc_curve

from tanager.arrays import Array
from tanager.decide import Decision
from tanager.metrics import Measures, Quality, ReliabilityCurve, areas_under_roc, measure_calibration, one_hot
from tanager.report.json_page import Json, number, numbers
from tanager.report.thresholds import describe_thresholds

MAX_CURVES = 60
MAX_POINTS = 6_000


def describe_quality(quality: Quality, decision: Decision | None = None) -> dict[str, Json]:
    """What was measured, with areas, curves and thresholds of one class against the rest.

    The areas of classes and the curves are of the predictions at hand, which may be a part of those measured.
    """
    proba, class_codes = quality.predictions.probabilities, quality.predictions.class_codes
    n_classes = len(quality.classes)
    truth = one_hot(class_codes, n_classes)
    calibrated = measure_calibration(proba, class_codes, quality.classes)
    areas = areas_under_roc(proba, class_codes)
    return {
        "split": quality.split,
        "n_rows": quality.n_rows,
        **{name: number(value) for name, value in quality.measures._asdict().items()},
        "intervals": {
            name: [number(low, 4), number(high, 4)]
            for name, low, high in zip(Measures._fields, quality.low, quality.high, strict=True)
        },
        "base_rate": {name: number(value) for name, value in quality.base._asdict().items()},
        "calibration_error": number(quality.calibration_error),
        "confusion": quality.confusion.tolist() if n_classes <= MAX_CURVES else None,
        "n_kept": len(class_codes),
        "classes": [
            {"support": int(quality.confusion[k].sum()), **shares, "auc": number(areas[k], 6)}
            for k, shares in enumerate(quality.by_class())
        ],
        "curves": [
            _curves(truth[:, k], proba[:, k], n_classes, calibrated.by_class[k])
            for k in range(min(n_classes, MAX_CURVES))
        ],
        "thresholds": [describe_thresholds(quality, k, decision) for k in range(min(n_classes, MAX_CURVES))],
    }


def _curves(
    truth: NDArray[np.bool_], proba: Array, n_classes: int, reliability: ReliabilityCurve
) -> dict[str, Json] | None:
    """ROC, precision and recall, and calibration of one class; None where the rows are all of it or none is."""
    if truth.all() or not truth.any():
        return None
    n_points = max(20, min(200, MAX_POINTS // n_classes))
    false_rate, true_rate, _ = roc_curve(truth, proba)
    precision, recall, _ = precision_recall_curve(truth, proba, drop_intermediate=True)
    return {
        "roc": _points(false_rate, true_rate, n_points),
        "pr": _points(recall[::-1], precision[::-1], n_points),
        "share": number(truth.mean(), 4),
        "calibration": [
            [number(predicted, 5), number(observed, 5), count, *_wilson(observed, count)]
            for predicted, observed, count in zip(
                reliability.mean_predicted, reliability.observed, reliability.count, strict=True
            )
        ],
    }


def _wilson(share: float, count: int) -> list[Json]:
    """The ends of a 95 % interval of a share of so many rows (Wilson 1927)."""
    interval = binomtest(round(share * count), count).proportion_ci(method="wilson")
    return [number(interval.low, 5), number(interval.high, 5)]


def _points(x: Array, y: Array, most: int) -> list[Json]:
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), most)).round().astype(int))
    return [list(numbers(x[chosen])), list(numbers(y[chosen]))]
