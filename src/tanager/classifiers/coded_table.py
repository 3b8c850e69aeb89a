"""The first half of every fit: a table, in memory or batch by batch -> codes, ready to be learnt from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from tanager.arrays import Codes
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine, choose_engine
from tanager.counts.family import CountTable, Family
from tanager.errors import DataError, MemoryLimitError
from tanager.runtime.resources import available_memory
from tanager.structure.dag import Dag
from tanager.table.binning import ValueRows, cut_at_every_value, fine_places, is_worth_cutting_again
from tanager.table.columns import NumericColumn, RawTable, code_dtype
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import encode_rows, without_class
from tanager.table.rows import Needs, Rows, Weights
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.reader import StreamedTable
from tanager.table.training_table import TrainingTable


@dataclass(frozen=True)
class CodedTable:
    """Rows and what their columns hold.

    schema      of the table, its attributes in their order there
    order       the column of the table that each attribute of the rows is, `schema.learning_order` for learners
    classes     the labels, ascending
    rows        those with a class, at both granularities where columns have two (`table.binning`)
    unlabelled  those without a class, where the learner asks for them and there are any
    values      few rows in codes that have not seen the class, where those of `rows` have and the learner asks for them
    known       counts that need no pass: ascending nodes to flat tables (`CountStore`)
    factors     (n_classes,) what class weights have multiplied the weights of rows by
    """

    schema: TableSchema
    order: tuple[int, ...]
    classes: NDArray[np.generic]
    rows: Rows
    unlabelled: Rows | None = None
    values: ValueRows | None = None
    known: Mapping[tuple[int, ...], CountTable] = field(default_factory=dict)
    factors: Weights | None = None

    @property
    def columns(self) -> tuple[ColumnSchema, ...]:
        """What each node of the rows holds, the class last."""
        return (*(self.schema.attributes[position] for position in self.order), self.schema.target)

    def table_order(self, n_hidden: int = 0) -> tuple[int, ...]:
        """The node that each column of the table is, then those of hidden nodes and of the class."""
        n_attributes = len(self.order)
        nodes = np.argsort(np.array(self.order, dtype=np.intp)).tolist()
        return (*nodes, *range(n_attributes, n_attributes + n_hidden + 1))

    def counts(self, engine: CountEngine | None = None) -> CountStore:
        """The counts of the rows, at their coarse granularity."""
        engine = choose_engine("auto") if engine is None else engine
        names = [column.name for column in self.columns]
        return CountStore.coarse(self.rows, engine, names, self.known)

    def state_counts(self, counts: CountStore) -> list[NDArray[np.float64]]:
        """Of each attribute (states, classes), at its fine granularity; `counts` are those of `counts`."""
        places = fine_places(self.columns[:-1]).tolist()
        if self.rows.n_attributes > len(places):
            fine = [column.name for column in self.columns if column.groups]
            counts = CountStore(self.rows, counts.engine, [*counts.names[:-1], *fine, counts.names[-1]])
        tables = counts.tables([Family(place, (counts.n_attributes,)) for place in places], keep=False)
        return [np.asarray(table[0].T, dtype=np.float64) for table in tables]

    def class_counts(self, counts: CountStore) -> NDArray[np.float64]:
        """(classes,) the rows of each; `counts` are those of `counts`, hidden nodes or not."""
        return counts.flat((counts.n_attributes,)).astype(np.float64)


def code_table(
    training: TrainingTable,
    schema: TableSchema,
    order: tuple[int, ...],
    unlabelled: bool = False,
    discretizer: Discretizer | None = None,
) -> CodedTable:
    """A table in memory; `unlabelled` keeps the rows without a class too.

    A category that no labelled row has is missing in these. With a `discretizer` few rows can be cut by it again.
    """
    in_order, apart, again = schema.select(order), None, None
    rows = encode_rows(training.table, order, in_order, training.class_codes, training.weights)
    if unlabelled and training.unlabelled is not None:
        table = training.unlabelled.table
        apart = encode_rows(table, order, in_order, without_class(schema, table.n_rows), training.unlabelled.weights)
    if discretizer is not None and is_worth_cutting_again(schema.attributes, rows.n_rows):
        again = _value_rows(training, in_order, order, discretizer)
    return CodedTable(schema, order, training.classes, rows, apart, again, factors=training.factors)


def _value_rows(
    training: TrainingTable, schema: TableSchema, order: tuple[int, ...], discretizer: Discretizer
) -> ValueRows:
    table = training.table
    pairs = zip(schema.attributes, (table.columns[position] for position in order), strict=True)
    columns = tuple(
        cut_at_every_value(held, column.values) if isinstance(column, NumericColumn) else held for held, column in pairs
    )
    rows = encode_rows(table, order, TableSchema(columns, schema.target), training.class_codes, training.weights)
    return ValueRows(rows, columns, discretizer)


def code_stream(table: StreamedTable) -> CodedTable:
    """A table that came batch by batch."""
    order = table.schema.learning_order
    known: dict[tuple[int, ...], CountTable] = {(len(order),): table.class_rows}
    return CodedTable(
        table.schema, order, table.classes, table.rows, table.unlabelled, table.values, known, table.factors
    )


@dataclass(frozen=True)
class RowNeeds:
    """What a learner needs of the rows, and how it wants their columns.

    needs       how much it asks of the rows (`table.rows`)
    fine        numeric columns have two granularities, coarse bins and fine ones
    missing_states  in a column with missing cells missing is a state of its own
    unlabelled  it learns from rows without a class too
    cuts_again  cut points see the class, and it holds out rows that they must not have seen
    """

    needs: Needs
    fine: bool = False
    missing_states: bool = False
    unlabelled: bool = False
    cuts_again: bool = False


def check_columns(estimator: BaseEstimator, X: object, table: RawTable, reset: bool) -> None:
    """scikit-learn's own messages for other columns than in training; a pyarrow table is named too."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if table.named and reset and not hasattr(estimator, "feature_names_in_"):
        estimator.feature_names_in_ = np.array(table.names, dtype=object)


def add_hidden_codes(codes: Codes, n_states: Sequence[int]) -> Codes:
    """Codes of all attributes of a network with these states, class last: hidden ones come last, always missing."""
    n_columns = codes.shape[1]
    if n_columns == len(n_states) - 1:
        return codes
    dtype = np.promote_types(codes.dtype, code_dtype(max(n_states[:-1])))
    wider = np.empty((len(codes), len(n_states) - 1), dtype=dtype, order="F")
    wider[:, :n_columns] = codes
    wider[:, n_columns:] = n_states[n_columns:-1]
    return wider


def refuse_too_large(sizes: Mapping[tuple[int, ...], int], bytes_per_cell: int, counts: CountStore) -> None:
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


def refuse_many_classes(target: ColumnSchema, most: int, learner: str) -> None:
    """Refuse a class of more values than a learner, in words, can tell apart in a few minutes."""
    if target.n_states > most:
        raise DataError(
            f"the class {target.name!r} has {target.n_states:,} values; {learner} at most {most:,} classes.",
            hint="group rare classes, or use BayesianNetworkClassifier(parameters='frequency'); a number or a name is "
            "no class.",
        )


def family_sizes(dags: Iterable[Dag], counts: CountStore) -> Counter[tuple[int, ...]]:
    """Cells of the tables of all networks of these structures, by the nodes of the family."""
    sizes = Counter[tuple[int, ...]]()
    for dag in dags:
        for family in dag.families:
            sizes[tuple(sorted(family.nodes))] += family.size(counts.n_states)
    return sizes
