"""k-dependence Bayes (KDB) and selective KDB: each attribute has its k closest more informative ones as parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.counts.count_store import CountStore
from tanager.scores.information import class_information, pair_information
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.family_terms import SMALLEST_INFORMATION, evaluate_each, level, smallest_gain
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask, report_steps


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

    @property
    def joins_all(self) -> bool:  # type: ignore[override]
        return check_count("k", self.k) > 0

    def learn(self, task: StructureTask) -> LearntStructure:
        order, ranked = rank_parents(task.counts, check_count("k", self.k))
        names = task.names
        actions = (
            f"add {', '.join(names[parent] for parent in sorted(ranked[child]))} -> {names[child]}"
            for child in order
            if ranked[child]
        )
        return LearntStructure(Dag.augmented_naive_bayes(ranked), steps=report_steps(task, actions))


class SelectiveKDependence(StructureLearner):
    """`KDependence` with its first attributes and parents only, where that predicts better (Martinez et al. 2016).

    Attributes are in decreasing order of I(X_i; C), the parents of each in decreasing order of I(X_i; X_j | C) with
    those before it. Of the n (k + 1) structures of the first attributes with the first parents, and that of none, the
    one with the highest sum_t log P(c_t | x_t) is taken, each row judged by tables without it (the paper takes the
    lowest squared error). Ties go to fewer attributes, then to fewer parents. Attributes left out have no edge.

    k  the most parents of an attribute beside the class
    """

    needs = "passes"
    evaluates = True
    leaves_one_out = True
    asks_criterion = False

    def __init__(self, k: int = 2) -> None:
        self.k = k

    def learn(self, task: StructureTask) -> LearntStructure:
        k = check_count("k", self.k)
        order, ranked = rank_parents(task.counts, k)
        numbers = [(0, 0), *((taken, most) for most in range(k + 1) for taken in range(1, len(order) + 1))]
        dags = [cut_dag(order[:taken], ranked, most) for taken, most in numbers]
        values = np.array(evaluate_each(task, dags))
        levelled = level(values, smallest_gain(float(values.max())))
        best = min(range(len(numbers)), key=lambda place: (-levelled[place], *numbers[place]))
        taken, most = numbers[best]
        steps = report_steps(task, [f"take {taken} of {len(order)} attributes, with at most {most} parents"])
        return LearntStructure(dags[best], steps=steps)


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


def cut_dag(taken: Sequence[int], ranked: Sequence[Sequence[int]], most: int) -> Dag:
    """The attributes taken have the class and at most so many of their ranked parents; the others have none."""
    target = len(ranked)
    chosen = set(taken)
    parents = [(*ranked[child][:most], target) if child in chosen else () for child in range(target)]
    return Dag((*parents, ()))
