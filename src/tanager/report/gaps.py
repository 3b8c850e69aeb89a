"""What a missing cell means, as the page needs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tanager.missing.rule import GapRule
from tanager.report.json_page import Json, pack


def describe_gaps(rule: GapRule) -> dict[str, Json]:
    """The rule's name, its words, and its numbers, arrays of which are packed."""
    return {"meaning": rule.name, "words": rule.sentence, "rest": rule.rest, **_packed(rule.constants())}


def _packed(constants: dict[str, Any]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in constants.items():
        if isinstance(value, dict):
            found[key] = _packed(value)
        else:
            found[key] = pack(value) if isinstance(value, np.ndarray) else value
    return found
