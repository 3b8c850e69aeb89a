"""One class against the rest at every threshold, and what a decision that the model keeps costs."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.decide import Decision, measure_decision
from tanager.metrics import Quality
from tanager.report.json_page import Json, number

GRID = (0.001, 0.002, 0.005, *(k / 100 for k in range(1, 100)), 0.995, 0.998, 0.999)
"""Thresholds that the reader can choose from, besides that of a decision."""


def describe_thresholds(quality: Quality, class_code: int, decision: Decision | None) -> dict[str, Json]:
    """Of each threshold t the rows with P(class) >= t: of the class ("found"), and others ("alarms")."""
    p = quality.predictions.probabilities[:, class_code]
    truth = quality.predictions.class_codes == class_code
    chosen = decided_threshold(decision, class_code)
    thresholds = np.array(GRID if chosen is None else sorted({*GRID, chosen}))
    return {
        "thresholds": thresholds.tolist(),
        "found": counts_above(p[truth], thresholds).tolist(),
        "alarms": counts_above(p[~truth], thresholds).tolist(),
        "of_class": int(truth.sum()),
        "others": int((~truth).sum()),
        "decided": chosen,
    }


def counts_above(probabilities: Array, thresholds: Array) -> NDArray[np.intp]:
    """(n_thresholds,) how many are at least as large."""
    return len(probabilities) - np.searchsorted(np.sort(probabilities), thresholds, side="left")


def decided_threshold(decision: Decision | None, class_code: int) -> float | None:
    """At and above which probability of a class a decision is for it; None where it is no matter of one probability.

    With costs of two classes that is where both decisions are expected to cost the same.
    """
    if decision is None or decision.price is not None or decision.positive_code != class_code:
        return None
    found = decision.to_dict().get("threshold")
    if isinstance(found, float):
        return found
    costs = np.array(decision.cost_table)
    other = 1 - class_code
    alarm = costs[other, class_code] - costs[other, other]
    missed = costs[class_code, other] - costs[class_code, class_code]
    return float(alarm / (alarm + missed)) if alarm + missed > 0 else None


def describe_decision(decision: Decision | None, quality: Quality) -> dict[str, Json] | None:
    """The decision in words, and what it costs per row beside simpler rules."""
    if decision is None:
        return None
    predictions = quality.predictions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `fit` has said that nobody reaches the threshold
        found = measure_decision(decision, predictions.probabilities, predictions.class_codes)
    chosen = decision.choose(predictions.probabilities)
    n_classes = len(decision.classes)
    cells = predictions.class_codes.astype(np.intp) * (n_classes + 1) + chosen
    counts = np.bincount(cells, minlength=n_classes * (n_classes + 1)).reshape(n_classes, -1)
    return {
        "words": str(decision),
        "positive": decision.positive_code,
        "asks": decision.price is not None,
        "asked": found.asked,
        "n_rows": found.n_rows,
        "costs": [list(row) for row in decision.cost_table],
        "rules": [
            {
                "rule": rule.rule,
                "cost": number(rule.cost),
                "low": number(rule.low),
                "high": number(rule.high),
                "net_benefit": number(rule.net_benefit),
            }
            for rule in found.rules
        ],
        "confusion": [list(row) for row in counts.tolist()],
    }
