"""Questions of SQL that find where a cell stands among cuts or categories."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 8
"""Addends, or categories, that are written one after another; more by halves."""


def ask_bin(cuts: Sequence[str], value: str, first: int = 0) -> str:
    """How many cuts are at or below a value, by halves."""
    if not cuts:
        return str(first)
    half = len(cuts) // 2
    low, high = ask_bin(cuts[:half], value, first), ask_bin(cuts[half + 1 :], value, first + half + 1)
    return f"CASE WHEN {value} < {cuts[half]} THEN {low} ELSE {high} END"


def ask_category(keys: Sequence[tuple[str, int]], value: str, unseen: int) -> str:
    """The state of a category, of ascending ones; by halves where they are many."""
    if not keys:
        return str(unseen)
    if len(keys) <= FEW:
        cases = " ".join(f"WHEN {value} = {key} THEN {code}" for key, code in keys)
        return f"CASE {cases} ELSE {unseen} END"
    half = len(keys) // 2
    low, high = ask_category(keys[:half], value, unseen), ask_category(keys[half:], value, unseen)
    return f"CASE WHEN {value} < {keys[half][0]} THEN {low} ELSE {high} END"
