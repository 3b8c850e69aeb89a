"""Layer 1: any data frame or array -> encoded batches."""

from __future__ import annotations

from tanager.table.discretizer import MDLPDiscretizer

__all__ = ["MDLPDiscretizer"]
