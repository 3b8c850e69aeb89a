"""A table with a column of every kind, and a model of it."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from tanager import BayesianNetworkClassifier, TANClassifier

RNG = np.random.default_rng(7)
N_ROWS = 60
MIXED = pa.table(
    {
        "number": RNG.normal(size=N_ROWS) + 3 * (np.arange(N_ROWS) % 2),
        "day": pa.array(
            [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(k % 2) * 40 + k) for k in range(N_ROWS)]
        ),
        "text": pa.array([["ä", "b,", "c"][k % 3] for k in range(N_ROWS)]),
        "flag": pa.array([bool(k % 2) for k in range(N_ROWS)]),
        "code": pa.array([[1, 2**40, -3][k % 3] for k in range(N_ROWS)]),
        "when": pa.array([datetime.datetime(2024, 1, 1, 12, 30 + k % 2) for k in range(N_ROWS)]),
        "half": pa.array([[0.5, 0.1 + 0.2][k % 2] for k in range(N_ROWS)]),
        "date": pa.array([datetime.date(2024, 2, 28 + k % 2) for k in range(N_ROWS)]),
    }
)
CATEGORICAL = ["code", "when", "half", "date"]
LABELS = np.array(["no", "yes"])[np.arange(N_ROWS) % 2]


def mixed_model() -> BayesianNetworkClassifier:
    return TANClassifier(categorical_features=CATEGORICAL, random_state=3).fit(MIXED, LABELS)
