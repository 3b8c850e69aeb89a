"""PairwiseClassifier: the preset of the default structure, with its options."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.options import ClassifierOptions
from tanager.scores import CLL, FamilyScore
from tanager.structure import Pairwise, StructureLearner


@dataclass(eq=False, repr=False)
class PairwiseOptions(ClassifierOptions):
    """Options of `PairwiseClassifier`."""

    structure: str | StructureLearner = field(default="pairwise", init=False)
    criterion: str | FamilyScore | CLL | None = field(default=None, init=False)
    _: KW_ONLY
    pairs_per_attribute: str | float = "auto"
    rank_by: str = "information"


class PairwiseClassifier(PairwiseOptions, BayesianNetworkClassifier):
    """The default classifier: main effects on fine ordered bins, and the pairs of attributes that tell classes apart.

    `pairs_per_attribute` and `rank_by` are the options of `tanager.structure.Pairwise`; the others are those of
    `BayesianNetworkClassifier`, less structure and criterion.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import PairwiseClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = PairwiseClassifier().fit(X, y)
    >>> clf.predict(X.iloc[[0, 60, 149]]).tolist()
    [0, 1, 2]
    """

    def _structure(self) -> StructureLearner:
        return Pairwise(self.pairs_per_attribute, self.rank_by)
