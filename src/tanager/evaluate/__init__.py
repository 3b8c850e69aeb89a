"""Layer 10: comparisons over data sets: folds, measures, tests, tables, pictures; the field today."""
