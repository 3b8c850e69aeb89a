"""tune: an expert's network in, one that answers a query better out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import DataError, OptionError
from tanager.network.inference.elimination_plan import relevant_nodes
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.network import Network
from tanager.registry import check_option
from tanager.runtime.resources import one_blas_thread, thread_limit
from tanager.structure.dag import PartOfDag
from tanager.tuning.fit import (
    STRENGTHS,
    QueryMeasures,
    TuneRun,
    possible_rows,
    query_nodes,
    read_query_rows,
)

# The objective of each learner: log P(query | other cells) or log P(all cells).
LEARNERS = {"conditional": "cll", "likelihood-gradient": "ll"}
MAX_TABLES_PRINTED = 10


def tune(
    network: Network,
    data: object,
    query: str | Sequence[str],
    parameters: str = "conditional",
    *,
    strength: float | str = "auto",
    cv: int = 5,
    sample_weight: ArrayLike | None = None,
    impossible: str = "raise",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> TuneResult:
    """Change the tables of a network so that it answers a query better; the structure stays.

    The tuned tables maximise sum_t w_t log P(q_t | e_t) + strength sum theta0 log theta, where q_t are the query's
    cells in row t, e_t its other cells, theta0 the expert's probabilities and theta the tuned ones. Missing cells are
    summed out exactly. The second term is a Dirichlet prior: each row of a table is pulled to the expert's as if
    `strength` rows had been seen in it. Only tables that the query depends on move, and a probability
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
        The objective above, or the likelihood of all cells, for comparison: all tables that a cell informs move.
    strength : float or "auto"
        What the expert's tables are worth, in rows. "auto" chooses among infinity (nothing moves), 1000, 100, 10 and 1
        on three folds of the rows: the largest that is not clearly worse than the best, by 1.5 standard errors.
    cv : int
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
        The tuned network, by how much each table moved, and how well both answer on rows held out.

    Examples
    --------
    >>> import numpy as np
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
    objective = LEARNERS[check_option("parameters", parameters, LEARNERS)]
    check_option("impossible", impossible, ["raise", "skip"])
    strengths = _strengths(strength)
    if cv < 2:
        raise OptionError(f"cv={cv!r} of tune must be at least 2.")
    if getattr(network, "kind", None) != "tables":
        raise OptionError(
            f"tune changes the tables of a Network; this is a {type(network).__name__}.",
            hint="read_network reads one from a file; a fitted BayesianNetworkClassifier has network_.",
        )
    numbers = query_nodes(network, query)
    with thread_limit(n_jobs), one_blas_thread():
        everything = read_query_rows(network, data, numbers, sample_weight)
        rows = possible_rows(network, everything, impossible)
        if len(rows.codes) < cv:
            raise DataError(f"{len(rows.codes)} rows can be used, fewer than the {cv} folds.")
        run = TuneRun(network, objective, strengths, random_state)
        before, after, change_error = run.measure(rows, cv)
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
class TuneResult:
    """The tuned network, how much better it answers, and which tables moved.

    network       the tuned network
    query         the nodes it was tuned for
    moved         a `TableMove` for every table that the query depends on, the one that moved most first; a large move
                  points at a part of the structure that is poor (Zhou 2002, section 5.4)
    before        of the expert's network, and
    after         of networks tuned on the other folds, on the same held-out rows
    change_error  standard error of the change in log-loss, over the rows
    strength      rows that the expert's tables are worth, in each of their rows; infinity left them as they are
    n_rows        rows it was tuned on
    n_skipped     rows left out because the network says they are impossible
    held_out      mean held-out loss at each strength tried, where it was chosen; of all rows
    """

    network: Network
    query: tuple[str, ...]
    moved: tuple[TableMove, ...]
    before: QueryMeasures
    after: QueryMeasures
    change_error: float
    strength: float
    n_rows: int
    n_skipped: int
    held_out: dict[float, float]

    def to_dict(self) -> dict[str, object]:
        """Everything but the network, ready for JSON; an infinite strength is the text "inf"."""
        return {
            "query": list(self.query),
            "rows": self.n_rows,
            "rows_skipped": self.n_skipped,
            "strength": "inf" if np.isinf(self.strength) else self.strength,
            "held_out": {str(strength): loss for strength, loss in self.held_out.items()},
            "before": asdict(self.before),
            "after": asdict(self.after),
            "log_loss_change_error": self.change_error,
            "moved": [asdict(move) for move in self.moved],
        }

    def __str__(self) -> str:
        skipped = f" (impossible ones left out: {self.n_skipped:,})" if self.n_skipped else ""
        change = self.after.log_loss - self.before.log_loss
        lines = [
            f"P({', '.join(self.query)} | other cells), tuned on {self.n_rows:,} rows{skipped}",
            f"  log-loss  {self.before.log_loss:.4f} -> {self.after.log_loss:.4f}   "
            f"(change {change:+.4f} ± {self.change_error:.4f}, held-out rows)",
            f"  error     {self.before.error:.2%} -> {self.after.error:.2%}",
        ]
        if np.isinf(self.strength):
            return "\n".join([*lines, "  no table moved: nothing tried was clearly better than the expert's"])
        lines.append(f"  strength  {self.strength:g}: what each row of the expert's tables is worth, in rows of data")
        width = max(len("table"), *(len(move.node) for move in self.moved[:MAX_TABLES_PRINTED]))
        lines.append(f"  {'table':<{width}}  divergence  largest change")
        lines += [
            f"  {move.node:<{width}}  {move.divergence:10.4f}  {move.largest:14.3f}"
            for move in self.moved[:MAX_TABLES_PRINTED]
        ]
        if len(self.moved) > MAX_TABLES_PRINTED:
            lines.append(f"  and {len(self.moved) - MAX_TABLES_PRINTED} more that moved less")
        return "\n".join(lines)


@dataclass(frozen=True)
class TableMove:
    """How far the table of a node went.

    divergence  sum_j P(parents = j) KL(tuned row j || expert's row j), in nats, P of the tuned network. The sum over
                all tables is the divergence of the two networks' joint distributions.
    largest     the largest change of a probability in the table
    """

    node: str
    divergence: float
    largest: float


def table_moves(before: Network, after: Network, nodes: Sequence[int]) -> tuple[TableMove, ...]:
    """How far the tables of these nodes went, farthest first; a tie keeps the order of the nodes."""
    # Parents' probabilities depend on ancestors only, so descendants are left out of the tree.
    part = PartOfDag.of(after.dag, relevant_nodes(after.dag, nodes))
    n_states = [after.n_states[node] for node in part.nodes]
    tree = JunctionTree.of(part.dag, n_states, names=[after.nodes[node] for node in part.nodes])
    joint = tree.expected_counts([after.tables[node] for node in part.nodes], np.array([n_states])).tables
    moves = []
    for node in nodes:
        old, new = before.tables[node], after.tables[node]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(new > 0, np.log(new) - np.log(old), 0.0)
        divergence = float((joint[part.nodes.index(node)] * ratio).sum())
        moves.append(TableMove(after.nodes[node], max(0.0, divergence), float(np.abs(new - old).max())))
    return tuple(sorted(moves, key=lambda move: -move.divergence))


def _strengths(strength: float | str) -> tuple[float, ...]:
    if isinstance(strength, str):
        check_option("strength", strength, ["auto"])
        return STRENGTHS
    if not strength > 0:
        raise OptionError(f"strength={strength!r} of tune must be a number above zero, or 'auto'.")
    return (float(strength),)
