"""Naive Bayes: the class is the only parent of every attribute."""

from __future__ import annotations

from tanager.structure.dag import Dag
from tanager.structure.family_terms import total_score
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask


class NaiveBayes(StructureLearner):
    """No search: attributes are independent given the class."""

    needs = "families"

    def learn(self, task: StructureTask) -> LearntStructure:
        dag = Dag.augmented_naive_bayes([()] * task.counts.n_attributes)
        return LearntStructure(dag, total_score(task, dag))
