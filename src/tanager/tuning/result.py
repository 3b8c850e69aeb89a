"""TuneResult: a tuned network, how much better it answers, and which tables moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.inference.triangulate import relevant_nodes
from tanager.network.network import Network
from tanager.structure.requisite import PartOfDag

MAX_TABLES_PRINTED = 10


@dataclass(frozen=True)
class QueryMeasures:
    """How well a network answers the query in rows it was not tuned on.

    log_loss  mean of -log P(query's cells | other cells), natural logarithm
    error     share of the query's cells that are not the most probable state given the other cells
    """

    log_loss: float
    error: float


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


@dataclass(frozen=True)
class TuneResult:
    """What `tune` found.

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
            "strength": _number(self.strength),
            "held_out": {str(_number(strength)): loss for strength, loss in self.held_out.items()},
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


def _number(strength: float) -> float | str:
    return "inf" if np.isinf(strength) else strength
