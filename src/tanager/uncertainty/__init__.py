"""Uncertainty: the posterior of a model, and intervals of P(class | row) and of effects by it."""
