"""Corrections by hand of an additive model: what is changed, where, by whom, when and why."""
