"""Measures of probabilities of classes against the true classes: pure functions, no estimator inside."""

from __future__ import annotations

from tanager.measures.calibration import Calibration, ReliabilityCurve, bin_sums, measure_calibration, predicted_class
from tanager.measures.quality import (
    FLOOR,
    Probabilities,
    Quality,
    accuracy,
    areas_under_roc,
    brier,
    confusion_matrix,
    log_loss,
    log_true,
    mean_area,
    measure_quality,
    one_hot,
)

__all__ = [
    "FLOOR",
    "Calibration",
    "Probabilities",
    "Quality",
    "ReliabilityCurve",
    "accuracy",
    "areas_under_roc",
    "bin_sums",
    "brier",
    "confusion_matrix",
    "log_loss",
    "log_true",
    "mean_area",
    "measure_calibration",
    "measure_quality",
    "one_hot",
    "predicted_class",
]
