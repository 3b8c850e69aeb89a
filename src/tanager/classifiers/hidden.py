"""Hidden nodes: those of a fixed network that are no column of the table. They are missing in every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from tanager.counts.count_store import CountStore
from tanager.errors import OptionError
from tanager.network.network import Network
from tanager.parameters import EM, Conditional, LearntTables, LikelihoodGradient, ParameterLearner, ParameterTask
from tanager.structure import Fixed, StructureLearner
from tanager.table.batch import Codes, EncodedBatch, code_dtype
from tanager.table.schema import ColumnSchema
from tanager.tuning.data import QueryRows
from tanager.tuning.run import STRENGTHS, TuneRun

LEARN_HIDDEN = (EM, LikelihoodGradient, Conditional)


def hidden_columns(
    structure: StructureLearner, names: Sequence[str], parameters: ParameterLearner, missing: str
) -> tuple[ColumnSchema, ...]:
    """The hidden nodes of a structure for a table with these columns, the class last; or why they cannot be learnt."""
    hidden = structure.hidden(names) if isinstance(structure, Fixed) else ()
    if not hidden:
        return ()
    nodes = ", ".join(repr(column.name) for column in hidden)
    if not isinstance(parameters, LEARN_HIDDEN):
        raise OptionError(
            f"the network has nodes that are no column of the table, {nodes}; {type(parameters).__name__} cannot learn "
            "tables of hidden nodes.",
            hint="use parameters='em', 'likelihood-gradient' or 'conditional', or rename the columns.",
        )
    if missing not in ("marginalize", "category"):
        raise OptionError(f"missing={missing!r} cannot be used with hidden nodes, {nodes}: they have to be summed out.")
    return hidden


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


def add_hidden(batch: EncodedBatch, hidden: Sequence[ColumnSchema]) -> EncodedBatch:
    """The batch with a column for each hidden node."""
    n_states = (*batch.n_states[:-1], *(column.n_states for column in hidden), batch.n_states[-1])
    incomplete = np.concatenate([batch.incomplete, np.ones(len(hidden), dtype=bool)])
    return EncodedBatch(add_hidden_codes(batch.codes, n_states), batch.class_codes, n_states, incomplete, batch.weights)


def count_with_hidden(counts: CountStore, hidden: Sequence[ColumnSchema]) -> CountStore:
    """Counts of the table with a column for each hidden node."""
    names = [*counts.names[:-1], *(column.name for column in hidden), counts.names[-1]]
    return CountStore(add_hidden(counts.rows, hidden), counts.engine, names)


def learn_hidden(parameters: ParameterLearner, task: ParameterTask, columns: tuple[ColumnSchema, ...]) -> LearntTables:
    """Tables of a network with hidden nodes.

    For `Conditional` they are those of EM, then tuned for the class: pulled back to EM's as if `strength` rows had
    been seen in each of their rows (`tune`). So where nothing is gained by telling classes apart EM's tables stay.
    """
    if not isinstance(parameters, Conditional):
        return parameters.learn(task)
    options = parameters.fit_options()
    if options.prior in ("none", "uniform"):
        raise OptionError(
            f"prior={parameters.prior!r} cannot be used with hidden nodes: the tables are pulled to those of EM.",
            hint="use prior='generative'.",
        )
    start = EM().learn(task)
    network = Network(columns, task.dag, start.tables, columns[-1].name)
    batch = task.counts.rows
    rows = QueryRows(
        np.column_stack([batch.codes, batch.class_codes]),
        (batch.n_attributes,),
        np.ones(batch.n_rows) if batch.weights is None else batch.weights,
    )
    strengths = STRENGTHS if options.strengths is None else options.strengths[:1]
    with threadpool_limits(1, "blas"):  # its threads and ours would wait for each other
        chosen = TuneRun(network, options.objective, strengths, alpha=options.alpha).learn(rows)
    trace = {"em": start.trace, "strength": chosen.strength, "held_out": list(chosen.held_out.items())}
    return LearntTables(chosen.tables, trace)
