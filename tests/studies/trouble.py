"""A classifier that makes trouble; in a file of their own, which another process can import."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


class Slow(ClassifierMixin, BaseEstimator):
    """Catches whatever goes wrong while it is fitted; if `late`, its time is up while it is."""

    def __init__(self, late):
        self.late = late

    def fit(self, X, y):
        try:
            if self.late:
                signal.raise_signal(signal.SIGPROF)  # as the alarm would, without the wait
        except Exception:
            pytest.fail("a time limit is not for the classifier to catch")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.zeros(len(X), dtype=int)]
