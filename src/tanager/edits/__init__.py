"""Corrections by hand of a model that is a sum of effects: what is changed, where, by whom, when and why."""

from tanager.edits.edit import Edit, Edits

__all__ = ["Edit", "Edits"]
