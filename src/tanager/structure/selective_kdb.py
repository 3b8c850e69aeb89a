"""Selective k-dependence Bayes (SKDB): how many attributes, and how many parents, by leaving one row out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.family_terms import evaluate_each
from tanager.structure.k_dependence import rank_parents
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask, report_steps
from tanager.structure.ties import level, smallest_gain


class SelectiveKDependence(StructureLearner):
    """`KDependence` with its first attributes and parents only, where that predicts better (Martinez et al. 2016).

    Attributes are in decreasing order of I(X_i; C), the parents of each in decreasing order of I(X_i; X_j | C) with
    those before it. Of the n (k + 1) structures of the first attributes with the first parents, and that of none, the
    one is taken with the highest sum_t log P(c_t | x_t), each row judged by tables without it. Ties go to fewer
    attributes, then to fewer parents. Attributes left out have no edge.

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


def cut_dag(taken: Sequence[int], ranked: Sequence[Sequence[int]], most: int) -> Dag:
    """The attributes taken have the class and at most so many of their ranked parents; the others have none."""
    target = len(ranked)
    chosen = set(taken)
    parents = [(*ranked[child][:most], target) if child in chosen else () for child in range(target)]
    return Dag((*parents, ()))
