"""Measures of probabilities of classes against the true classes: pure functions, no estimator inside."""

from __future__ import annotations

from tanager.metrics.basic import (
    FLOOR,
    EventQuality,
    Measures,
    Probabilities,
    Share,
    accuracy,
    areas_under_roc,
    brier,
    confusion_matrix,
    event_code,
    log_loss,
    log_true,
    mean_area,
    measure,
    measure_intervals,
    most_missed,
    one_hot,
)
from tanager.metrics.calibration import Calibration, ReliabilityCurve, bin_sums, measure_calibration, predicted_class
from tanager.metrics.quality import Predictions, Quality

__all__ = [
    "FLOOR",
    "Calibration",
    "EventQuality",
    "Measures",
    "Predictions",
    "Probabilities",
    "Quality",
    "ReliabilityCurve",
    "Share",
    "accuracy",
    "areas_under_roc",
    "bin_sums",
    "brier",
    "confusion_matrix",
    "event_code",
    "log_loss",
    "log_true",
    "mean_area",
    "measure",
    "measure_calibration",
    "measure_intervals",
    "most_missed",
    "one_hot",
    "predicted_class",
]
