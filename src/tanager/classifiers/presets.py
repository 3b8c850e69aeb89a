"""TANClassifier: naive Bayes plus the best tree over the attributes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.parameters import ParameterLearner
from tanager.scores import FamilyScore
from tanager.structure import StructureLearner, Tree


class TANClassifier(BayesianNetworkClassifier):
    """Tree-augmented naive Bayes: each attribute has the class and at most one other attribute as parents.

    The tree is the best of all trees for the score: a maximum spanning tree where the score is the same for both
    directions of an edge, a maximum arborescence otherwise.

    Parameters are those of `BayesianNetworkClassifier`, less structure, and:

    root : str, int or None
        The attribute at the root of the tree.
    forest : bool
        Leave out edges that do not raise the score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = TANClassifier().fit(X, y)
    >>> len([edge for edge in clf.network_.edges if "target" not in edge])
    3
    """

    def __init__(
        self,
        score: str | FamilyScore = "fcll",
        parameters: str | ParameterLearner = "frequency",
        *,
        root: str | int | None = None,
        forest: bool = False,
        categorical_features: ArrayLike | str | None = "from_dtype",
        discretizer: object = "mdlp",
        missing: str = "marginalize",
        handle_unknown: str = "marginalize",
        engine: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            "tan",
            score,
            parameters,
            categorical_features=categorical_features,
            discretizer=discretizer,
            missing=missing,
            handle_unknown=handle_unknown,
            engine=engine,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.root = root
        self.forest = forest

    def _structure(self) -> StructureLearner:
        return Tree(root=self.root, forest=self.forest)
