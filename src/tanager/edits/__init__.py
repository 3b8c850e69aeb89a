"""Corrections of an additive model by hand: what is changed, where, by whom, when and why."""

from __future__ import annotations

from tanager.edits.edit import Edit, Edits, apply_edits, undo_edits

__all__ = ["Edit", "Edits", "apply_edits", "undo_edits"]
