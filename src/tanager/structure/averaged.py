"""Means of many structures: averaged n-dependence estimators (AODE, A2DE), and all forests at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import log
from typing import Literal

import numpy as np

from tanager.arrays import Array
from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.scores.information import class_information, pair_information
from tanager.structure.all_trees import AllTrees
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms, decomposable_score
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask
from tanager.table.rows import Needs

MAX_PARENTS = 2
LEAST_SHARE = 1e-3
"""Of the mean information, which every network gets, so that uninformative superparents still have a weight."""


class AnDE(StructureLearner):
    """The mean of all networks in which n attributes, the superparents, are parents of all others (Webb et al. 2012).

    n            1 is AODE (Webb, Boughton and Wang 2005), 2 is A2DE, 0 naive Bayes
    weights      of the networks: "equal"; "information": what their superparents tell of the class, I(X; C) (Jiang
                 and Zhang 2006) or I(X, Y; C), and a thousandth of the mean of it, so that none is zero;
                 "conditional": those at a maximum of sum_t log P(c_t | x_t) + sum_m log w_m, each row judged by tables
                 without it, from equal ones

    Every network is an augmented naive Bayes; nothing is searched for.
    """

    learns = "mixtures"
    asks_criterion = False
    leaves_one_out = True

    def __init__(self, n: int = 1, weights: Literal["equal", "information", "conditional"] = "equal") -> None:
        self.n = n
        self.weights = weights

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Counts are enough unless weights are fitted; those of pairs are, unless two superparents have children."""
        if self.evaluates:
            return "passes"
        return "counts" if self.n == MAX_PARENTS else "pairs"

    @property
    def evaluates(self) -> bool:  # type: ignore[override]
        return self.weights == "conditional"

    def learn(self, task: StructureTask) -> LearntStructure:
        n_attributes = task.counts.n_attributes
        if check_count("n", self.n) > MAX_PARENTS:
            raise OptionError(f"n={self.n} of AnDE cannot be used; expected 0, 1 or 2.")
        chosen = list(combinations(range(n_attributes), min(self.n, n_attributes)))
        if self.n == 1 and n_attributes > 1:
            task.counts.pairs()  # all tables of all members are among those of pairs, which are counted together
        members = tuple(superparent_dag(n_attributes, parents) for parents in chosen)
        weights = self._weigh(task, chosen, members)
        return LearntStructure(
            Dag.augmented_naive_bayes([()] * n_attributes),
            members=members,
            weights=tuple((weights / weights.sum()).tolist()),
        )

    def _weigh(self, task: StructureTask, chosen: Sequence[tuple[int, ...]], members: Sequence[Dag]) -> Array:
        """(n_members,) weights, above zero."""
        way = check_option("weights", self.weights, ["equal", "information", "conditional"])
        if way == "equal" or self.n == 0:
            return np.ones(len(chosen))
        if way == "conditional":
            if task.weigh is None:
                raise OptionError("weights='conditional' judges networks on rows; use it through a classifier.")
            return np.array(task.weigh(members))
        alone = class_information(task.counts)
        if self.n == 1 or len(alone) < MAX_PARENTS:
            information = alone
        else:  # I(X, Y; C) = I(X; C) + I(Y; C) + I(C; X; Y)
            first, second = np.array(chosen).T
            interaction = pair_information(task.counts.pairs()).interaction
            information = np.maximum(alone[first] + alone[second] + interaction[first, second], 0.0)
        weights: Array = information + LEAST_SHARE * max(information.mean(), np.finfo(float).tiny)
        return weights


class TreeAverage(StructureLearner):
    """Every attribute has the class and at most one other attribute as parents, in all ways at once.

    A forest F counts with exp(score(F)), which factors into its edges: phi_child({parent, C}) - phi_child({C}). So the
    sum over all of them, the probability of every edge and the mean of their predictions are in closed form (Meila and
    Jaakkola 2006; Cerquides and Lopez de Mantaras 2005). With the criterion `k2` and tables smoothed by one pseudo-row
    a cell, which both take all tables for equally probable beforehand, it is the exact posterior.

    The score is the log of the mean of exp(score(F)), all forests, naive Bayes and the trees among them, being equally
    probable beforehand.
    """

    needs = "pairs"
    learns = "trees"
    default_criterion = "k2"

    def learn(self, task: StructureTask) -> LearntStructure:
        terms = FamilyTerms(task.counts, decomposable_score(task, "tree-average"))
        n_attributes = task.counts.n_attributes
        naive = Dag.augmented_naive_bayes([()] * n_attributes)
        weights = np.vstack([np.zeros(n_attributes), terms.edge_gains()])
        # There are (n + 1)^(n - 1) forests with a root in each of their trees.
        n_forests = (n_attributes - 1) * log(n_attributes + 1)
        return LearntStructure(
            naive,
            terms.total(naive) + float(AllTrees(weights).log_total) - n_forests,
            members=tuple(superparent_dag(n_attributes, (parent,)) for parent in range(n_attributes)),
            log_weights=weights,
        )


def superparent_dag(n_attributes: int, superparents: tuple[int, ...]) -> Dag:
    """The superparents are parents of all other attributes, and the earlier of them of the later."""
    return Dag.augmented_naive_bayes(
        [
            [parent for parent in superparents if child not in superparents or parent < child]
            for child in range(n_attributes)
        ]
    )
