"""Cross-validated quality, comparison of classifiers on one table, and stability under refits."""
