"""The additive model: bins, effects of attributes and of pairs, trees; its learning, and the finished model."""

from __future__ import annotations

from tanager.additive.model import AdditiveModel

__all__ = ["AdditiveModel"]
