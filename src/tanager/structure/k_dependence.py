"""k-dependence Bayes (KDB): informative attributes first, each with its k closest predecessors as parents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.scores.information import pair_information
from tanager.scores.margins import xlogx
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask, report_steps


class KDependence(StructureLearner):
    """Attributes in decreasing order of I(X_i; C); each takes the k earlier ones with the largest I(X_i; X_j | C).

    The attribute at place i of the order, counted from 0, has min(i, k) attribute parents (Sahami 1996). Ties go to the
    lower column. Information is over the rows in which all are present.
    """

    asks_criterion = False

    def __init__(self, k: int = 2) -> None:
        self.k = k

    def learn(self, task: StructureTask) -> LearntStructure:
        k = check_count("k", self.k)
        n_attributes = task.counts.n_attributes
        closeness = np.zeros((n_attributes, n_attributes))
        if k > 0 and n_attributes > 1:
            closeness = pair_information(task.counts.pairs()).conditional
        order = np.argsort(-class_information(task.counts), kind="stable").tolist()
        parents: list[list[int]] = [[]] * n_attributes
        for place, child in enumerate(order):
            earlier = np.sort(np.array(order[:place], dtype=np.intp))
            closest = np.argsort(-closeness[earlier, child], kind="stable")[:k]
            parents[child] = sorted(earlier[closest].tolist())
        names = task.names
        actions = (
            f"add {', '.join(names[parent] for parent in parents[child])} -> {names[child]}"
            for child in order
            if parents[child]
        )
        return LearntStructure(Dag.augmented_naive_bayes(parents), steps=report_steps(task, actions))


def class_information(counts: CountStore) -> NDArray[np.float64]:
    """(n,) I(X_i; C) in nats, over the rows in which X_i is present."""
    families = [Family(child, (counts.n_attributes,)) for child in range(counts.n_attributes)]
    result = np.zeros(len(families))
    for attribute, table in enumerate(counts.tables(families)):
        cells = table[0].astype(float)
        rows = cells.sum()
        terms = xlogx(cells).sum() - xlogx(cells.sum(axis=0)).sum() - xlogx(cells.sum(axis=1)).sum() + xlogx(rows)
        result[attribute] = terms / rows if rows > 0 else 0.0
    return result
