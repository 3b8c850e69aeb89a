"""How good a model is on rows whose class is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_curve

from tanager.measures import (
    ReliabilityCurve,
    accuracy,
    areas_under_roc,
    confusion_matrix,
    log_loss,
    mean_area,
    measure_calibration,
    one_hot,
)
from tanager.report.json_page import Json, number, numbers

MAX_CURVES = 60
MAX_POINTS = 6_000

Floats = NDArray[np.float64]


def describe_quality(
    proba: Floats, class_codes: NDArray[np.intp], classes: NDArray[np.generic], log_base_rates: Floats
) -> dict[str, Json]:
    """Measures of P(class | row), (n_rows, n_classes), against the true classes.

    `log_base_rates` (n_classes,) are those of the training rows. Curves are of one class against the
    rest.
    """
    n_rows, n_classes = proba.shape
    truth = one_hot(class_codes, n_classes)
    confusion = confusion_matrix(proba, class_codes)
    calibrated = measure_calibration(proba, class_codes, classes)
    areas = areas_under_roc(proba, class_codes)
    return {
        "n_rows": n_rows,
        "accuracy": number(accuracy(proba, class_codes)),
        "log_loss": number(calibrated.log_loss),
        "base_rate_log_loss": number(log_loss(np.broadcast_to(np.exp(log_base_rates), proba.shape), class_codes)),
        "brier": number(calibrated.brier),
        "calibration_error": number(calibrated.expected_error),
        "auc": number(mean_area(areas)),
        "confusion": confusion.tolist() if n_classes <= MAX_CURVES else None,
        "classes": [_class_row(confusion, k, areas[k]) for k in range(n_classes)],
        "curves": [
            _curves(truth[:, k], proba[:, k], n_classes, calibrated.by_class[k])
            for k in range(min(n_classes, MAX_CURVES))
        ],
    }


def _class_row(confusion: NDArray[np.intp], k: int, auc: float) -> dict[str, Json]:
    right = confusion[k, k]
    support, said = confusion[k].sum(), confusion[:, k].sum()
    return {
        "support": int(support),
        "precision": number(right / said, 6) if said else None,
        "recall": number(right / support, 6) if support else None,
        "f1": number(2 * right / (support + said), 6) if support + said else None,
        "auc": number(auc, 6),
    }


def _curves(
    truth: NDArray[np.bool_], proba: Floats, n_classes: int, reliability: ReliabilityCurve
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
            [number(predicted, 5), number(observed, 5), count]
            for predicted, observed, count in zip(
                reliability.mean_predicted, reliability.observed, reliability.count, strict=True
            )
        ],
    }


def _points(x: Floats, y: Floats, most: int) -> list[Json]:
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), most)).round().astype(int))
    return [list(numbers(x[chosen])), list(numbers(y[chosen]))]
