"""Selective naive Bayes: a selection of attributes by search, wrapped around the classifier."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.family_terms import level, smallest_gain
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask

Attributes = frozenset[int]


class Selective(StructureLearner):
    """Take in the attribute that most improves the classifier, until none does (Langley and Sage 1994).

    The attributes left out have no edge at all, so they do not inform the class. The score after each step is what
    was measured, each row judged by tables without it. Ties go to the column that comes first by name.

    by        "likelihood": sum_t log P(c_t | x_t), `task.evaluate`; "accuracy": how many rows get their class, as the
              wrapper of Kohavi and John (1997) has it, `task.count_right`
    patience  1 stops where no single attribute improves. With more the search is best-first: the best set of all
              that were judged and not yet enlarged is enlarged by each other attribute, and the search stops when
              so many sets in a row were enlarged in vain (Kohavi and John have 5)
    """

    needs = "passes"
    evaluates = True
    leaves_one_out = True
    asks_criterion = False

    def __init__(self, by: Literal["likelihood", "accuracy"] = "likelihood", patience: int = 1) -> None:
        self.by = by
        self.patience = patience

    def learn(self, task: StructureTask) -> LearntStructure:
        accuracy = check_option("by", self.by, ["likelihood", "accuracy"]) == "accuracy"
        patience = check_count("patience", self.patience, 1)
        evaluate = task.count_right if accuracy else task.evaluate
        if evaluate is None:
            raise OptionError("structure 'selective' judges classifiers on rows; use it through a classifier.")
        n_attributes = task.counts.n_attributes
        best: Attributes = frozenset()
        search = Search(task, evaluate(selective_dag(n_attributes, best)))
        judged = {best: search.score}
        waiting, in_vain = [best], 0
        while waiting and in_vain < patience:
            smallest = smallest_gain(search.score)
            # Of sets that are equally good the largest: what it has need not be found again.
            ranks = zip(level([judged[each] for each in waiting], smallest).tolist(), map(len, waiting), strict=True)
            before = waiting.pop(max(enumerate(ranks), key=lambda ranked: (*ranked[1], -ranked[0]))[0])
            larger = [before | {one} for one in range(n_attributes) if one not in before]
            larger = [attributes for attributes in larger if attributes not in judged]
            values = [evaluate(selective_dag(n_attributes, attributes)) for attributes in larger]
            judged.update(zip(larger, values, strict=True))
            waiting += larger
            top = int(level(values, smallest).argmax()) if values else None
            if top is not None and values[top] > search.score + smallest:
                search.step(describe_step(task.names, best, larger[top]), values[top] - search.score)
                best, in_vain = larger[top], 0
            else:
                in_vain += 1
        return LearntStructure(selective_dag(n_attributes, best), steps=tuple(search.steps))


def describe_step(names: Sequence[str], before: Attributes, after: Attributes) -> str:
    """The attributes taken in, and those left out where the search went back."""
    taken, left = (", ".join(names[one] for one in sorted(part)) for part in (after - before, before - after))
    return f"take in {taken}, leave out {left}" if left else f"take in {taken}"


def selective_dag(n_attributes: int, chosen: Collection[int]) -> Dag:
    """Naive Bayes over the chosen attributes; the others are on their own."""
    return Dag((*((n_attributes,) if attribute in chosen else () for attribute in range(n_attributes)), ()))
