"""k-dependence Bayes (KDB): informative attributes first, each with its k closest predecessors as parents."""

from __future__ import annotations

import numpy as np

from tanager.counts.count_store import CountStore
from tanager.scores.information import class_information, pair_information
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask, report_steps
from tanager.structure.ties import SMALLEST_INFORMATION, level


class KDependence(StructureLearner):
    """Attributes in decreasing order of I(X_i; C); each takes the k earlier ones with the largest I(X_i; X_j | C).

    The attribute at place i of the order, counted from 0, has min(i, k) attribute parents (Sahami 1996). Ties go to the
    column that comes first by name. Information is over the rows in which all are present.

    Parameters
    ----------
    k : int
        The most attribute parents of an attribute.
    """

    asks_criterion = False

    def __init__(self, k: int = 2) -> None:
        self.k = k

    def learn(self, task: StructureTask) -> LearntStructure:
        order, ranked = rank_parents(task.counts, check_count("k", self.k))
        names = task.names
        actions = (
            f"add {', '.join(names[parent] for parent in sorted(ranked[child]))} -> {names[child]}"
            for child in order
            if ranked[child]
        )
        return LearntStructure(Dag.augmented_naive_bayes(ranked), steps=report_steps(task, actions))


def rank_parents(counts: CountStore, k: int) -> tuple[list[int], list[list[int]]]:
    """The attributes in decreasing order of I(X_i; C), and of each the k closest earlier ones, the closest first."""
    n_attributes = counts.n_attributes
    closeness = (
        level(pair_information(counts.pairs()).conditional, SMALLEST_INFORMATION)
        if k > 0 and n_attributes > 1
        else np.zeros((n_attributes, n_attributes))
    )
    order = np.argsort(-level(class_information(counts), SMALLEST_INFORMATION), kind="stable").tolist()
    ranked: list[list[int]] = [[]] * n_attributes
    for place, child in enumerate(order):
        earlier = np.sort(np.array(order[:place], dtype=np.intp))
        closest = np.argsort(-closeness[earlier, child], kind="stable")[:k]
        ranked[child] = earlier[closest].tolist()
    return order, ranked
