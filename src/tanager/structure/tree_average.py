"""The mean of all trees, or of all forests, over the attributes."""

from __future__ import annotations

from math import log

import numpy as np

from tanager.structure.all_trees import AllTrees
from tanager.structure.averaged import superparent_dag
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms, decomposable_score
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask


class TreeAverage(StructureLearner):
    """Every attribute has the class and at most one other attribute as parents, in all ways at once.

    A forest F counts with exp(score(F)), which factors into its edges: phi_child({parent, C}) - phi_child({C}). So the
    sum over all of them, the probability of every edge and the mean of their predictions are in closed form (Meila and
    Jaakkola 2006; Cerquides and Lopez de Mantaras 2005). With the criterion `k2` and tables smoothed by one pseudo-row
    a cell, which both say that all tables were equally probable before the rows were seen, it is the exact posterior.

    forest  take the mean over all forests, naive Bayes and the trees among them; otherwise over trees alone, in which
            all attributes but one have an attribute parent

    The score is the log of the mean of exp(score(F)), all forests being equally probable beforehand.
    """

    needs = "pairs"
    learns = "trees"
    default_criterion = "k2"

    def __init__(self, forest: bool = True) -> None:
        self.forest = forest

    def learn(self, task: StructureTask) -> LearntStructure:
        terms = FamilyTerms(task.counts, decomposable_score(task, "tree-average"))
        n_attributes = task.counts.n_attributes
        naive = Dag.augmented_naive_bayes([()] * n_attributes)
        weights = np.vstack([np.full(n_attributes, 0.0 if self.forest else -np.inf), terms.edge_gains()])
        # There are (n + 1)^(n - 1) forests with a root in each of their trees, and n^(n - 1) such trees.
        n_forests = (n_attributes - 1) * log(n_attributes + bool(self.forest))
        return LearntStructure(
            naive,
            terms.total(naive) + float(AllTrees(weights).log_total) - n_forests,
            members=tuple(superparent_dag(n_attributes, (parent,)) for parent in range(n_attributes)),
            log_weights=weights,
        )
