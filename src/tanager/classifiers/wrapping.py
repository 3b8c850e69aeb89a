"""WrappingClassifier: what classifiers around another classifier have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags


class WrappingClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier with another within: `estimator`, and fitted `estimator_`. It takes the tables that one takes."""

    estimator: Any
    estimator_: Any

    @property
    def n_features_in_(self) -> int:
        """How many attributes there are."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Their names, where they have any."""
        names: NDArray[np.object_] = self.estimator_.feature_names_in_
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
