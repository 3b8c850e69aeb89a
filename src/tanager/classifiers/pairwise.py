"""PairwiseClassifier: the preset of the default structure, with its options."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.parameters import ParameterLearner
from tanager.structure import Pairwise, StructureLearner


class PairwiseClassifier(BayesianNetworkClassifier):
    """The default classifier: main effects on fine ordered bins, and the pairs of attributes that tell classes apart.

    `pairs_per_attribute` and `rank_by` are the options of `tanager.structure.Pairwise`; the others are those of
    `BayesianNetworkClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import PairwiseClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = PairwiseClassifier().fit(X, y)
    >>> clf.predict(X.iloc[[0, 60, 149]]).tolist()
    [0, 1, 2]
    """

    def __init__(
        self,
        parameters: str | ParameterLearner = "conditional",
        *,
        pairs_per_attribute: str | float = "auto",
        rank_by: str = "information",
        categorical_features: ArrayLike | str | None = "from_dtype",
        discretizer: object = "mdlp",
        missing: str = "auto",
        handle_unknown: str = "marginalize",
        engine: str = "auto",
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            "pairwise",
            None,
            parameters,
            categorical_features=categorical_features,
            discretizer=discretizer,
            missing=missing,
            handle_unknown=handle_unknown,
            engine=engine,
            device=device,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.pairs_per_attribute = pairs_per_attribute
        self.rank_by = rank_by

    def _structure(self) -> StructureLearner:
        return Pairwise(self.pairs_per_attribute, self.rank_by)
