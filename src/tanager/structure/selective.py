"""Selective naive Bayes: a forward selection of attributes, wrapped around the classifier."""

from __future__ import annotations

from collections.abc import Collection

from tanager.errors import OptionError
from tanager.structure.dag import Dag
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask
from tanager.structure.ties import level, smallest_gain


class Selective(StructureLearner):
    """Take in the attribute that most improves `task.evaluate`, until none does (Langley and Sage 1994).

    The attributes left out have no edge at all, so they say nothing about the class. The score after each step is what
    `task.evaluate` measured. Ties go to the column that comes first by name.
    """

    needs = "passes"
    evaluates = True
    leaves_one_out = True
    asks_criterion = False

    def learn(self, task: StructureTask) -> LearntStructure:
        if task.evaluate is None:
            raise OptionError("structure 'selective' judges classifiers on rows; use it through a classifier.")
        n_attributes = task.counts.n_attributes
        chosen: set[int] = set()
        search = Search(task, task.evaluate(selective_dag(n_attributes, chosen)))
        while len(chosen) < n_attributes:
            others = [attribute for attribute in range(n_attributes) if attribute not in chosen]
            values = [task.evaluate(selective_dag(n_attributes, chosen | {attribute})) for attribute in others]
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
