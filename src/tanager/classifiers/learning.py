"""A coded table -> a finished network: count, choose the structure, fit the parameters; wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from time import perf_counter
from typing import cast

import numpy as np

from tanager.additive.model import AnyModel
from tanager.additive.trace import AdditiveTrace
from tanager.classifiers.hidden import add_hidden, count_with_hidden, hidden_columns, tune_hidden
from tanager.classifiers.parts import Parts
from tanager.classifiers.reading import CodedTable
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.errors import MemoryLimitError
from tanager.missing.filling import FillingTask
from tanager.network.mixture import MixtureNetwork
from tanager.network.network import Network
from tanager.network.tree_average import TreeAverageNetwork
from tanager.parameters import Conditional, Frequency, LearntNetwork, ParameterLearner, ParameterTask
from tanager.parameters.fitted_likelihood import FittedLikelihood
from tanager.parameters.protocol import ParameterTrace
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.runtime.memory import available_memory
from tanager.scores import CLL, FamilyScore
from tanager.structure import LearntStructure, Step, StructureTask
from tanager.structure.dag import Dag


@dataclass(frozen=True)
class Trace:
    """What the search and the optimiser did.

    seconds  that it took, by the clock on the wall; None where that is not known: files do not say
    """

    structure: tuple[Step, ...]
    parameters: ParameterTrace
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Learnt:
    """A model, what says what its missing cells may hold, how it came about, and the score of its structure."""

    model: AnyModel
    filling: FillingTask | None
    trace: Trace | AdditiveTrace
    counts: CountStore
    structure_score: float | None = None


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

    def prepare(self, table: CodedTable) -> tuple[LearntStructure, ParameterTask]:
        """The structure, and what the parameter learner is given."""
        parts, counts, columns, unlabelled = self.parts, table.counts(self.engine), table.columns, table.unlabelled
        hidden = hidden_columns(parts, counts.names, self.missing)
        if hidden:
            counts, columns = count_with_hidden(counts, hidden), (*columns[:-1], *hidden, columns[-1])
            unlabelled = None if unlabelled is None else add_hidden(unlabelled, hidden)
        order = table.table_order(len(hidden))
        structure_task = replace(self._structure_task(counts, order, table.schema.named), schema=columns)
        structure = parts.structure.learn(structure_task)
        if self.verbose:
            score = "" if structure.score is None else f", score {structure.score:.6g}"
            print(f"structure: {len(structure.steps):,} steps{score}")
        task = ParameterTask(
            structure.dag,
            counts,
            schema=columns,
            unlabelled=unlabelled,
            values=table.values,
            relearn=partial(self._relearn, columns=order, named=table.schema.named),
            skip_gaps=self.missing == "skip",
            report=print if self.verbose else None,
        )
        return structure, task

    def learn(self, table: CodedTable) -> Learnt:
        parts, start = self.parts, perf_counter()
        structure, task = self.prepare(table)
        check_memory(parts.parameters, task)
        counts, n_hidden = task.counts, len(task.columns) - len(table.columns)
        order = table.table_order(n_hidden)
        if n_hidden and parts.parameters.tunes_hidden:
            learnt = tune_hidden(cast(Conditional, parts.parameters), task)
        elif structure.members:
            learnt = learn_members(parts.parameters, task, structure)
        else:
            learnt = parts.parameters.learn(task)
        filling = None
        if self.fills and not n_hidden:
            network = cast(Network, learnt.network)
            classes, by_state = table.class_counts(counts), table.state_counts(counts)
            filling = FillingTask.of(network, counts, classes, by_state, order)
        trace = Trace(structure.steps, learnt.trace, float(f"{perf_counter() - start:.3g}"))
        return Learnt(learnt.network.reordered(order), filling, trace, counts, structure.score)

    def _relearn(self, counts: CountStore, columns: tuple[int, ...], named: bool) -> Dag:
        """The structure by the counts of other rows."""
        task = replace(self._structure_task(counts, columns, named), report=None)
        return self.parts.structure.learn(task).dag

    def _structure_task(self, counts: CountStore, columns: tuple[int, ...], named: bool) -> StructureTask:
        structure, criterion, parameters = self.parts.structure, self.parts.criterion, self.parts.parameters
        if named and isinstance(criterion, FamilyScore):
            criterion = criterion.for_nodes(counts.names)
        report = print if self.verbose > 1 else None
        task = StructureTask(counts, criterion, counts.names, self.seed, report, columns=columns)
        asks_rows = criterion is not None and not criterion.decomposable
        if not asks_rows and not structure.evaluates:
            return task
        smoothing = cast(Frequency, parameters) if parameters.smooths_counts else Frequency()
        if asks_rows:
            return replace(task, evaluate=criterion_likelihood(cast(CLL, criterion), counts, smoothing))
        rows = RowLikelihood(counts, smoothing, structure.leaves_one_out)
        return replace(task, evaluate=rows, evaluate_each=rows.each, count_right=rows.count_right, weigh=rows.weigh)


def criterion_likelihood(criterion: CLL, counts: CountStore, smoothing: Frequency) -> Callable[[Dag], float]:
    """The conditional log likelihood at the tables that the criterion asks for."""
    return FittedLikelihood(counts) if criterion.tables == "conditional" else RowLikelihood(counts, smoothing)


def learn_members(parameters: ParameterLearner, task: ParameterTask, structure: LearntStructure) -> LearntNetwork:
    """A mixture, or the mean of all trees."""
    members = parameters.learn_members(task, structure.members)
    if structure.log_weights is not None:
        return LearntNetwork(TreeAverageNetwork(tuple(members), structure.log_weights))
    return LearntNetwork(MixtureNetwork(members, np.array(structure.weights), structure.subsumption))


def needed_memory(learner: ParameterLearner, task: ParameterTask, members: Sequence[Dag] = ()) -> int:
    """Bytes, about: those of a cell times the cells of all tables.

    Of a mean of networks those of all `members`; of a fit the counts of pairs and triples refuse what is too large.
    """
    if members:
        n_states = task.counts.n_states
        return learner.bytes_per_cell["mixtures"] * sum(f.size(n_states) for dag in members for f in dag.families)
    return learner.bytes_per_cell["tables"] * sum(table_sizes(_families(task), task.counts).values())


def check_memory(learner: ParameterLearner, task: ParameterTask) -> None:
    """Refuse tables that would not fit in the memory allowed, and name the largest."""
    refuse_too_large(table_sizes(_families(task), task.counts), task.counts, learner.bytes_per_cell["tables"])


def refuse_too_large(sizes: Mapping[tuple[int, ...], int], counts: CountStore, bytes_per_cell: int) -> None:
    """Refuse so many cells, by their nodes, if they would not fit in the memory allowed, and name the largest table."""
    needed, allowed = bytes_per_cell * sum(sizes.values()), min(counts.memory_limit, available_memory())
    if needed > allowed:
        names = counts.names
        nodes = max(sizes, key=sizes.__getitem__)
        widest = max(nodes[:-1] or nodes, key=counts.n_states.__getitem__)
        raise MemoryLimitError(
            f"the fit would take about {needed / 2**30:.3g} GiB, more than the {allowed / 2**30:.3g} GiB allowed: the "
            f"table over {', '.join(repr(names[node]) for node in nodes)} alone has {sizes[nodes]:,} cells.",
            hint=f"drop {names[widest]!r}, which has {counts.n_states[widest]:,} states, or group its values.",
        )


def table_sizes(node_sets: Iterable[tuple[int, ...]], counts: CountStore) -> dict[tuple[int, ...], int]:
    """Cells of the table of each set of nodes, the class last where it is among them."""
    return {nodes: prod(counts.n_states[node] for node in nodes) for nodes in node_sets}


def _families(task: ParameterTask) -> list[tuple[int, ...]]:
    return [tuple(sorted(family.nodes)) for family in task.dag.families]
