"""The rows a network is tuned on: cells as codes of its nodes, or an error that says what does not match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Array, Codes
from tanager.errors import DataError, OptionError
from tanager.network.inference.contradiction import contradicting_nodes
from tanager.network.network import Network
from tanager.parameters.conditional.network_objectives import NetworkObjective
from tanager.registry import list_names, nearest_first
from tanager.table.categories import code_dtype, encode_column
from tanager.table.columns import Column, DictionaryColumn, NumericColumn
from tanager.table.read_columns import read_columns
from tanager.table.schema import ColumnSchema
from tanager.table.training_table import read_sample_weight

MAX_STATES_NAMED = 8


@dataclass(frozen=True)
class QueryRows:
    """Rows in which a cell of the query is present.

    codes    (n_rows, n_nodes); a missing cell, or one of a node that is no column, is the node's number of states
    query    node numbers
    weights  (n_rows,)
    """

    codes: Codes
    query: tuple[int, ...]
    weights: Array

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> QueryRows:
        return replace(self, codes=self.codes[rows], weights=self.weights[rows])

    def objective(self, network: Network, name: str, alpha: float = 0.0) -> NetworkObjective:
        return NetworkObjective(
            network.dag, network.n_states, self.codes, self.query, self.weights, name, alpha, names=network.nodes
        )


def query_nodes(network: Network, query: str | Sequence[str]) -> tuple[int, ...]:
    """Numbers of the query's nodes; unknown or repeated ones are refused."""
    names = [query] if isinstance(query, str) else list(query)
    if not names:
        raise OptionError("query names no node; expected at least one.")
    if len(set(names)) < len(names):
        raise OptionError(f"query names a node twice: {', '.join(map(repr, names))}.")
    return tuple(network.number(name) for name in names)


def read_query_rows(
    network: Network, data: object, query: tuple[int, ...], sample_weight: ArrayLike | None
) -> QueryRows:
    """Rows of any table whose columns are nodes. Rows without a cell of the query, or of weight zero, are left out."""
    table = read_columns(data)
    _check_names(network, table.names, query)
    codes = np.tile(np.array(network.n_states, dtype=code_dtype(max(network.n_states))), (table.n_rows, 1))
    for column in table.columns:
        node = network.number(column.name)
        codes[:, node] = _encode(column, network.columns[node])
    weights = np.ones(table.n_rows)
    if sample_weight is not None:
        if not np.any(sample_weight):
            raise DataError("every row has weight zero, so there is nothing to tune the network on.")
        weights = read_sample_weight(sample_weight, codes)
    asked = (codes < np.array(network.n_states))[:, query].any(axis=1)
    usable = asked & (weights > 0)
    if not usable.any():
        names = ", ".join(repr(network.nodes[node]) for node in query)
        raise DataError(
            f"no row can be used to tune the network: {names} is missing in all "
            f"{int((weights > 0).sum())} rows of weight above zero."
        )
    return QueryRows(codes, query, weights).take(usable)


def possible_rows(network: Network, rows: QueryRows, impossible: str) -> QueryRows:
    """The rows that the network allows; with impossible="raise" an error names the cells of one that it does not."""
    log_probability = rows.objective(network, "ll").log_probability(network.tables)
    wrong = np.flatnonzero(~np.isfinite(log_probability))
    if not len(wrong):
        return rows
    row = rows.codes[wrong[0]]
    nodes = contradicting_nodes(network.dag, network.n_states, network.tables, row)
    cells = " contradicts ".join(f"{network.nodes[node]}={network.columns[node].states[row[node]]!r}" for node in nodes)
    if impossible == "raise" or len(wrong) == len(log_probability):
        raise DataError(
            f"{len(wrong)} of {len(log_probability)} rows have probability zero under the network, which tuning cannot "
            f"change; in the first of them {cells}.",
            hint="give these states a small probability in the network, or leave the rows out with impossible='skip'.",
        )
    return rows.take(np.isfinite(log_probability))


def _check_names(network: Network, names: Sequence[str], query: tuple[int, ...]) -> None:
    unknown = [name for name in names if name not in network.states]
    if unknown:
        near = ", ".join(map(repr, nearest_first(unknown[0], network.nodes)[:5]))
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise DataError(
            f"the table has a column {unknown[0]!r}{more} that is no node of the network; the nearest are {near}.",
            hint="rename the column, or drop it.",
        )
    absent = [network.nodes[node] for node in query if network.nodes[node] not in names]
    if absent:
        near = ", ".join(map(repr, nearest_first(absent[0], names)[:5]))
        raise DataError(
            f"the table has no column {absent[0]!r} to tune the network for; its columns are {near}.",
            hint="a hidden node cannot be the query.",
        )


def _encode(column: Column, schema: ColumnSchema) -> NDArray[np.integer]:
    """Codes of a column; a value that is none of the node's states is refused."""
    if schema.categories and all(isinstance(state, str) for state in schema.categories):
        column = _as_text(column)
    codes = encode_column(column, schema)
    strange = codes > schema.missing_code
    if strange.any():
        row = int(strange.argmax())
        value = column.values[row] if isinstance(column, NumericColumn) else column.dictionary[column.indices[row]]
        states = nearest_first(str(value), map(str, schema.states))
        raise DataError(
            f"column {column.name!r} holds {value!r} in row {row}, which is no state of the node; its states are "
            f"{list_names(states, MAX_STATES_NAMED)}.",
            hint="rename the value, or make the cell missing.",
        )
    return codes


def _as_text(column: Column) -> Column:
    """Numbers and booleans as the text that a network file, whose states are text, has for them ("1", not "1.0")."""
    if isinstance(column, DictionaryColumn):
        return replace(column, dictionary=tuple(map(str, column.dictionary)))
    if column.unit != "number":
        return column
    values, indices = np.unique(column.values, return_inverse=True)
    texts = [str(int(value)) if float(value).is_integer() else str(value) for value in values.tolist()]
    missing = np.isnan(column.values)
    return DictionaryColumn(column.name, np.where(missing, -1, indices).astype(np.int32), tuple(texts))
