"""Networks of effects: their layout, prior, folds and fit."""
