"""Decisions by P(class | row) and the costs of mistakes: rules, their tuning and cost, a classifier."""

from __future__ import annotations

from tanager.decide.classifiers import FixedDecisionClassifier
from tanager.decide.decision import (
    CostDecision,
    Decision,
    DecisionQuality,
    RowDecision,
    RuleCost,
    ThresholdDecision,
    measure_decision,
    tune_for_sensitivity,
    tune_for_specificity,
)

__all__ = [
    "CostDecision",
    "Decision",
    "DecisionQuality",
    "FixedDecisionClassifier",
    "RowDecision",
    "RuleCost",
    "ThresholdDecision",
    "measure_decision",
    "tune_for_sensitivity",
    "tune_for_specificity",
]
