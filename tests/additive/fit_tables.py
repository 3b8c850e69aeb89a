"""Small tables to fit: of all kinds of columns, and one whose class three columns decide together."""

from __future__ import annotations

import numpy as np
import pandas as pd


def mixed_table(seed: int = 0, n_rows: int = 260, n_classes: int = 3, missing: float = 0.1) -> tuple:
    """Text, numbers and booleans; the class depends on most of them, one pair, and on what is missing."""
    rng = np.random.default_rng(seed)
    size, pay = rng.normal(size=n_rows), rng.lognormal(size=n_rows)
    town, grade = rng.choice(["Aa", "Bo", "Cu"], n_rows), rng.integers(0, 6, n_rows)
    gone = rng.random((n_rows, 2)) < missing
    score = size + np.where(town == "Bo", 1.0, -0.5) * np.log(pay) + 0.3 * grade - gone[:, 0]
    y = np.digitize(
        score + rng.logistic(scale=0.4, size=n_rows), np.quantile(score, np.arange(1, n_classes) / n_classes)
    )
    X = pd.DataFrame(
        {
            "size": np.where(gone[:, 0], np.nan, size),
            "town": pd.Series(town, dtype=object).mask(gone[:, 1], None),
            "grade": grade,
            "pay": pay,
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    return X, pd.Series(np.array(["no", "perhaps", "yes"])[y], name="y")


def three_together(seed: int = 0, n_rows: int = 400) -> tuple:
    """The sign of a product: no curve and no pair has anything of it, trees have most."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["d", "a", "c", "b"])
    return X, pd.Series((X["a"] * X["b"] * X["c"] > 0).astype(int), name="y")
