"""The additive model: bins, effects of attributes and of pairs, trees; its learning, and the finished model."""
