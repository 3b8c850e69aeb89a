"""Presets: classifiers of one structure, whose options are the structure's own."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.parameters import ParameterLearner
from tanager.scores import CLL, FamilyScore
from tanager.structure import BFSConsistent, HillClimb, KDependence, Selective, StructureLearner, Tree
from tanager.structure.constraints import Edges


class TANClassifier(BayesianNetworkClassifier):
    """Tree-augmented naive Bayes: each attribute has the class and at most one other attribute as parents.

    The tree is the best of all trees for the score: a maximum spanning tree where the score is the same for both
    directions of an edge, a maximum arborescence otherwise. `root`, `forest`, `required_edges` and `forbidden_edges`
    are the options of `tanager.structure.Tree`; the others are those of `BayesianNetworkClassifier`.

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
        criterion: str | FamilyScore | None = None,
        parameters: str | ParameterLearner = "conditional",
        *,
        root: str | int | None = None,
        forest: bool = False,
        required_edges: Edges = (),
        forbidden_edges: Edges = (),
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
            "tan",
            criterion,
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
        self.root = root
        self.forest = forest
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges

    def _structure(self) -> StructureLearner:
        return Tree(self.root, self.forest, self.required_edges, self.forbidden_edges)


class BCKGClassifier(BayesianNetworkClassifier):
    """BFS-consistent k-graph: each attribute has the class and up to `max_parents` attributes as parents.

    The parents come earlier in the breadth-first order of the best tree and are the best such set for the score, so
    the network never scores below the tree. The other options are those of `BayesianNetworkClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import BCKGClassifier, TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> BCKGClassifier().fit(X, y).structure_score_ >= TANClassifier().fit(X, y).structure_score_
    True
    """

    def __init__(
        self,
        criterion: str | FamilyScore | None = None,
        parameters: str | ParameterLearner = "conditional",
        *,
        max_parents: int = 2,
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
            "bckg",
            criterion,
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
        self.max_parents = max_parents

    def _structure(self) -> StructureLearner:
        return BFSConsistent(self.max_parents)


class KDBClassifier(BayesianNetworkClassifier):
    """k-dependence Bayes: attributes ordered by what they tell of the class, each with its `k` closest predecessors.

    The other options are those of `BayesianNetworkClassifier`, less structure and criterion.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import KDBClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> max(len(parents) for parents in KDBClassifier(k=2).fit(X, y).network_.parents.values())
    3
    """

    def __init__(
        self,
        parameters: str | ParameterLearner = "conditional",
        *,
        k: int = 2,
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
            "kdb",
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
        self.k = k

    def _structure(self) -> StructureLearner:
        return KDependence(self.k)


class HillClimbClassifier(BayesianNetworkClassifier):
    """Greedy search: add, delete or reverse the edge that raises the score most, starting from naive Bayes.

    Takes every score, `cll` included. The options of the search are those of `tanager.structure.HillClimb`; the
    others are those of `BayesianNetworkClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import HillClimbClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> HillClimbClassifier(criterion="bic").fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        criterion: str | FamilyScore | CLL | None = None,
        parameters: str | ParameterLearner = "conditional",
        *,
        max_parents: int = 2,
        class_edges: Literal["kept", "free"] = "kept",
        tabu: int = 0,
        restarts: int = 0,
        required_edges: Edges = (),
        forbidden_edges: Edges = (),
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
            "hill-climb",
            criterion,
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
        self.max_parents = max_parents
        self.class_edges = class_edges
        self.tabu = tabu
        self.restarts = restarts
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges

    def _structure(self) -> StructureLearner:
        return HillClimb(
            self.max_parents, self.class_edges, self.tabu, self.restarts, self.required_edges, self.forbidden_edges
        )


class SelectiveNaiveBayesClassifier(BayesianNetworkClassifier):
    """Naive Bayes over the attributes that help: taken in one by one while the leave-one-out log-likelihood rises.

    The options are those of `BayesianNetworkClassifier`, less structure and criterion.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import SelectiveNaiveBayesClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> [step.action for step in SelectiveNaiveBayesClassifier().fit(X, y).trace_.structure]
    ['take in petal width (cm)', ...]
    """

    def __init__(
        self,
        parameters: str | ParameterLearner = "conditional",
        *,
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
            "selective",
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

    def _structure(self) -> StructureLearner:
        return Selective()
