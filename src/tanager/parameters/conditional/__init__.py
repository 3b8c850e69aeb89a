"""Conditional training: cells, passes over rows, priors, strengths chosen on folds, descent."""
