"""Layer 10: comparisons over data sets: folds, measures, tests, tables, pictures; the papers, the field today."""
