"""Conditional learning: objectives, priors, descent, strengths chosen by cross-validation, and the learner."""
