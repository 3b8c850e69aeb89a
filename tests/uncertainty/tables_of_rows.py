"""Small tables for the laws of intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit


def numbers_and_letters(n_rows: int, seed: int, n_classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"b": rng.normal(size=n_rows), "a": rng.choice(list("xyz"), n_rows), "c": rng.normal(size=n_rows)})
    odds = 1.5 * X["b"].to_numpy() + (X["a"] == "x").to_numpy() - 0.5
    y = (rng.random(n_rows) < expit(odds)).astype(int)
    if n_classes == 3:
        y = y + ((X["c"] > 0.5).to_numpy() & (rng.random(n_rows) < 0.8)) * 1
    return X, np.array(["no", "yes", "maybe"])[y]


def categories(rng: np.random.Generator, n_rows: int, n_states: int, n_attributes: int) -> pd.DataFrame:
    codes = rng.integers(n_states, size=(n_rows, n_attributes))
    return pd.DataFrame({f"x{k}": [f"s{code}" for code in column] for k, column in enumerate(codes.T)})
