"""Presets: classifiers of one structure, whose options are the structure's own."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.describe import described_by
from tanager.classifiers.options import ClassifierOptions
from tanager.scores import CLL, FamilyScore
from tanager.structure import BFSConsistent, HillClimb, KDependence, Selective, StructureLearner, Tree
from tanager.structure.constraints import Edges


@dataclass(eq=False, repr=False)
class TANOptions(ClassifierOptions):
    """Options of `TANClassifier`."""

    structure: str | StructureLearner = field(default="tan", init=False)
    _: KW_ONLY
    root: str | int | None = None
    forest: bool = False
    required_edges: Edges = ()
    forbidden_edges: Edges = ()


@described_by(Tree, BayesianNetworkClassifier)
class TANClassifier(TANOptions, BayesianNetworkClassifier):
    """Tree-augmented naive Bayes: each attribute has the class and at most one other attribute as parents.

    The tree is the best of all trees by the criterion: a maximum spanning tree where it is the same for both
    directions of an edge, a maximum arborescence otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = TANClassifier().fit(X, y)
    >>> len([edge for edge in clf.network_.edges if "target" not in edge])
    3
    """

    def _structure(self) -> StructureLearner:
        return Tree(self.root, self.forest, self.required_edges, self.forbidden_edges)


@dataclass(eq=False, repr=False)
class BCKGOptions(ClassifierOptions):
    """Options of `BCKGClassifier`."""

    structure: str | StructureLearner = field(default="bckg", init=False)
    _: KW_ONLY
    max_parents: int = 2


@described_by(BFSConsistent, BayesianNetworkClassifier)
class BCKGClassifier(BCKGOptions, BayesianNetworkClassifier):
    """BFS-consistent k-graph: each attribute has the class and up to `max_parents` attributes as parents.

    The parents come earlier in the breadth-first order of the best tree and are the best such set by the criterion,
    so the network never scores below the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import BCKGClassifier, TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> BCKGClassifier().fit(X, y).structure_score_ >= TANClassifier().fit(X, y).structure_score_
    True
    """

    def _structure(self) -> StructureLearner:
        return BFSConsistent(self.max_parents)


@dataclass(eq=False, repr=False)
class KDBOptions(ClassifierOptions):
    """Options of `KDBClassifier`."""

    structure: str | StructureLearner = field(default="kdb", init=False)
    criterion: str | FamilyScore | CLL | None = field(default=None, init=False)
    _: KW_ONLY
    k: int = 2


@described_by(KDependence, BayesianNetworkClassifier)
class KDBClassifier(KDBOptions, BayesianNetworkClassifier):
    """K-dependence Bayes: attributes ordered by what they tell of the class, each with its `k` closest predecessors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import KDBClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> max(len(parents) for parents in KDBClassifier(k=2).fit(X, y).network_.parents.values())
    3
    """

    def _structure(self) -> StructureLearner:
        return KDependence(self.k)


@dataclass(eq=False, repr=False)
class HillClimbOptions(ClassifierOptions):
    """Options of `HillClimbClassifier`."""

    structure: str | StructureLearner = field(default="hill-climb", init=False)
    _: KW_ONLY
    max_parents: int = 2
    class_edges: Literal["kept", "free"] = "kept"
    tabu: int = 0
    restarts: int = 0
    required_edges: Edges = ()
    forbidden_edges: Edges = ()


@described_by(HillClimb, BayesianNetworkClassifier)
class HillClimbClassifier(HillClimbOptions, BayesianNetworkClassifier):
    """Greedy search: add, delete or reverse the edge that raises the criterion most, starting from naive Bayes.

    Takes every criterion, `cll` included.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import HillClimbClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> HillClimbClassifier(criterion="bic").fit(X, y).score(X, y) > 0.9
    True
    """

    def _structure(self) -> StructureLearner:
        return HillClimb(
            self.max_parents, self.class_edges, self.tabu, self.restarts, self.required_edges, self.forbidden_edges
        )


@dataclass(eq=False, repr=False)
class SelectiveNaiveBayesOptions(ClassifierOptions):
    """Options of `SelectiveNaiveBayesClassifier`."""

    structure: str | StructureLearner = field(default="selective", init=False)
    criterion: str | FamilyScore | CLL | None = field(default=None, init=False)


@described_by(Selective, BayesianNetworkClassifier)
class SelectiveNaiveBayesClassifier(SelectiveNaiveBayesOptions, BayesianNetworkClassifier):
    """Naive Bayes over the attributes that help: taken in one by one while the leave-one-out log-likelihood rises.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import SelectiveNaiveBayesClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> [step.action for step in SelectiveNaiveBayesClassifier().fit(X, y).trace_.structure]
    ['take in petal width (cm)', ...]
    """

    def _structure(self) -> StructureLearner:
        return Selective()
