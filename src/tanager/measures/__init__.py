"""Measures of probabilities of classes against the true classes: pure functions, no estimator inside."""

from __future__ import annotations

from tanager.measures.calibration import Calibration, ReliabilityCurve, bin_sums, measure_calibration
from tanager.measures.quality import (
    FLOOR,
    Quality,
    accuracy,
    areas_under_roc,
    brier,
    confusion_matrix,
    log_loss,
    log_true,
    mean_area,
    measure_quality,
)

__all__ = [
    "FLOOR",
    "Calibration",
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
]
