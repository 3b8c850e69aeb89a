"""StructureLearner: the role of whatever chooses a structure; the task it is given and the result it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, Literal

from sklearn.base import BaseEstimator

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.scores.likelihood import CLL
from tanager.scores.protocol import FamilyScore
from tanager.structure.constraints import Edges, IndexEdges, edge_indices
from tanager.structure.dag import Dag
from tanager.table.rows import Needs
from tanager.table.schema import ColumnSchema

NetworkKind = Literal["tables", "mixtures", "trees"]
"""What a network is made of: tables of families; other networks; all trees over the attributes."""


@dataclass(frozen=True)
class StructureTask:
    """What a learner may look at.

    counts        counts of the training table, by family
    criterion     the score that says how good a structure is; None for a learner that asks for none
    names         names of the nodes, the class last
    random_state  seed for learners that draw at random; the same one gives the same structure
    report        called with each step taken, for progress; None for nobody
    evaluate      how good a structure is as a classifier, larger is better, for what no sum over families can say: the
                  value of a score that is not decomposable, the wrapped measure of `Selective`
    evaluate_each the same of several structures in one pass over the rows; None where nobody can
    count_right   how many rows, by weight, a structure's classifier gives their class; ties count in part
    weigh         weights of a mixture of structures, chosen for P(class | attributes), each row judged as by `evaluate`
    columns       the node that each column of the table is, the class last; none where they have the same numbers
    """

    counts: CountStore
    criterion: FamilyScore | CLL | None
    names: tuple[str, ...]
    random_state: int = 0
    report: Callable[[Step], None] | None = None
    evaluate: Callable[[Dag], float] | None = None
    columns: tuple[int, ...] = ()
    evaluate_each: Callable[[Sequence[Dag]], Sequence[float]] | None = None
    count_right: Callable[[Dag], float] | None = None
    weigh: Callable[[Sequence[Dag]], Sequence[float]] | None = None

    def edges(self, option: str, edges: Edges) -> IndexEdges:
        """(parent, child) pairs of nodes, from the names of columns or their numbers in the table."""
        return edge_indices(option, edges, self.names, self.columns)


@dataclass(frozen=True)
class Step:
    """One step of a search: what was done ("add a -> b"), what it gained, and the score after it, if it was scored."""

    action: str
    gain: float | None = None
    score: float | None = None

    def __str__(self) -> str:
        if self.gain is None:
            return self.action
        return f"{self.action}  gain {self.gain:.6g}  score {self.score:.6g}"


@dataclass(frozen=True)
class LearntStructure:
    """A structure over attributes and class (the last node), its score, and how it was found.

    score  by the task's criterion; None where the learner asks for none
    members  the structures of the networks of a mixture, of which `dag` has the edges in common; else none. Of all
             trees: for each attribute the structure with the tables of every edge from it
    weights  of the members, summing to one
    log_weights  of the edges of all trees, as `AllTrees` has them; None for other structures
    """

    dag: Dag
    score: float | None = None
    steps: tuple[Step, ...] = ()
    members: tuple[Dag, ...] = ()
    weights: tuple[float, ...] = ()
    log_weights: Array | None = field(default=None, compare=False)


class StructureLearner(BaseEstimator, ABC):
    """A scikit-learn parameter object: its options are the arguments of `__init__`; it holds no data.

    What it can do is declared by class attributes, which callers ask:

    needs           of the rows; what needs no more than counts or passes learns from a stream and on a cluster
    learns          the kind of network it is the structure of
    asks_criterion  whether the structure is chosen by `task.criterion`; where not, giving one is an error
    default_criterion  the one used where none is given
    evaluates       whether it asks `task.evaluate`, which a criterion that does not decompose asks for it
    leaves_one_out  whether `task.evaluate` and `task.count_right` judge a row by tables without it
    joins_all       whether every attribute but one has an attribute parent: then the tables are no smaller than those
                    of a star around the attribute of the fewest states, and may be refused before any counting
    """

    needs: ClassVar[Needs] = "counts"
    learns: ClassVar[NetworkKind] = "tables"
    asks_criterion: ClassVar[bool] = True
    default_criterion: ClassVar[str] = "fcll"
    evaluates: ClassVar[bool] = False
    leaves_one_out: ClassVar[bool] = False
    joins_all: ClassVar[bool] = False

    @abstractmethod
    def learn(self, task: StructureTask) -> LearntStructure:
        """Choose the structure."""

    def hidden(self, names: Sequence[str]) -> tuple[ColumnSchema, ...]:
        """Nodes of the structure that are not among the columns `names`, the class last: usually none."""
        return ()


def report_steps(task: StructureTask, actions: Iterable[str]) -> tuple[Step, ...]:
    """The steps of a search that scores nothing, each reported."""
    steps = tuple(map(Step, actions))
    if task.report is not None:
        for step in steps:
            task.report(step)
    return steps


class Search:
    """The steps of one search: each adds its gain to the score, is reported, and kept."""

    def __init__(self, task: StructureTask, score: float) -> None:
        self._report = task.report
        self.score = score
        self.steps: list[Step] = []

    def step(self, action: str, gain: float) -> None:
        self.extend([action], [gain])

    def extend(self, actions: Sequence[str], gains: Sequence[float]) -> None:
        """Many steps, one after the other."""
        scores = list(accumulate(gains, initial=self.score))
        self.score = scores[-1]
        steps = list(map(Step, actions, gains, scores[1:]))
        self.steps += steps
        if self._report is not None:
            for step in steps:
                self._report(step)

    def learnt(self, dag: Dag) -> LearntStructure:
        return LearntStructure(dag, self.score, tuple(self.steps))
