"""Selective naive Bayes: a forward selection of attributes, wrapped around the classifier."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.structure.dag import Dag
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask
from tanager.structure.ties import level, smallest_gain


class Selective(StructureLearner):
    """Take in the attribute that most improves the classifier, until none does (Langley and Sage 1994).

    The attributes left out have no edge at all, so they say nothing about the class. The score after each step is what
    was measured, each row judged by tables without it. Ties go to the column that comes first by name.

    by  "likelihood": sum_t log P(c_t | x_t), `task.evaluate`; "accuracy": how many rows get their class, as the
        wrapper of Kohavi and John (1997) has it, `task.count_right`
    """

    needs = "passes"
    evaluates = True
    leaves_one_out = True
    asks_criterion = False

    def __init__(self, by: Literal["likelihood", "accuracy"] = "likelihood") -> None:
        self.by = by

    def learn(self, task: StructureTask) -> LearntStructure:
        accuracy = check_option("by", self.by, ["likelihood", "accuracy"]) == "accuracy"
        evaluate = task.count_right if accuracy else task.evaluate
        if evaluate is None:
            raise OptionError("structure 'selective' judges classifiers on rows; use it through a classifier.")
        n_attributes = task.counts.n_attributes
        chosen: set[int] = set()
        search = Search(task, evaluate(selective_dag(n_attributes, chosen)))
        while len(chosen) < n_attributes:
            others = [attribute for attribute in range(n_attributes) if attribute not in chosen]
            values = [evaluate(selective_dag(n_attributes, chosen | {attribute})) for attribute in others]
            smallest = smallest_gain(search.score)
            best = int(level(values, smallest).argmax())
            if not values[best] > search.score + smallest:
                break
            chosen.add(others[best])
            search.step(f"take in {task.names[others[best]]}", values[best] - search.score)
        return LearntStructure(selective_dag(n_attributes, chosen), steps=tuple(search.steps))


def selective_dag(n_attributes: int, chosen: Collection[int]) -> Dag:
    """Naive Bayes over the chosen attributes; the others are on their own."""
    return Dag((*((n_attributes,) if attribute in chosen else () for attribute in range(n_attributes)), ()))
