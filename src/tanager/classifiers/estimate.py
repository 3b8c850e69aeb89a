"""What a fit takes in memory and time; a fit that takes more than is allowed is refused before it is begun."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from tanager.counts.count_store import CountStore
from tanager.errors import DataError, MemoryLimitError
from tanager.runtime.resources import available_memory
from tanager.structure.dag import Dag
from tanager.table.columns import code_dtype

if TYPE_CHECKING:
    from tanager.classifiers.base import TableClassifier

SHARES = (1 / 8, 1 / 4)
"""Of the rows, to which fits are timed; a line through both times gives that of all rows."""
MAX_ROWS_TO_TIME = 20_000
FEWEST_ROWS = 100


@dataclass(frozen=True)
class FitEstimate:
    """Bytes, about, and seconds; None where rows are too few to tell.

    rows    the codes of all rows
    tables  what the learner holds for the tables of the structure, or for the terms of an additive model, about
    """

    rows: int
    tables: int
    seconds: float | None

    @property
    def bytes(self) -> int:
        return self.rows + self.tables


def estimate_fit(clf: TableClassifier, X: pa.Table, y: NDArray[np.generic]) -> FitEstimate:
    """By the tables of all rows, and the times of fits to parts of them."""
    table = clone(clf)._read(X, y, None, clf._row_needs())
    codes = table.rows.n_rows * table.rows.n_attributes * code_dtype(max(table.rows.n_states)).itemsize
    return FitEstimate(codes, clf._needed_memory(table), _seconds(clf, X, y))


def _seconds(clf: TableClassifier, X: pa.Table, y: NDArray[np.generic]) -> float | None:
    sizes = [round(share * min(X.num_rows, MAX_ROWS_TO_TIME / SHARES[-1])) for share in SHARES]
    if sizes[0] < FEWEST_ROWS:
        return None
    drawn = np.random.default_rng(0).permutation(X.num_rows)
    times = []
    for size in (sizes[0], *sizes):  # the first for what is compiled
        rows = np.sort(drawn[:size])
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(clf).fit(X.take(rows), y[rows])
        except DataError:  # a class is missing in so few rows
            return None
        times.append(time.perf_counter() - begin)
    slope = max(0.0, times[2] - times[1]) / (sizes[1] - sizes[0])
    return times[2] + slope * (X.num_rows - sizes[1])


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


def table_sizes(node_sets: Iterable[tuple[int, ...]], counts: CountStore) -> dict[tuple[int, ...], int]:
    """Cells of the table of each set of nodes, the class last where it is among them."""
    return {nodes: prod(counts.n_states[node] for node in nodes) for nodes in node_sets}


def family_sizes(dags: Iterable[Dag], counts: CountStore) -> Counter[tuple[int, ...]]:
    """Cells of the tables of all networks of these structures, by the nodes of the family."""
    sizes = Counter[tuple[int, ...]]()
    for dag in dags:
        for family in dag.families:
            sizes[tuple(sorted(family.nodes))] += family.size(counts.n_states)
    return sizes
