"""How good a model is on rows whose class is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

from tanager.classifiers.calibration import Calibration, ReliabilityCurve
from tanager.report.json_page import Json, number, numbers

MOST_CURVES = 60
MOST_POINTS = 6_000

Floats = NDArray[np.float64]


def measure_quality(
    proba: Floats, class_codes: NDArray[np.intp], prior: Floats, calibrated: Calibration
) -> dict[str, Json]:
    """Measures of P(class | row), (n_rows, n_classes), against the true classes.

    `prior` (n_classes,) is what the model gives a row of which nothing is known. Curves are of one class against the
    rest.
    """
    n_rows, n_classes = proba.shape
    truth = class_codes[:, np.newaxis] == np.arange(n_classes)
    predicted = proba.argmax(axis=1)
    confusion = np.bincount(class_codes * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
    with np.errstate(divide="ignore"):
        prior_loss = -np.log(prior)[class_codes].mean()
    aucs = [_auc(truth[:, k], proba[:, k]) for k in range(n_classes)]
    return {
        "n_rows": n_rows,
        "accuracy": number((predicted == class_codes).mean()),
        "log_loss": number(calibrated.log_loss),
        "prior_log_loss": number(prior_loss),
        "brier": number(calibrated.brier),
        "calibration_error": number(calibrated.expected_error),
        "auc": number(float(np.nanmean(aucs))) if np.isfinite(aucs).any() else None,
        "confusion": confusion.tolist() if n_classes <= MOST_CURVES else None,
        "classes": [_class_row(confusion, k, aucs[k]) for k in range(n_classes)],
        "curves": [
            _curves(truth[:, k], proba[:, k], n_classes, calibrated.by_class[k])
            for k in range(min(n_classes, MOST_CURVES))
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


def _auc(truth: NDArray[np.bool_], proba: Floats) -> float:
    return float(roc_auc_score(truth, proba)) if truth.any() and not truth.all() else float("nan")


def _curves(
    truth: NDArray[np.bool_], proba: Floats, n_classes: int, reliability: ReliabilityCurve
) -> dict[str, Json] | None:
    """ROC, precision and recall, and calibration of one class; None where the rows are all of it or none is."""
    if truth.all() or not truth.any():
        return None
    n_points = max(20, min(200, MOST_POINTS // n_classes))
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
