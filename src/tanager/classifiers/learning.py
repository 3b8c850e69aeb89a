"""A coded table -> a finished network: count, choose the structure, fit the parameters; wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np

from tanager.additive.model import AdditiveTrace, AnyModel
from tanager.classifiers.coded_table import (
    CodedTable,
    add_hidden_codes,
    family_sizes,
    refuse_many_classes,
    refuse_too_large,
)
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine, choose_engine
from tanager.errors import OptionError
from tanager.missing.average import MISSING, Imputation, learn_imputation, needs_imputation
from tanager.network.mixture import MixtureNetwork, TreeAverageNetwork
from tanager.network.network import Network
from tanager.parameters import EM, PARAMETERS, Conditional, Frequency, LearntNetwork, ParameterLearner, ParameterTask
from tanager.parameters.conditional.learner import fitted_likelihood
from tanager.parameters.protocol import ParameterTrace
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.registry import check_option, resolve
from tanager.runtime.resources import one_blas_thread
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.structure import STRUCTURES, LearntStructure, Step, StructureLearner, StructureTask
from tanager.structure.averaged import superparent_dag
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch, Needs, Place, Rows, check_needs, exceeds, gather, most_needed
from tanager.table.schema import ColumnSchema
from tanager.tuning.fit import STRENGTHS, QueryRows, TuneRun

if TYPE_CHECKING:
    from tanager.classifiers.bayesian_network import ClassifierOptions

# Of tables fitted on folds: 500 classes of 3,000 rows and ten columns of categories take a minute, 1,000 many minutes.
MOST_CLASSES = 500
DEFAULT_CRITERION = StructureLearner.default_criterion


@dataclass(frozen=True)
class NetworkLearner:
    """What a network is learnt by. Each part declares what it can do, and is asked here.

    criterion  what the structure is chosen by; None where it asks for none
    missing    as the classifier's
    verbose    1 prints what was chosen, 2 also each step of the search
    seed       for structure learners that draw at random
    """

    structure: StructureLearner
    criterion: FamilyScore | CLL | None
    parameters: ParameterLearner
    engine: CountEngine
    missing: str
    verbose: int
    seed: int = 0

    @classmethod
    def of(cls, options: ClassifierOptions, structure: object) -> NetworkLearner:
        """The parts that options name or hold, the structure apart; an error names what cannot be used."""
        missing = check_option("missing", options.missing, MISSING)
        check_option("handle_unknown", options.handle_unknown, ["average", "error"])
        learner = resolve("structure", structure, STRUCTURES, "learn")
        fitter = resolve("parameters", options.parameters, PARAMETERS, "learn")
        if learner.learns not in fitter.fits:
            fitting = next(name for name, make in PARAMETERS.items() if learner.learns in make().fits)
            raise OptionError(
                f"parameters={fitter!r} cannot fit the {learner.learns} of structure={learner!r}.",
                hint=f"use parameters={fitting!r}, or structure='tan'.",
            )
        if learner.learns in ("mixtures", "trees") and missing in ("average", "skip"):
            raise OptionError(
                f"missing={missing!r} is defined for one network; structure={learner!r} is a mixture of them.",
                hint="use missing='auto', which sums a missing cell out of each.",
            )
        return cls(
            learner,
            choose_criterion(options.criterion, learner),
            fitter,
            choose_engine(options.engine, options.device),
            missing,
            int(options.verbose),
        )

    @property
    def averages(self) -> bool:
        """Whether P(class | row) will be averaged over what unknown cells may hold."""
        return needs_imputation(self.missing, self.parameters.describes_attributes)

    @property
    def needs(self) -> Needs:
        """What all parts together need of the rows."""
        return most_needed(*(part.needs for part in self._parts().values()))

    def check(self, place: Place) -> None:
        """Refuse a part that needs more of the rows than they can give where they are."""
        for option, part in self._parts().items():
            check_needs(f"{option}={part!r}", part.needs, place)

    def _parts(self) -> dict[str, StructureLearner | FamilyScore | CLL | ParameterLearner]:
        parts = {"structure": self.structure, "criterion": self.criterion, "parameters": self.parameters}
        return {option: part for option, part in parts.items() if part is not None}

    def prepare(self, table: CodedTable) -> tuple[LearntStructure, ParameterTask]:
        """The structure, and what the parameter learner is given."""
        counts, columns, unlabelled = table.counts(self.engine), table.columns, table.unlabelled
        hidden = hidden_columns(self, counts.names)
        if hidden:
            counts, columns = count_with_hidden(counts, hidden), (*columns[:-1], *hidden, columns[-1])
            unlabelled = None if unlabelled is None else add_hidden(unlabelled, hidden)
        order = table.table_order(len(hidden))
        if self.structure.joins_all:
            smallest = int(np.argmin(counts.n_states[:-1]))
            self._refuse_too_large(LearntStructure(superparent_dag(counts.n_attributes, (smallest,))), counts)
        structure = self.structure.learn(self._structure_task(counts, order, table.schema.named))
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

    def _refuse_too_large(self, structure: LearntStructure, counts: CountStore) -> None:
        """Refuse a structure whose tables would not fit in the memory allowed."""
        bytes_per_cell = self.parameters.bytes_per_cell["mixtures" if structure.members else "tables"]
        refuse_too_large(family_sizes(structure.members or [structure.dag], counts), bytes_per_cell, counts)

    def learn(self, table: CodedTable) -> Learnt:
        start = perf_counter()
        if self.parameters.holds_out:
            refuse_many_classes(table.columns[-1], MOST_CLASSES, f"parameters={self.parameters!r} learn")
        structure, task = self.prepare(table)
        counts, n_hidden = task.counts, len(task.columns) - len(table.columns)
        self._refuse_too_large(structure, counts)
        order = table.table_order(n_hidden)
        if n_hidden and self.parameters.tunes_hidden:
            learnt = tune_hidden(cast(Conditional, self.parameters), task)
        elif structure.members:
            learnt = learn_members(self.parameters, task, structure)
        else:
            learnt = self.parameters.learn(task)
        imputation = None
        if self.averages and not n_hidden and learnt.network.kind == "tables":
            classes, by_state = table.class_counts(counts), table.state_counts(counts)
            # A learner of counts alone has no rows where they come in a stream, so nowhere.
            rows = table.rows if exceeds(self.needs, "pairs") else EncodedBatch.empty(learnt.network.n_states)
            imputation = learn_imputation(learnt.network, rows, classes, by_state, order)
        trace = Trace(structure.steps, learnt.trace, float(f"{perf_counter() - start:.3g}"))
        return Learnt(learnt.network.reordered(order), imputation, trace, counts, structure.score)

    def _relearn(self, counts: CountStore, columns: tuple[int, ...], named: bool) -> Dag:
        """The structure by the counts of other rows."""
        task = replace(self._structure_task(counts, columns, named), report=None)
        return self.structure.learn(task).dag

    def _structure_task(self, counts: CountStore, columns: tuple[int, ...], named: bool) -> StructureTask:
        structure, criterion, parameters = self.structure, self.criterion, self.parameters
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


@dataclass(frozen=True)
class Trace:
    """What the search and the optimiser did.

    seconds  wall-clock time of the fit; None for a model read from a file
    """

    structure: tuple[Step, ...]
    parameters: ParameterTrace
    seconds: float | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """A few lines: the steps of the search and the values of each iteration are many."""
        single = {name: value for name, value in vars(self.parameters).items() if isinstance(value, int | float | str)}
        learnt = ", ".join(
            f"{name}={value:.4g}" if type(value) is float else f"{name}={value}" for name, value in single.items()
        )
        steps = f"{len(self.structure):,} steps of the search"
        last = f"; the last: {self.structure[-1].action}" if self.structure else ""
        took = "" if self.seconds is None else f"\n  the fit took {self.seconds:.3g} s"
        return f"Trace: {steps}{last}\n  {type(self.parameters).__name__}: {learnt}{took}"


@dataclass(frozen=True)
class Learnt:
    """A model, the task of its imputation model, the trace of the fit, and the score of the structure."""

    model: AnyModel
    imputation: Imputation | None
    trace: Trace | AdditiveTrace
    counts: CountStore
    structure_score: float | None = None


def choose_criterion(criterion: object, structure: StructureLearner) -> FamilyScore | CLL | None:
    """The score that `structure` is chosen by; None where it asks for none, and then none may be given."""
    if structure.asks_criterion:
        score = resolve(
            "criterion", structure.default_criterion if criterion is None else criterion, SCORES, "check_options"
        )
        score.check_options()
        return score
    if criterion is None:
        return None
    asking = [repr(name) for name, make in STRUCTURES.items() if make().asks_criterion]
    raise OptionError(
        f"criterion={criterion!r} is given, but the structure {type(structure).__name__}() is chosen without one.",
        hint=f"leave the criterion out, or use a structure that asks for one: {', '.join(asking)}.",
    )


def criterion_likelihood(criterion: CLL, counts: CountStore, smoothing: Frequency) -> Callable[[Dag], float]:
    """The conditional log likelihood at the tables that the criterion asks for."""
    if criterion.tables == "conditional":
        return partial(fitted_likelihood, counts=counts)
    return RowLikelihood(counts, smoothing)


def learn_members(parameters: ParameterLearner, task: ParameterTask, structure: LearntStructure) -> LearntNetwork:
    """A mixture, or the mean of all trees."""
    members = parameters.learn_members(task, structure.members)
    if structure.log_weights is not None:
        return LearntNetwork(TreeAverageNetwork(tuple(members), structure.log_weights))
    return LearntNetwork(MixtureNetwork(members, np.array(structure.weights)))


def hidden_columns(learner: NetworkLearner, names: Sequence[str]) -> tuple[ColumnSchema, ...]:
    """The hidden nodes of a structure for a table with these columns, the class last; or why they cannot be learnt."""
    hidden = learner.structure.hidden(names)
    if not hidden:
        return ()
    nodes = ", ".join(repr(column.name) for column in hidden)
    if not learner.parameters.learns_hidden:
        raise OptionError(
            f"the network has nodes that are no column of the table, {nodes}; {type(learner.parameters).__name__} "
            "cannot learn tables of hidden nodes.",
            hint="use parameters='em', 'likelihood-gradient' or 'conditional', or rename the columns.",
        )
    if learner.missing not in ("auto", "marginalize", "category"):
        raise OptionError(
            f"missing={learner.missing!r} cannot be used with hidden nodes, {nodes}: they have to be summed out."
        )
    return hidden


def add_hidden(rows: Rows, hidden: Sequence[ColumnSchema]) -> Rows:
    """The rows with a column for each hidden node."""
    n_states = (*rows.n_states[:-1], *(column.n_states for column in hidden), rows.n_states[-1])
    return rows.map(partial(_add_columns, n_states=n_states), "hidden")


def count_with_hidden(counts: CountStore, hidden: Sequence[ColumnSchema]) -> CountStore:
    """Counts of the table with a column for each hidden node."""
    names = [*counts.names[:-1], *(column.name for column in hidden), counts.names[-1]]
    return CountStore(add_hidden(counts.rows, hidden), counts.engine, names)


@dataclass(frozen=True)
class HiddenTrace(ParameterTrace):
    """What EM did, the strength by which its tables hold, and the mean held-out loss of all strengths tried."""

    em: ParameterTrace
    strength: float
    held_out: tuple[tuple[float, float], ...]


def tune_hidden(parameters: Conditional, task: ParameterTask) -> LearntNetwork:
    """A network with hidden nodes that discriminates between classes: the tables of EM, tuned for the class.

    They are pulled back to EM's as if `strength` rows had been seen in each of their rows (`tune`). So EM's tables stay
    where nothing is gained.
    """
    parameters.check_options()
    if parameters.prior_name in ("none", "uniform"):
        raise OptionError(
            f"prior={parameters.prior!r} cannot be used with hidden nodes: the tables are pulled to those of EM.",
            hint="use prior='generative'.",
        )
    start = EM().learn(task)
    batch = gather(task.counts.rows)
    rows = QueryRows(np.column_stack([batch.codes, batch.class_codes]), (batch.n_attributes,), batch.row_weights)
    strengths = STRENGTHS if parameters.strengths is None else parameters.strengths[:1]

    def relearn(part: QueryRows) -> Network:
        codes = np.asfortranarray(part.codes[:, :-1])
        kept = EncodedBatch(codes, part.codes[:, -1], batch.n_states, batch.incomplete, part.weights)
        counts = CountStore(kept, task.counts.engine, task.counts.names)
        return cast(Network, EM().learn(replace(task, counts=counts)).network)

    with one_blas_thread():
        network, alpha = cast(Network, start.network), parameters.joint_share
        chosen = TuneRun(network, parameters.objective, strengths, alpha=alpha, relearn=relearn).learn(rows)
    trace = HiddenTrace(start.trace, chosen.strength, tuple(chosen.held_out.items()))
    return LearntNetwork(task.network(chosen.tables), trace)


def _add_columns(batch: EncodedBatch, n_states: tuple[int, ...]) -> EncodedBatch:
    incomplete = np.ones(len(n_states) - 1, dtype=bool)
    incomplete[: batch.n_attributes] = batch.incomplete
    return EncodedBatch(add_hidden_codes(batch.codes, n_states), batch.class_codes, n_states, incomplete, batch.weights)
