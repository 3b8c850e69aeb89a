"""LightGBM tuned by random search: what its defaults leave, on tables of any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold

from experiments.studies.entries import parse_estimator
from experiments.studies.on_table import OnTable

N_TRIALS, N_FOLDS = 30, 3
# Lists, not distributions: these have no text of their own, by which records are told apart. With the hundred rows of a
# category that LightGBM asks for by default, folds of small tables of categories have no split at all, and the search
# would choose among constants.
SPACE = {
    "n_estimators": [50, 100, 200, 400, 800],
    "learning_rate": [0.01, 0.02, 0.05, 0.1, 0.2],
    "num_leaves": [4, 8, 16, 31, 64, 128],
    "min_child_samples": [1, 2, 5, 10, 20, 50, 100],
    "colsample_bytree": [0.4, 0.6, 0.8, 1.0],
    "subsample": [0.7, 0.8, 0.9, 1.0],
    "subsample_freq": [1],
    "reg_lambda": [0.0, 0.01, 0.1, 1.0, 10.0],
    "cat_smooth": [1.0, 10.0, 100.0],
    "min_data_per_group": [1, 5, 20, 100],
}


@dataclass(frozen=True)
class SeenLogLoss:
    """Minus the log-loss of the rows whose class is in training; scikit-learn's own fails where one is not."""

    def __call__(self, fitted: Any, X: NDArray[np.float64], y: NDArray[np.intp]) -> float:
        seen = np.isin(y, fitted.classes_)
        return -float(log_loss(y[seen], fitted.predict_proba(X[seen]), labels=fitted.classes_))


def tuned_lightgbm() -> OnTable:
    """LightGBM with the options of the best of `N_TRIALS` random ones, by the log-loss of folds within training."""
    lightgbm = parse_estimator("lightgbm.LGBMClassifier(verbose=-1)").get_params()["estimator"]
    # Assigned at random: neighbours in a table are often alike, and folds of neighbours choose what is too smooth.
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    search = RandomizedSearchCV(lightgbm, SPACE, n_iter=N_TRIALS, scoring=SeenLogLoss(), cv=folds, random_state=0)
    return OnTable(search, "native")
