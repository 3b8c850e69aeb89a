"""Learning a network of effects: in the order of the columns' names, so that the order of the table does not matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.errors import OptionError
from tanager.gaps.filler import learn_filler
from tanager.network.additive import AdditiveNetwork
from tanager.network.network import Network
from tanager.parameters import Conditional, ParameterLearner
from tanager.parameters.effects.fit import LearntEffects
from tanager.parameters.effects.layout import coarse_batch
from tanager.parameters.effects.problems import AdditiveTask
from tanager.structure import Dag, LearntStructure, Pairwise, StructureTask
from tanager.table.batch import EncodedBatch
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.spool import codes_like


@dataclass(frozen=True)
class LearntAdditive:
    """A network of effects, what fills the gaps of its rows, how its pairs were found, and what the optimiser did."""

    network: AdditiveNetwork
    filler: Network | None
    structure: LearntStructure
    effects: LearntEffects


@dataclass(frozen=True)
class AdditiveLearner:
    """The parts that learn a network of effects, and what they say on the way; `missing` as the classifier's."""

    structure: Pairwise
    parameters: ParameterLearner
    missing: str
    task: Callable[[CountStore], StructureTask]
    report: Callable[[str], None]

    def learn(self, batch: EncodedBatch, schema: TableSchema, engine: CountEngine) -> LearntAdditive:
        if not isinstance(self.parameters, Conditional):
            raise OptionError(
                f"parameters={self.parameters!r} fills tables; structure='pairwise' has sums of effects.",
                hint="use parameters='conditional', or structure='tan'.",
            )
        if self.missing == "marginalize":
            raise OptionError(
                "missing='marginalize' sums over a joint distribution, which structure='pairwise' does not have.",
                hint="use missing='auto', or structure='tan'.",
            )
        order = np.argsort(np.array([column.name for column in schema.attributes]), kind="stable")
        columns = tuple(schema.attributes[attribute] for attribute in order.tolist())
        rows = self._take_columns(batch, order)
        names = [column.name for column in (*columns, schema.target)]
        counts = CountStore(self._coarse_batch(rows, columns), engine, names)
        structure = self.structure.learn(self.task(counts))
        assert structure.pairs is not None
        numbers = self.structure.numbers(len(columns))
        task = AdditiveTask(
            structure.dag, counts, rows, columns, structure.pairs, numbers, self.structure.rank, report=self.report
        )
        learnt = self.parameters.learn(task)
        assert isinstance(learnt, LearntEffects)
        coarse = [column.coarse for column in (*columns, schema.target)]
        filler = in_table_order(learn_filler(counts, coarse), order) if self.missing != "skip" else None
        return LearntAdditive(network_of_effects(learnt, schema, order), filler, structure, learnt)

    def _take_columns(self, batch: EncodedBatch, order: NDArray[np.intp]) -> EncodedBatch:
        return take_columns(batch, order)

    def _coarse_batch(self, rows: EncodedBatch, columns: tuple[ColumnSchema, ...]) -> EncodedBatch:
        return coarse_batch(rows, columns)


def take_columns(batch: EncodedBatch, order: NDArray[np.intp]) -> EncodedBatch:
    n_states = (*(batch.n_states[attribute] for attribute in order.tolist()), batch.n_classes)
    codes = codes_like(batch.codes, batch.n_rows, len(order), batch.codes.dtype)
    for position, attribute in enumerate(order.tolist()):
        codes[:, position] = batch.codes[:, attribute]
    return EncodedBatch(codes, batch.class_codes, n_states, batch.incomplete[order], batch.weights)


def network_of_effects(learnt: LearntEffects, schema: TableSchema, order: NDArray[np.intp]) -> AdditiveNetwork:
    """With the attributes in the order of the table again."""
    place = np.argsort(order).tolist()
    own = order.tolist()
    return AdditiveNetwork(
        (*schema.attributes, schema.target),
        learnt.effects.intercept,
        tuple(learnt.effects.mains[position] for position in place),
        tuple((own[parent], own[child]) for parent, child in learnt.pairs),
        learnt.effects.tables,
        tuple(learnt.effects.densities[position] for position in place),
        tuple(learnt.spreads[position] for position in place) if learnt.spreads else (),
    )


def in_table_order(filler: Network, order: NDArray[np.intp]) -> Network:
    """The same network with its attributes in the order of the table; its tables hold one attribute parent at most."""
    own = [*order.tolist(), len(order)]
    place = np.argsort(own).tolist()
    parents = tuple(tuple(own[parent] for parent in filler.dag.parents[position]) for position in place)
    columns = tuple(filler.columns[position] for position in place)
    return Network(columns, Dag(parents), tuple(filler.tables[position] for position in place), filler.target)
