"""TuneRun: tables pulled between an expert's and those the rows ask for, at a strength judged on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Array, Codes, Flags
from tanager.errors import DataError, OptionError
from tanager.network.inference.junction_tree import JunctionTree, Tables
from tanager.network.network import Network
from tanager.parameters.conditional.cross_validation import MAX_ROWS_FOR_FOLDS, strongest_good
from tanager.parameters.conditional.network_objective import (
    NetworkObjective,
    PulledTables,
    fit_tables,
)
from tanager.registry import list_names, nearest_first
from tanager.table.columns import Column, DictionaryColumn, NumericColumn, code_dtype, encode_column
from tanager.table.folds import RowKinds
from tanager.table.read_columns import read_columns
from tanager.table.rows import relative_weights, row_keys
from tanager.table.schema import ColumnSchema
from tanager.table.training_table import read_sample_weight

# From strong to weak, each fit starting at its neighbour's; infinity is the expert's network as it is.
STRENGTHS = (np.inf, 1000.0, 100.0, 10.0, 1.0)
INNER_FOLDS = 3
MAX_ITER = 500
TOLERANCE = 1e-5
FOLD_TOLERANCE = 1e-4
# The walk from strong to weak ends when the held-out loss has risen this often in a row.
RISES = 2
MAX_STATES_NAMED = 8


@dataclass(frozen=True)
class TuneRun:
    """The options of one run.

    network    the expert's
    objective  of `NetworkObjective`, with its `alpha`; strengths are judged by it too, those of "ll" by the query
    relearn    the expert's network by other rows, for folds, where it is learnt from these; None for one that is given
    """

    network: Network
    objective: str
    strengths: tuple[float, ...] = STRENGTHS
    seed: int = 0
    alpha: float = 0.0
    relearn: Callable[[QueryRows], Network] | None = None

    def measure(self, rows: QueryRows, n_folds: int) -> tuple[QueryMeasures, QueryMeasures, float]:
        """Of the network as it is and tuned on the other folds, and the standard error of the change in log-loss."""
        folds = []
        for train, test in _folds(rows, n_folds, self.seed):
            judged = _judge(self.network, test, (self.network.tables, self.learn(train).tables))
            folds.append(np.column_stack([test.weights, judged]))
        weights, *by_row = np.concatenate(folds).T
        shares = weights / weights.sum()
        losses_before, losses_after, errors_before, errors_after = (float(shares @ column) for column in by_row)
        change = by_row[1] - by_row[0]
        # A row of weight w is w rows, so its squared deviation counts w times.
        change_error = float(np.sqrt(shares @ (change - shares @ change) ** 2 / weights.sum()))
        return QueryMeasures(losses_before, errors_before), QueryMeasures(losses_after, errors_after), change_error

    def learn(self, rows: QueryRows) -> Chosen:
        """Tables tuned on these rows at the strength that is best on folds of them."""
        best, held_out = (0, {}) if len(self.strengths) == 1 else self._choose(rows)
        path = self.strengths[: best + 1]
        return Chosen(list(self._path(rows, path, TOLERANCE))[-1], path[-1], held_out)

    def _choose(self, rows: QueryRows) -> tuple[int, dict[float, float]]:
        """Position of the strength chosen, and the mean held-out loss at those tried."""
        if len(rows.codes) < INNER_FOLDS:
            return 0, {}
        folds = list(_folds(rows, INNER_FOLDS, self.seed, MAX_ROWS_FOR_FOLDS))
        judged = "cll" if self.objective == "ll" else self.objective
        judges = [test.objective(self.network, judged, self.alpha) for _, test in folds]
        weights = np.concatenate([test.weights for _, test in folds])
        losses: list[Array] = []
        means: dict[float, float] = {}
        networks = [self.network if self.relearn is None else self.relearn(train) for train, _ in folds]
        paths = [
            replace(self, network=network)._path(train, self.strengths, FOLD_TOLERANCE)
            for network, (train, _) in zip(networks, folds, strict=True)
        ]
        for strength, tables in zip(self.strengths, zip(*paths, strict=True), strict=True):
            losses.append(np.concatenate([judge.losses(tuned) for judge, tuned in zip(judges, tables, strict=True)]))
            means[strength] = float(np.average(losses[-1], weights=weights))
            latest = list(means.values())[-RISES - 1 :]
            if len(latest) > RISES and latest == sorted(latest):
                break
        return strongest_good(losses, weights), means

    def _path(self, rows: QueryRows, strengths: Sequence[float], tol: float) -> Iterator[tuple[Array, ...]]:
        """Tables at each strength, from strong to weak."""
        objective = rows.objective(self.network, self.objective, self.alpha)
        tables = self.network.tables
        for strength in strengths:
            if np.isfinite(strength):
                tables = self._descend(objective, tables, strength, tol)
            yield tables

    def _descend(self, objective: NetworkObjective, start: Tables, strength: float, tol: float) -> tuple[Array, ...]:
        expert = self.network.tables
        pull = [strength * table for table in expert]
        problem = PulledTables(objective, expert, pull, objective.expected_counts(expert))
        # The rows of a fold are hardly ever at a saddle, and to look for one takes tens of passes.
        what, leave_saddle = f"tune with strength {strength:g}", tol == TOLERANCE
        return fit_tables(problem, start, MAX_ITER, tol, what, leave_saddle)[0]


@dataclass(frozen=True)
class Chosen:
    """Tables at the strength chosen, and the mean held-out loss at each one tried."""

    tables: tuple[Array, ...]
    strength: float
    held_out: dict[float, float]


@dataclass(frozen=True)
class QueryMeasures:
    """How well a network answers the query in rows it was not tuned on.

    log_loss  mean of -log P(query's cells | other cells), natural logarithm
    error     share of the query's cells that are not the most probable state given the other cells
    """

    log_loss: float
    error: float


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

    def take(self, rows: NDArray[np.integer] | Flags) -> QueryRows:
        return replace(self, codes=self.codes[rows], weights=self.weights[rows])

    def objective(self, network: Network, name: str, alpha: float = 0.0) -> NetworkObjective:
        return NetworkObjective(
            network.dag, network.n_states, self.codes, self.query, self.weights, name, alpha, names=network.nodes
        )


def _judge(network: Network, rows: QueryRows, candidates: Sequence[Tables]) -> Array:
    """(n_rows, 2 n_candidates) how well the network answers the query with each of the tables: losses, then errors."""
    objective, n_states, query = rows.objective(network, "cll"), np.array(network.n_states), list(rows.query)
    hidden = rows.codes.copy()
    hidden[:, query] = n_states[query]
    missing = hidden == n_states
    known, unknown = np.flatnonzero(~missing.any(axis=0)).tolist(), np.flatnonzero(missing.all(axis=0)).tolist()
    trees = [
        JunctionTree.of(network.dag, network.n_states, [node], known=known, unknown=unknown, names=network.nodes)
        for node in query
    ]
    true_codes = rows.codes[:, query]
    present = true_codes < n_states[query]
    losses, errors = [], []
    for tables in candidates:
        likeliest = np.column_stack([tree.posterior(tables, hidden).argmax(axis=1) for tree in trees])
        losses.append(-objective.log_probability(tables))
        errors.append((present & (likeliest != true_codes)).sum(axis=1) / present.sum(axis=1))
    return np.column_stack([*losses, *errors])


def _folds(
    rows: QueryRows, n_folds: int, seed: int, most_rows: int | None = None
) -> Iterator[tuple[QueryRows, QueryRows]]:
    """(rows to tune on, rows held out) for each fold, the states of the query spread evenly (`table.folds`).

    Of more than `most_rows` rows, so many are drawn first.
    """
    _, states = np.unique(rows.codes[:, rows.query], axis=0, return_inverse=True)
    strata = states.reshape(-1).astype(np.uint64)
    unit = rows.weights.min(initial=np.inf)
    keys = row_keys(rows.codes, strata, relative_weights(rows.weights, unit))
    kinds, (_, first) = RowKinds.of(rows.codes, strata, rows.weights, unit), np.unique(keys, return_index=True)
    if most_rows is not None and kinds.n_rows > most_rows:
        kinds = replace(kinds, counts=kinds.draw(most_rows // 2, seed).sum(axis=1))
    for held_out in kinds.assign(n_folds, seed).T:
        # Equal rows stay apart, so that folds of a fold split them too.
        parts = [rows.take(np.repeat(first, counts)) for counts in (kinds.counts - held_out, held_out)]
        if all(len(part.codes) for part in parts):
            yield parts[0], parts[1]


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
    if len(wrong) and (impossible == "raise" or len(wrong) == len(log_probability)):
        raise DataError(
            f"{len(wrong)} of {len(log_probability)} rows have probability zero under the network, which tuning cannot "
            f"change; in the first of them {network.contradiction(rows.codes[wrong[0]])}.",
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
