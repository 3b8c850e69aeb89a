"""tune: an expert's network in, one that answers a query better out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from tanager.classifiers.tune_data import QueryRows, possible_rows, query_nodes, read_query_rows
from tanager.classifiers.tune_result import QueryMeasures, TuneResult, table_moves
from tanager.errors import DataError, OptionError
from tanager.network.junction_tree import JunctionTree, Tables
from tanager.network.network import Network
from tanager.parameters.network_fit import PulledTables, fit_tables, warn_if_unfinished
from tanager.parameters.network_objectives import NetworkObjective
from tanager.parameters.strengths import MOST_ROWS, strongest_good
from tanager.registry import check_option
from tanager.table.batch import Codes
from tanager.threads import thread_limit

Array = NDArray[np.float64]

# What is made large: log P(query | other cells), or log P(all cells).
OBJECTIVES = {"conditional": "cll", "likelihood-gradient": "ll"}
# From strong to weak, each fit starting at its neighbour's; infinity is the expert's network as it is.
STRENGTHS = (np.inf, 1000.0, 100.0, 10.0, 1.0)
INNER_FOLDS = 3
MAX_ITER = 500
TOLERANCE = 1e-5
FOLD_TOLERANCE = 1e-4
# The walk from strong to weak ends when the held-out loss has risen this often in a row.
RISES = 2


def tune(
    network: Network,
    data: object,
    query: str | Sequence[str],
    parameters: str = "conditional",
    *,
    strength: float | str = "auto",
    folds: int = 5,
    sample_weight: ArrayLike | None = None,
    impossible: str = "raise",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> TuneResult:
    """Change the tables of a network so that it answers a query better; the structure stays.

    What is made large is sum_t w_t log P(q_t | e_t) + strength sum theta0 log theta, where q_t are the query's cells
    present in row t, e_t all other cells present, theta0 the expert's probabilities and theta the tuned ones. Whatever
    is missing is summed out exactly. The second term is a Dirichlet prior: each row of a table is pulled to the
    expert's as if `strength` rows had been seen in it. Only tables that the query depends on move, and a probability
    of zero stays zero.

    Parameters
    ----------
    network : Network
        The expert's, from `read_network` for example.
    data : data frame
        Its columns are nodes; a node that is no column is hidden, a cell may be missing. A row without a cell of the
        query is left out; one without any other cell speaks for the query's prior.
    query : str or sequence of str
        A node, or several that are asked for together.
    parameters : "conditional" or "likelihood-gradient"
        The objective above, or the likelihood of all cells, for comparison: all tables that a cell speaks of move.
    strength : float or "auto"
        What the expert's tables are worth, in rows. "auto" chooses among infinity (nothing moves), 1000, 100, 10 and 1
        on three folds of the rows: the largest that is not clearly worse than the best, by 1.5 standard errors.
    folds : int
        `before` and `after` are measured on that many held-out folds, the strength chosen anew for each.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows.
    impossible : "raise" or "skip"
        What to do with a row that has probability zero under the network: an error that names the contradicting cells,
        or leave it out.
    random_state : int
        Decides the folds.
    n_jobs : int or None
        Threads; None means every core.

    Returns
    -------
    TuneResult

    >>> import pandas as pd
    >>> from tanager.structure.dag import Dag
    >>> from tanager.table.schema import ColumnSchema
    >>> cause = ColumnSchema("cause", "categorical", ("no", "yes"))
    >>> sign = ColumnSchema("sign", "categorical", ("no", "yes"))
    >>> half = np.full((2, 2), 0.5)
    >>> expert = Network((sign, cause), Dag(((1,), ())), (half, half[:1]))
    >>> rows = pd.DataFrame({"cause": ["no", "yes"] * 50, "sign": ["no", "yes", "no", "no"] * 25})
    >>> result = tune(expert, rows, "cause")
    >>> result.after.log_loss < result.before.log_loss, result.moved[0].node
    (True, 'sign')
    """
    objective = OBJECTIVES[check_option("parameters", parameters, OBJECTIVES)]
    check_option("impossible", impossible, ["raise", "skip"])
    strengths = _strengths(strength)
    if folds < 2:
        raise OptionError(f"folds={folds!r} of tune must be at least 2.")
    numbers = query_nodes(network, query)
    with thread_limit(n_jobs), threadpool_limits(1, "blas"):  # its threads and ours would wait for each other
        everything = read_query_rows(network, data, numbers, sample_weight)
        rows = possible_rows(network, everything, impossible)
        if len(rows.codes) < folds:
            raise DataError(f"{len(rows.codes)} rows can be used, fewer than the {folds} folds.")
        run = _Run(network, objective, strengths, random_state)
        before, after, change_error = run.measure(rows, folds)
        chosen = run.learn(rows)
        tuned = replace(network, tables=chosen.tables)
        return TuneResult(
            network=tuned,
            query=tuple(network.nodes[node] for node in numbers),
            moved=table_moves(network, tuned, rows.objective(network, objective).nodes),
            before=before,
            after=after,
            change_error=change_error,
            strength=chosen.strength,
            n_rows=len(rows.codes),
            n_skipped=len(everything.codes) - len(rows.codes),
            held_out=chosen.held_out,
        )


@dataclass(frozen=True)
class _Chosen:
    """Tables at the strength chosen, and the mean held-out loss at each one tried."""

    tables: tuple[Array, ...]
    strength: float
    held_out: dict[float, float]


@dataclass(frozen=True)
class _Run:
    """The options of one call."""

    network: Network
    objective: str
    strengths: tuple[float, ...]
    seed: int

    def measure(self, rows: QueryRows, n_folds: int) -> tuple[QueryMeasures, QueryMeasures, float]:
        """Of the network as it is and tuned on the other folds, and the standard error of the change in log-loss."""
        found = []
        for train, test in _folds(rows, n_folds, self.seed):
            judge = _Judge.of(self.network, test)
            tuned = self.learn(train).tables
            columns = [
                measure(tables) for measure in (judge.losses, judge.errors) for tables in (self.network.tables, tuned)
            ]
            found.append(np.column_stack([test.weights, *columns]))
        weights, *by_row = np.concatenate(found).T
        shares = weights / weights.sum()
        losses_before, losses_after, errors_before, errors_after = (float(shares @ column) for column in by_row)
        change = by_row[1] - by_row[0]
        change_error = float(np.sqrt(shares**2 @ (change - shares @ change) ** 2))
        return QueryMeasures(losses_before, errors_before), QueryMeasures(losses_after, errors_after), change_error

    def learn(self, rows: QueryRows) -> _Chosen:
        """Tables tuned on these rows at the strength that is best on folds of them."""
        best, held_out = (0, {}) if len(self.strengths) == 1 else self._choose(rows)
        path = self.strengths[: best + 1]
        return _Chosen(list(self._path(rows, path, TOLERANCE))[-1], path[-1], held_out)

    def _choose(self, rows: QueryRows) -> tuple[int, dict[float, float]]:
        """Position of the strength chosen, and the mean held-out loss at those tried."""
        if len(rows.codes) < INNER_FOLDS:
            return 0, {}
        if len(rows.codes) > MOST_ROWS:
            rows = rows.take(np.random.default_rng(self.seed).choice(len(rows.codes), MOST_ROWS, replace=False))
        folds = list(_folds(rows, INNER_FOLDS, self.seed))
        judges = [_Judge.of(self.network, test) for _, test in folds]
        weights = np.concatenate([test.weights for _, test in folds])
        losses: list[Array] = []
        means: dict[float, float] = {}
        paths = [self._path(train, self.strengths, FOLD_TOLERANCE) for train, _ in folds]
        for strength, tables in zip(self.strengths, zip(*paths, strict=True), strict=True):
            losses.append(np.concatenate([judge.losses(own) for judge, own in zip(judges, tables, strict=True)]))
            means[strength] = float(np.average(losses[-1], weights=weights))
            latest = list(means.values())[-RISES - 1 :]
            if len(latest) > RISES and latest == sorted(latest):
                break
        return strongest_good(losses, weights), means

    def _path(self, rows: QueryRows, strengths: Sequence[float], tol: float) -> Iterator[tuple[Array, ...]]:
        """Tables at each strength, from strong to weak."""
        expert = self.network.tables
        objective = rows.objective(self.network, self.objective)
        counts = objective.expected_counts(expert)
        tables = expert
        for strength in strengths:
            if np.isfinite(strength):
                pull = [strength * table for table in expert]
                problem = PulledTables(objective, expert, pull, counts)
                fit = fit_tables(problem, problem.vector(tables), MAX_ITER, tol)
                warn_if_unfinished(fit, f"tune with strength {strength:g}", MAX_ITER)
                tables = fit.tables
            yield tables


@dataclass(frozen=True)
class _Judge:
    """Held-out rows, and how well tables answer the query in them.

    hidden  their codes without the query's cells
    trees   for each node of the query
    """

    rows: QueryRows
    objective: NetworkObjective
    hidden: Codes
    trees: tuple[JunctionTree, ...]

    @classmethod
    def of(cls, network: Network, rows: QueryRows) -> _Judge:
        hidden = rows.codes.copy()
        hidden[:, rows.query] = np.array(network.n_states)[list(rows.query)]
        missing = hidden == np.array(network.n_states)
        known, unknown = np.flatnonzero(~missing.any(axis=0)).tolist(), np.flatnonzero(missing.all(axis=0)).tolist()
        trees = (
            JunctionTree.of(network.dag, network.n_states, [node], known=known, unknown=unknown, names=network.nodes)
            for node in rows.query
        )
        return cls(rows, rows.objective(network, "cll"), hidden, tuple(trees))

    def losses(self, tables: Tables) -> Array:
        """-log P(query's cells | other cells) of every row."""
        return -self.objective.log_probability(tables)

    def errors(self, tables: Tables) -> Array:
        """Share of the query's cells of every row that are not the most probable state given the other cells."""
        own = self.rows.codes[:, self.rows.query]
        guesses = np.column_stack([tree.posterior(tables, self.hidden).argmax(axis=1) for tree in self.trees])
        asked = own < np.array([tree.n_states[tree.query[0]] for tree in self.trees])
        shares: Array = (asked & (guesses != own)).sum(axis=1) / asked.sum(axis=1)
        return shares


def _folds(rows: QueryRows, n_folds: int, seed: int) -> Iterator[tuple[QueryRows, QueryRows]]:
    """(rows to tune on, rows held out) for each fold, the states of the query spread evenly."""
    order = np.random.default_rng(seed).permutation(len(rows.codes))
    for node in reversed(rows.query):
        order = order[np.argsort(rows.codes[order, node], kind="stable")]
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % n_folds
    for number in range(n_folds):
        yield rows.take(fold != number), rows.take(fold == number)


def _strengths(strength: float | str) -> tuple[float, ...]:
    if isinstance(strength, str):
        check_option("strength", strength, ["auto"])
        return STRENGTHS
    if not strength > 0:
        raise OptionError(f"strength={strength!r} of tune must be a number above zero, or 'auto'.")
    return (float(strength),)
