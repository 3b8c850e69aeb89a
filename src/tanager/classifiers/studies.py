"""Studies of a table: the score of a given structure, and the information between attributes and class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.classifiers.base import code_labelled
from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.learning import DEFAULT_CRITERION, criterion_likelihood
from tanager.parameters import Frequency
from tanager.registry import resolve
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.scores.information import class_information, pair_information
from tanager.structure import Fixed, StructureTask
from tanager.structure.constraints import Node
from tanager.structure.family_terms import total_score


def structure_score(
    X: object,
    y: ArrayLike,
    parents: Mapping[Node, Iterable[Node]],
    criterion: str | FamilyScore | CLL = DEFAULT_CRITERION,
    *,
    sample_weight: ArrayLike | None = None,
    categorical_features: ArrayLike | str | None = "from_dtype",
    discretizer: object = None,
) -> float:
    """The score of a given augmented naive Bayes structure, in nats.

    Parameters
    ----------
    X : table
        The attributes.
    y : array of shape (n_rows,)
        The class of each row.
    parents : mapping
        From an attribute, by name or position, to its attribute parents; attributes it does not name have none. The
        class is a parent of every attribute.
    criterion : str, FamilyScore or CLL
        The score, one of `tanager.scores.SCORES` by name, or an object with options of its own.
    sample_weight : array of shape (n_rows,) or None
        Weights of the rows.
    categorical_features : "from_dtype", "all", list or mask
        As in `BayesianNetworkClassifier`.
    discretizer : None, "mdlp", "quantile" or scikit-learn transformer
        As in `BayesianNetworkClassifier`.

    Returns
    -------
    float
        The sum over all families, with the constants of the criterion.

    Examples
    --------
    >>> from tanager.scores import BDeu
    >>> X = [["a", "x"], ["a", "x"], ["b", "y"], ["b", "x"]]
    >>> y = [0, 0, 1, 1]
    >>> round(structure_score(X, y, {"x1": ["x0"]}, "ll"), 4)
    -4.1589
    >>> structure_score(X, y, {}, BDeu(ess=4.0)) < structure_score(X, y, {}, "ll")
    True
    """
    score = resolve("criterion", criterion, SCORES, "check_options")
    score.check_options()
    structure = Fixed(parents)
    clf = BayesianNetworkClassifier(structure, categorical_features=categorical_features, discretizer=discretizer)
    table = code_labelled(clf, X, y, sample_weight)
    counts = table.counts()
    if table.schema.named and isinstance(score, FamilyScore):
        score = score.for_nodes(counts.names)
    task = StructureTask(counts, score, counts.names)
    if not score.decomposable:
        task = replace(task, evaluate=criterion_likelihood(score, counts, Frequency()))
    return total_score(task, structure.learn(task).dag)


@dataclass(frozen=True)
class Information:
    """Mutual information between attributes and class, in nats (fCLL 2011, eq. 27).

    names        the attributes, in the order of the arrays
    target       (n,) I(X_i; C)
    conditional  (n, n) I(X_i; X_j | C)
    marginal     (n, n) I(X_i; X_j)
    interaction  (n, n) I(C; X_i; X_j) = conditional - marginal: positive where a pair is more informative together
    """

    names: tuple[str, ...]
    target: NDArray[np.float64]
    conditional: NDArray[np.float64]
    marginal: NDArray[np.float64]
    interaction: NDArray[np.float64]

    def pairs(self) -> dict[str, list[object]]:
        """One row per pair of attributes, the strongest interaction first; columns ready for any data frame."""
        i, j = np.triu_indices(len(self.names), k=1)
        order = np.argsort(-self.interaction[i, j], kind="stable")
        i, j = i[order], j[order]
        return {
            "first": [self.names[k] for k in i],
            "second": [self.names[k] for k in j],
            "conditional": self.conditional[i, j].tolist(),
            "marginal": self.marginal[i, j].tolist(),
            "interaction": self.interaction[i, j].tolist(),
        }


def information(X: object, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Information:
    """Mutual information between the attributes of a table and its class; numeric columns are cut on these rows.

    Parameters
    ----------
    X : table
        The attributes.
    y : array of shape (n_rows,)
        The class of each row.
    sample_weight : array of shape (n_rows,) or None
        Weights of the rows.

    Returns
    -------
    Information
        In nats, for every attribute and every pair of attributes.

    Examples
    --------
    >>> X = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]
    >>> found = information(X, [0, 1, 1, 0])  # informative together, but not alone
    >>> found.target.round(6).tolist()
    [0.0, 0.0]
    >>> round(float(found.interaction[0, 1]), 6)
    0.693147
    """
    counts = code_labelled(BayesianNetworkClassifier("naive-bayes"), X, y, sample_weight).counts()
    pairs = pair_information(counts.pairs())
    return Information(
        counts.names[:-1], class_information(counts), pairs.conditional, pairs.marginal, pairs.interaction
    )
