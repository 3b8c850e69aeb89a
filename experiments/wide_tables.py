"""Which of 200 columns the additive model keeps where three are informative: `python -m experiments.wide_tables`.

Twelve simulated tables of normal columns: y = x0 + x1 - x2 + logistic noise / 2 > 0, with 300, 500 and 1,000 rows and
four seeds each.
"""

from __future__ import annotations

import numpy as np

from tanager import AdditiveClassifier

N_COLUMNS, SIZES, SEEDS = 200, (300, 500, 1_000), range(4)


def main() -> None:
    kept = [(n_rows, seed, kept_columns(n_rows, seed)) for n_rows in SIZES for seed in SEEDS]
    for n_rows, seed, columns in kept:
        print(f"{n_rows:5} rows, seed {seed}: {' '.join(columns)}")
    exact = sum(columns == ["x0", "x1", "x2"] for _, _, columns in kept)
    print(f"exactly the informative columns in {exact} of {len(kept)} tables")


def kept_columns(n_rows: int, seed: int) -> list[str]:
    """Columns with an effect that is not exactly zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    y = X[:, 0] + X[:, 1] - X[:, 2] + rng.logistic(size=n_rows) / 2 > 0
    zero = AdditiveClassifier().fit(X, y).trace_.zero_attributes
    return [name for name in (f"x{k}" for k in range(N_COLUMNS)) if name not in zero]


if __name__ == "__main__":
    main()
