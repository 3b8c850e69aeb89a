"""A decision <-> JSON: {"classes": [...], "costs": [[0, 1], [10, 0]], "ask": null}.

With "threshold" it is one, for the class whose place is "positive"; its "costs" may be null.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.decide import CostDecision, Decision, ThresholdDecision
from tanager.decide.decision import CostTable, read_costs, read_price
from tanager.network.document import DocumentError, Json, array, from_json, mapping, shorten, to_json
from tanager.table.schema import Category


def write_decision(decision: Decision | None, classes: NDArray[np.generic]) -> Json:
    """The decision of a model of these classes, or null."""
    if decision is None:
        return None
    decision.check(classes)
    labels = to_json(list(decision.classes), "decision_", {})
    return {"classes": labels, **cast(dict[str, Json], decision.to_dict())}


def read_decision(document: Json, classes: NDArray[np.generic]) -> Decision | None:
    """What `write_decision` wrote for a model of these classes."""
    if document is None:
        return None
    found = mapping(document, "decision")
    labels = from_json(found.get("classes"), "decision.classes", {})
    known = cast(tuple[Category, ...], tuple(classes.tolist()))
    if labels != list(known):
        raise DocumentError(f"decision.classes are {shorten(str(labels))}, expected {shorten(str(list(known)))}")
    if "threshold" not in found:
        return CostDecision(known, _costs(found.get("costs"), known), read_price(found.get("ask")))
    positive, threshold = found.get("positive"), found["threshold"]
    if type(positive) is not int or not 0 <= positive < len(known):
        raise DocumentError(f"decision.positive must be the place of a class, got {shorten(positive)}")
    if type(threshold) not in (int, float) or not 0 <= cast(float, threshold) < 2:
        raise DocumentError(f"decision.threshold must be a probability, got {shorten(threshold)}")
    costs = None if found.get("costs") is None else _costs(found["costs"], known)
    return ThresholdDecision(known, known[positive], float(cast(float, threshold)), costs)


def _costs(document: Json, classes: tuple[Category, ...]) -> CostTable:
    return read_costs(array(document, 2, "decision.costs"), classes)
