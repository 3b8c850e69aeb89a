"""Hidden nodes: those of a fixed network that are no column of the table. They are missing in every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from tanager.arrays import Codes
from tanager.classifiers.parts import Parts
from tanager.counts.count_store import CountStore
from tanager.errors import OptionError
from tanager.network.network import Network
from tanager.parameters import EM, Conditional, LearntNetwork, ParameterTask
from tanager.parameters.protocol import ParameterTrace
from tanager.runtime.threads import one_blas_thread
from tanager.table.batch import EncodedBatch
from tanager.table.categories import code_dtype
from tanager.table.rows import Rows, gather
from tanager.table.schema import ColumnSchema
from tanager.tuning.data import QueryRows
from tanager.tuning.run import STRENGTHS, TuneRun


def hidden_columns(parts: Parts, names: Sequence[str], missing: str) -> tuple[ColumnSchema, ...]:
    """The hidden nodes of a structure for a table with these columns, the class last; or why they cannot be learnt."""
    hidden = parts.structure.hidden(names)
    if not hidden:
        return ()
    nodes = ", ".join(repr(column.name) for column in hidden)
    if not parts.parameters.learns_hidden:
        raise OptionError(
            f"the network has nodes that are no column of the table, {nodes}; {type(parts.parameters).__name__} cannot "
            "learn tables of hidden nodes.",
            hint="use parameters='em', 'likelihood-gradient' or 'conditional', or rename the columns.",
        )
    if missing not in ("auto", "marginalize", "category"):
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
    """A network with hidden nodes that tells classes apart: the tables of EM, tuned for the class.

    They are pulled back to EM's as if `strength` rows had been seen in each of their rows (`tune`). So where nothing is
    gained by telling classes apart EM's tables stay.
    """
    options = parameters.fit_options()
    if options.prior in ("none", "uniform"):
        raise OptionError(
            f"prior={parameters.prior!r} cannot be used with hidden nodes: the tables are pulled to those of EM.",
            hint="use prior='generative'.",
        )
    start = EM().learn(task)
    batch = gather(task.counts.rows)
    rows = QueryRows(np.column_stack([batch.codes, batch.class_codes]), (batch.n_attributes,), batch.row_weights)
    strengths = STRENGTHS if options.strengths is None else options.strengths[:1]

    def relearn(part: QueryRows) -> Network:
        codes = np.asfortranarray(part.codes[:, :-1])
        kept = EncodedBatch(codes, part.codes[:, -1], batch.n_states, batch.incomplete, part.weights)
        counts = CountStore(kept, task.counts.engine, task.counts.names)
        return cast(Network, EM().learn(replace(task, counts=counts)).network)

    with one_blas_thread():
        network, alpha = cast(Network, start.network), options.alpha
        chosen = TuneRun(network, options.objective, strengths, alpha=alpha, relearn=relearn).learn(rows)
    trace = HiddenTrace(start.trace, chosen.strength, tuple(chosen.held_out.items()))
    return LearntNetwork(task.network(chosen.tables), trace)


def _add_columns(batch: EncodedBatch, n_states: tuple[int, ...]) -> EncodedBatch:
    incomplete = np.ones(len(n_states) - 1, dtype=bool)
    incomplete[: batch.n_attributes] = batch.incomplete
    return EncodedBatch(add_hidden_codes(batch.codes, n_states), batch.class_codes, n_states, incomplete, batch.weights)
