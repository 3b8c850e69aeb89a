"""Decisions: what is done about a row, by P(class | row) and by what mistakes cost. No estimator inside."""

from __future__ import annotations

from tanager.decide.decision import CostDecision, Decision, RowDecision, ThresholdDecision
from tanager.decide.tuning import (
    DecisionQuality,
    RuleCost,
    measure_decision,
    tune_for_costs,
    tune_for_sensitivity,
    tune_for_specificity,
)

__all__ = [
    "CostDecision",
    "Decision",
    "DecisionQuality",
    "RowDecision",
    "RuleCost",
    "ThresholdDecision",
    "measure_decision",
    "tune_for_costs",
    "tune_for_sensitivity",
    "tune_for_specificity",
]
