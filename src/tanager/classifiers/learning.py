"""A coded table -> a finished network: count, choose the structure, fit the parameters; wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from tanager.classifiers.hidden import add_hidden, count_with_hidden, hidden_columns, tune_hidden
from tanager.classifiers.parts import Parts
from tanager.classifiers.reading import CodedTable
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.gaps.filling import Filling, learn_filling
from tanager.network.additive import AdditiveNetwork
from tanager.network.network import Network
from tanager.parameters import Conditional, Frequency, ParameterTask
from tanager.parameters.protocol import ParameterTrace
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.scores import FamilyScore
from tanager.structure import Step, StructureTask
from tanager.structure.dag import Dag


@dataclass(frozen=True)
class Trace:
    """What the search and the optimiser did."""

    structure: tuple[Step, ...]
    parameters: ParameterTrace


@dataclass(frozen=True)
class Learnt:
    """A network, what says what its missing cells may hold, the score of its structure, and how it came about."""

    network: Network | AdditiveNetwork
    filling: Filling | None
    structure_score: float | None
    trace: Trace
    counts: CountStore


@dataclass(frozen=True)
class Learning:
    """How a network is learnt.

    missing  as the classifier's
    fills    whether P(class | row) will be averaged over what a missing cell may hold
    seed     for structure learners that draw at random
    verbose  1 prints what was chosen, 2 also each step of the search
    """

    parts: Parts
    engine: CountEngine
    missing: str
    fills: bool
    seed: int
    verbose: int

    def learn(self, table: CodedTable) -> Learnt:
        parts, counts, columns, unlabelled = self.parts, table.counts(self.engine), table.columns, table.unlabelled
        hidden = hidden_columns(parts, counts.names, self.missing) if parts.structure.learns == "tables" else ()
        if hidden:
            counts, columns = count_with_hidden(counts, hidden), (*columns[:-1], *hidden, columns[-1])
            unlabelled = None if unlabelled is None else add_hidden(unlabelled, hidden)
        order = table.table_order(len(hidden))
        structure = parts.structure.learn(self._structure_task(counts, order, table.schema.named))
        if self.verbose:
            score = "" if structure.score is None else f", score {structure.score:.6g}"
            print(f"structure: {len(structure.steps):,} steps{score}")
        task = ParameterTask(
            structure.dag,
            counts,
            schema=columns,
            pairs=structure.pairs,
            rows=table.rows,
            unlabelled=unlabelled,
            values=table.values,
            relearn=partial(self._relearn, columns=order, named=table.schema.named),
            skip_gaps=self.missing == "skip",
            report=print if self.verbose else None,
        )
        if hidden and parts.parameters.tunes_hidden:
            learnt = tune_hidden(cast(Conditional, parts.parameters), task)
        else:
            learnt = parts.parameters.learn(task)
        filling = None
        if self.fills and not hidden:
            filling = learn_filling(learnt.network, counts, table.state_counts(counts)).reordered(order)
        network = learnt.network.reordered(order)
        return Learnt(network, filling, structure.score, Trace(structure.steps, learnt.trace), counts)

    def _relearn(self, counts: CountStore, columns: tuple[int, ...], named: bool) -> Dag:
        """The structure by the counts of other rows."""
        task = replace(self._structure_task(counts, columns, named), report=None)
        return self.parts.structure.learn(task).dag

    def _structure_task(self, counts: CountStore, columns: tuple[int, ...], named: bool) -> StructureTask:
        structure, criterion, parameters = self.parts.structure, self.parts.criterion, self.parts.parameters
        if named and isinstance(criterion, FamilyScore):
            criterion = criterion.for_nodes(counts.names)
        evaluate = None
        if structure.evaluates or (criterion is not None and not criterion.decomposable):
            smoothing = cast(Frequency, parameters) if parameters.smooths_counts else Frequency()
            evaluate = RowLikelihood(counts, smoothing, structure.leaves_one_out)
        report = print if self.verbose > 1 else None
        return StructureTask(counts, criterion, counts.names, self.seed, report, evaluate, columns)
