"""Measures of probabilities of classes against the true classes: pure functions, no estimator inside."""

from __future__ import annotations

from tanager.metrics.basic import (
    Measures,
    Probabilities,
    Share,
    areas_under_roc,
    event_code,
    log_loss,
    log_true,
    measure,
    most_missed,
    one_hot,
)
from tanager.metrics.calibration import Calibration, ReliabilityCurve, bin_sums, measure_calibration, predicted_class
from tanager.metrics.quality import Predictions, Quality

__all__ = [
    "Calibration",
    "Measures",
    "Predictions",
    "Probabilities",
    "Quality",
    "ReliabilityCurve",
    "Share",
    "areas_under_roc",
    "bin_sums",
    "event_code",
    "log_loss",
    "log_true",
    "measure",
    "measure_calibration",
    "most_missed",
    "one_hot",
    "predicted_class",
]
